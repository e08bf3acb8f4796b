"""The environment variables of the Model Runner API do what it says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from backends.vllm.arguments import VllmOptions
from config.errors import ConfigError
from config.load import load_settings
from config.settings import Settings
from engines.engine_process.process import clean_environment
from tests.seeds import MODEL_RUNNER_API

REQUIRED, OPTIONAL = MODEL_RUNNER_API["required_variables"], MODEL_RUNNER_API["optional_variables"]
EXAMPLE = {**REQUIRED, **OPTIONAL}

Load = Callable[..., Settings]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Load settings with these models and variables; the project's root is `root` in the test's folder."""
    root = tmp_path / "root"
    root.mkdir()

    def load(models: dict[str, Any] | None = None, **environ: str) -> Settings:
        (root / "settings.json").write_text(json.dumps({"models": models or {}}))
        return load_settings(root, environ)

    return load


def value_of(settings: Settings, path: str) -> Any:
    value: Any = settings
    for name in path.split("."):
        value = getattr(value, name)
    return value


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        ("MODEL_BASE_PATH", "model_base_path", Path("/models")),
        ("VLLM_ENABLE_PREFIX_CACHING", "vllm.enable_prefix_caching", True),
        ("VLLM_MAX_MODEL_LEN", "vllm.max_model_len", 32768),
        ("VLLM_GPU_MEMORY_UTILIZATION", "vllm.gpu_memory_utilization", 0.9),
        ("ENABLE_MULTI_TENANT", "tenancy.enabled", True),
        ("DEFAULT_RATE_LIMIT", "tenancy.rate_limit", "100/min"),
        ("LOG_LEVEL", "log_level", "info"),
        ("LOG_FORMAT", "log_format", "json"),
        ("MAX_QUEUE_DEPTH", "queue.max_depth", 16),
        ("QUEUE_TIMEOUT_MS", "queue.timeout_ms", 30000),
    ],
)
@pytest.mark.rule("runner/env/DEFAULT_RATE_LIMIT")
def test_the_value_of_the_example_is_in_force(load: Load, name: str, path: str, value: object) -> None:
    assert value_of(load(**{name: EXAMPLE[name]}), path) == value
    assert value_of(load(**EXAMPLE), path) == value, "all together"


