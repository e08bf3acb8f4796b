"""Loading settings from files and the environment."""

from __future__ import annotations

from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import get_type_hints

import pytest

from config.governance_schema import GovernanceRuleSchema, SignerKeySchema, SignerSchema
from config.load import load_settings
from config.model_schema import model_schema
from config.schema import SettingsSchema
from config.settings import (
    GOVERNED_OPERATIONS,
    ROOT,
    GovernanceRule,
    ModelDefinition,
    Settings,
    Signer,
    SignerKey,
    Tenant,
)
from config.tenant_schema import TenantSchema

LLAMA = {"backend": "llama_server", "model_path": "models/x.gguf"}


def test_a_missing_file_of_a_model_is_a_path_and_no_model_on_a_hub(load, tmp_path):
    for backend in ("vllm", "vllm_serve"):
        local = {"models": {"m": {"backend": backend, "model_path": "models/missing.gguf"}}}
        assert load(local=local).models["m"].model_path == str(tmp_path / "models/missing.gguf")
    local = {"models": {"m": {"backend": "vllm", "model_path": "org/name"}}}
    assert load(local=local).models["m"].model_path == "org/name"


def test_the_defaults_apply_without_files_and_environment(load, tmp_path):
    settings = load()

    assert settings.api == Settings().api
    assert settings.data_dir == tmp_path / ".stoker"
    assert settings.runtimes_dir == tmp_path / ".stoker" / "runtimes"
    assert settings.tenants == {"default": Tenant("default")}
    assert settings.models == {}


def test_local_json_overrides_settings_json(load):
    settings = load(
        {"models": {"demo": LLAMA | {"enabled": True}}, "api": {"port": 1234, "threads": 8}},
        {"models": {"demo": {"enabled": False, "llama_server_n_ctx": 512}}, "api": {"port": 4321}},
    )

    assert (settings.api.port, settings.api.threads) == (4321, 8)
    assert settings.models["demo"].enabled is False
    assert settings.models["demo"].options["llama_server_n_ctx"] == 512


def test_options_that_are_not_set_have_their_defaults(load):
    options = load({"models": {"demo": LLAMA}}).models["demo"].options

    assert options["llama_server_n_ctx"] == 4096
    assert options["llama_server_cache_prompt"] is True
    assert options["llama_server_extra_args"] == ()
    assert not [name for name in options if name.startswith("stub_")]


def test_relative_paths_start_at_the_root_of_the_project(load, tmp_path):
    settings = load(
        {
            "data_dir": "../data",
            "models": {
                "demo": LLAMA | {"llama_server_mmproj": "mm.gguf", "llama_server_binary": "bin/llama-server"},
                "path": LLAMA | {"model_path": "/abs/x.gguf", "llama_server_binary": "sh"},
            },
        }
    )

    demo, path = settings.models["demo"], settings.models["path"]
    assert settings.data_dir == tmp_path.parent / "data"
    assert demo.model_path == str(tmp_path / "models/x.gguf")
    assert demo.options["llama_server_mmproj"] == str(tmp_path / "mm.gguf")
    assert demo.options["llama_server_binary"] == str(tmp_path / "bin/llama-server")
    assert path.model_path == "/abs/x.gguf"
    assert Path(path.options["llama_server_binary"]).is_file(), "a bare name is looked up on PATH"


def test_the_environments_are_in_the_data_folder_unless_a_folder_is_set(load, tmp_path):
    assert load({"data_dir": "data"}).runtimes_dir == tmp_path / "data" / "runtimes"
    assert load({"data_dir": "data", "runtimes_dir": "envs"}).runtimes_dir == tmp_path / "envs"


def test_replica_max_defaults_to_replicas(load):
    model = load({"models": {"s": {"backend": "stub", "replicas": 3}}}).models["s"]

    assert (model.replicas, model.replica_max) == (3, 3)


def test_replicas_that_follow_the_load_are_read_from_an_object(load):
    stub = {"backend": "stub"}
    models = load(
        {
            "models": {
                "range": {**stub, "replicas": {"min": 2, "max": 4}},
                "fixed": {**stub, "replicas": {"min": 2, "max": 2}},
                "more": {**stub, "replicas": {"min": 1, "max": 2}, "replica_max": 8},
                "plain": {**stub, "replica_max": 3},
            }
        }
    ).models
    assert {name: (one.replicas, one.scale_max, one.replica_max) for name, one in models.items()} == {
        "range": (2, 4, 4),
        "fixed": (2, None, 2),
        "more": (1, 2, 8),
        "plain": (1, None, 3),
    }