@pytest.mark.rule("runner/tenant-rate-limits")
def test_the_rate_limits_of_tenants_are_set_by_their_variables(load: Load) -> None:
    settings = load(**MODEL_RUNNER_API["tenant_rate_limits"])
    found = {name: tenant.rate_limit for name, tenant in settings.tenants.items()}
    assert found == {"community-x": "100/min", "community-y": "500/min", "default": "50/min"}
    assert load(TENANT_RATE_LIMIT_community__x="1req/s").tenants["community-x"].rate_limit == "1/s"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("VLLM_ENABLE_PREFIX_CACHING", "perhaps"),
        ("VLLM_MAX_MODEL_LEN", "0"),
        ("VLLM_GPU_MEMORY_UTILIZATION", "1.5"),
        ("ENABLE_MULTI_TENANT", "maybe"),
        ("DEFAULT_RATE_LIMIT", "100"),
        ("TENANT_RATE_LIMIT_x", "many"),
        ("MAX_QUEUE_DEPTH", "-1"),
        ("QUEUE_TIMEOUT_MS", "30s"),
        ("LOG_LEVEL", "loud"),
        ("LOG_FORMAT", "xml"),
    ],
)
def test_an_invalid_value_stops_the_start_and_names_the_variable(load: Load, name: str, value: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(**{name: value})
    (problem,) = caught.value.problems
    assert f"environment variable {name}: " in problem


# ---- VLLM_*


@pytest.mark.rule(
    "runner/env/VLLM_ENABLE_PREFIX_CACHING",
    "runner/env/VLLM_MAX_MODEL_LEN",
    "runner/env/VLLM_GPU_MEMORY_UTILIZATION",
)
def test_the_options_of_vllm_are_defaults_of_the_models_that_do_not_set_them(
    load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    variables = {name: value for name, value in EXAMPLE.items() if name.startswith("VLLM_")}
    variables["VLLM_ENABLE_PREFIX_CACHING"] = "false"
    models = {
        "plain": {"backend": "vllm", "model_path": "org/name"},
        "served": {"backend": "vllm_serve", "model_path": "org/name"},
        "own": {
            "backend": "vllm",
            "model_path": "org/name",
            "vllm_max_model_len": 1024,
            "vllm_enable_prefix_caching": True,
        },
        "other": {"backend": "llama_cpp", "model_path": "x.gguf"},
    }
    settings = load(models, **variables)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("VLLM_LOGGING_LEVEL", "DEBUG")
    plain, served, own = (VllmOptions.of(settings.models[name], 4) for name in ("plain", "served", "own"))
    for options in (plain, served):
        assert options.engine["enable_prefix_caching"] is False
        assert options.engine["max_model_len"] == 32768
        assert options.engine["gpu_memory_utilization"] == 0.9
        assert not options.environment.keys() & variables.keys(), "vLLM does not know these variables"
        assert options.environment["VLLM_LOGGING_LEVEL"] == "DEBUG"
    assert "--no-enable-prefix-caching" in served.flags()
    assert (own.engine["max_model_len"], own.engine["enable_prefix_caching"]) == (1024, True)
    assert "--enable-prefix-caching" in own.flags()
    assert not any(name.startswith("vllm") for name in settings.models["other"].options)


# ---- VERIFIED_OP_TOKEN_KEY_PATH


@pytest.mark.rule("runner/env/VERIFIED_OP_TOKEN_KEY_PATH")
def test_the_path_of_the_shared_key_is_set_and_relative_to_the_project(load: Load, tmp_path: Path) -> None:
    name = "VERIFIED_OP_TOKEN_KEY_PATH"
    assert load(**EXAMPLE).governance.op_token_key_path == Path("/etc/safebox/model-api.key")
    assert load(**{name: "op.key"}).governance.op_token_key_path == tmp_path / "root" / "op.key"
    assert load().governance.op_token_key_path is None


# ---- MODEL_BASE_PATH


@pytest.mark.rule("runner/env/MODEL_BASE_PATH")
def test_relative_paths_of_models_start_at_the_base(load: Load, tmp_path: Path) -> None:
    base, root = tmp_path / "models", tmp_path / "root"
    for file in (base / "a.gguf", base / "both.gguf", root / "both.gguf", root / "shipped.gguf"):
        file.parent.mkdir(exist_ok=True)
        file.touch()
    (base / "org" / "name").mkdir(parents=True)
    models = {
        name: {"backend": "llama_server", "model_path": f"{name}.gguf", "llama_server_mmproj": "a.gguf"}
        | {"llama_server_lora": {"pirate": "both.gguf", "poet": "shipped.gguf"}}
        for name in ("a", "both", "shipped", "later")
    }
    models["hub"] = {"backend": "vllm", "model_path": "org/name"}
    models["other-hub"] = {"backend": "vllm", "model_path": "org/other"}
    found = load(models, MODEL_BASE_PATH=str(base)).models
    assert found["a"].model_path == found["a"].options["llama_server_mmproj"] == str(base / "a.gguf")
    loras = {"pirate": str(base / "both.gguf"), "poet": str(root / "shipped.gguf")}
    assert found["a"].options["llama_server_lora"] == loras
    assert found["both"].model_path == str(base / "both.gguf")
    assert found["shipped"].model_path == str(root / "shipped.gguf"), "only the project has it"
    assert found["later"].model_path == str(base / "later.gguf")
    assert (found["hub"].model_path, found["other-hub"].model_path) == (str(base / "org/name"), "org/other")
    assert load(models).models["a"].model_path == str(root / "a.gguf"), "without a base: the project's root"


@pytest.mark.rule("runner/env/MODEL_BASE_PATH")
@pytest.mark.parametrize("path", ["../secret.gguf", "link.gguf", "/etc/passwd", "{tmp}/modelsx/a.gguf"])
def test_a_path_that_leaves_the_base_stops_the_start(load: Load, tmp_path: Path, path: str) -> None:
    base = tmp_path / "models"
    base.mkdir()
    (tmp_path / "secret.gguf").touch()
    (base / "link.gguf").symlink_to(tmp_path / "secret.gguf")
    path = path.format(tmp=tmp_path)
    for model in (
        {"backend": "llama_cpp", "model_path": path},
        {"backend": "llama_server", "model_path": "a.gguf", "llama_server_mmproj": path},
        {"backend": "llama_server", "model_path": "a.gguf", "llama_server_lora": {"x": "a.gguf", "y": path}},
    ):
        with pytest.raises(ConfigError) as caught:
            load({"m": model}, MODEL_BASE_PATH=str(base))
        (problem,) = caught.value.problems
        assert problem.startswith("settings.json: models.m.")
        assert "outside model_base_path" in problem
        load({"m": model})


def test_a_link_within_the_base_is_accepted(load: Load, tmp_path: Path) -> None:
    base = tmp_path / "models"
    (base / "blobs").mkdir(parents=True)
    (base / "blobs" / "1").touch()
    (base / "a.gguf").symlink_to(base / "blobs" / "1")
    (tmp_path / "link").symlink_to(base)
    model = {"backend": "llama_cpp", "model_path": "a.gguf"}
    assert load({"m": model}, MODEL_BASE_PATH=str(tmp_path / "link")).models["m"].model_path


# ---- variables that engines inherit


@pytest.mark.rule("runner/env/HF_HOME", "runner/env/CUDA_VISIBLE_DEVICES")
def test_engines_inherit_the_gpus_and_the_folder_of_hugging_face(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HOME", REQUIRED["HF_HOME"])
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", REQUIRED["CUDA_VISIBLE_DEVICES"])
    monkeypatch.setenv("STOKER_ADMIN_KEY", "secret")
    environment = clean_environment({})
    assert environment["HF_HOME"] == "/models/cache"
    assert environment["CUDA_VISIBLE_DEVICES"] == "0"
    assert "STOKER_ADMIN_KEY" not in environment