def test_the_environment_overrides_both_files(load):
    settings = load(
        {"api": {"port": 1}, "redis": {"url": "redis://file:1/0"}, "queue": {"max_depth": 1}},
        {"api": {"port": 2}},
        {
            "STOKER_API__PORT": "9000",
            "STOKER_API__KEEP_ALIVE_S": "0.5",
            "STOKER_WORKER__TASK_EVENTS": "false",
            "REDIS_URL": "rediss://:pw@h:1/2",
            "MAX_QUEUE_DEPTH": "16",
            "QUEUE_TIMEOUT_MS": "30000",
            "LOG_LEVEL": "debug",
            "STOKER_DATA_DIR": "elsewhere",
            "STOKER_RUNTIMES_DIR": "/srv/runtimes",
        },
    )

    assert (settings.api.port, settings.api.keep_alive_s) == (9000, 0.5)
    assert settings.worker.task_events is False
    assert settings.redis.url == "rediss://:pw@h:1/2"
    assert (settings.queue.max_depth, settings.queue.timeout_ms) == (16, 30000)
    assert settings.log_level == "debug"
    assert settings.data_dir.name == "elsewhere"
    assert settings.runtimes_dir == Path("/srv/runtimes")


def test_other_variables_with_the_prefix_are_ignored(load):
    # an orchestrator adds such names for a service called "stoker"
    assert load(environ={"STOKER_PORT": "tcp://10.0.0.1:80", "STOKER_SERVICE_HOST": "10.0.0.1"})


def test_other_files_can_be_set_and_must_then_exist(load, problems, tmp_path):
    (tmp_path / "other.json").write_text('{"api": {"port": 77}}')

    assert load({"api": {"port": 1}}, None, {"STOKER_SETTINGS": "other.json"}).api.port == 77
    assert problems(None, None, {"STOKER_LOCAL": "absent.json"}) == ["absent.json: there is no such file"]


def test_keys_of_the_environment_are_stored_as_digests_only(load):
    settings = load(environ={"STOKER_API_KEY": "one", "STOKER_ADMIN_KEY": "two"})

    assert settings.tenants["admin"].admin
    assert not settings.tenants["default"].admin
    assert "two" not in repr(settings.tenants["admin"].api_keys_sha256)


def test_the_shipped_settings_are_valid():
    settings = load_settings(ROOT, {"STOKER_LOCAL": "settings.json"})
    demo = settings.models["stoker-demo"]

    assert demo.enabled
    assert Path(demo.model_path or "").name == "stoker-demo.gguf"
    assert demo.options["llama_server_n_ctx"] >= 1024, "one request's context"
    assert not settings.models["stub"].enabled


def test_schemas_and_dataclasses_have_the_same_fields():
    hints = get_type_hints(Settings)
    schema = SettingsSchema()
    assert set(schema.fields) == {field.name for field in fields(Settings)}
    for name, kind in hints.items():
        if is_dataclass(kind):
            own = {field.name for field in fields(kind)}
            if name == "governance":  # a rule stands under the name of its operation
                own = own - {"rules"} | set(GOVERNED_OPERATIONS)
            assert set(schema.fields[name].schema.fields) == own, name
    assert set(TenantSchema().fields) == {field.name for field in fields(Tenant)} - {"name", "configured"}
    assert set(GovernanceRuleSchema().fields) == {field.name for field in fields(GovernanceRule)}
    assert set(SignerSchema().fields) == {field.name for field in fields(Signer)} - {"name"}
    assert set(SignerKeySchema().fields) == {field.name for field in fields(SignerKey)}
    common = {field.name for field in fields(ModelDefinition)}
    common -= {"name", "options", "origin", "registered", "scale_max"}
    assert {name for name in model_schema("stub").fields if not name.startswith("stub_")} == common


@pytest.mark.parametrize(
    "name", [field.name for field in fields(Settings) if is_dataclass(field.default_factory)]
)
def test_the_default_of_every_setting_is_valid(load, name):
    default = getattr(Settings(), name)
    values = {field.name: getattr(default, field.name) for field in fields(default)}
    rules = values.pop("rules", {})
    values |= {operation: asdict(rule) for operation, rule in rules.items() if rule.mode == "attested"}

    assert getattr(load({name: values}), name) == default
