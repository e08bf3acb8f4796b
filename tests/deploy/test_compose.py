"""The Docker files, as far as they can be checked without Docker."""

from __future__ import annotations

import copy
import re
import tomllib
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from config.load import load_settings
from config.settings import OIDC_SECRET_VARIABLE, ROOT, ApiSettings, WorkerSettings
from config.sources import KEY_VARIABLES, NAMED_VARIABLES, SECTION_VARIABLE, TENANT_VARIABLE
from stoker.cli import cli

OWN_VARIABLES = {"FLOWER_BASIC_AUTH", "CUDA_VISIBLE_DEVICES", "HF_HOME", OIDC_SECRET_VARIABLE}
RESET = object()


class Loader(yaml.SafeLoader):
    """YAML with the tag that Compose adds."""


Loader.add_constructor("!reset", lambda *_: RESET)


def read(name: str) -> dict[str, Any]:
    return yaml.load((ROOT / name).read_text(), Loader)  # noqa: S506 - a SafeLoader with one tag more


def overlay(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Merge two files like Compose: objects are merged, commands replaced, !reset removes."""
    merged = copy.deepcopy(base)
    for key, value in over.items():
        if value is RESET:
            merged.pop(key, None)
        elif isinstance(value, dict) and isinstance(merged.get(key), dict):
            merged[key] = overlay(merged[key], value)
        else:
            merged[key] = value
    return merged


def seconds(duration: str) -> int:
    return int(duration.removesuffix("s"))


@pytest.fixture
def services() -> dict[str, Any]:
    return read("docker-compose.yml")["services"]


def stoker_services(services: dict[str, Any]) -> dict[str, Any]:
    return {name: service for name, service in services.items() if name != "redis"}


def test_the_logs_of_all_containers_are_bounded(services):
    for name, service in services.items():
        assert service["logging"] == {
            "driver": "json-file",
            "options": {"max-size": "10m", "max-file": "3"},
        }, name


def test_redis_persists_its_data_never_evicts_and_requires_a_password(services):
    redis = services["redis"]
    command = " ".join(redis["command"])

    for words in (
        "--appendonly yes",
        "--appendfsync ${REDIS_APPENDFSYNC:-everysec}",
        "--auto-aof-rewrite-min-size 512mb",
        "--hash-max-listpack-entries 64",
        "--maxmemory ${REDIS_MAXMEMORY:-4gb}",
        "--maxmemory-policy noeviction",
        "requirepass",
    ):
        assert words in command
    assert redis["environment"]["REDIS_PASSWORD"].startswith("${REDIS_PASSWORD:?")
    assert "redis:/data" in redis["volumes"]
    assert "healthcheck" in redis


def test_redis_is_not_published_and_flower_on_loopback_only(services):
    published = {name: service["ports"] for name, service in services.items() if "ports" in service}

    assert set(published) == {"api", "flower"}
    assert all(port.startswith("127.0.0.1:") for port in published["flower"])
    assert all(port.startswith("${API_ADDRESS:-127.0.0.1}:") for port in published["api"])


def test_no_secret_has_a_default(services):
    text = (ROOT / "docker-compose.yml").read_text()
    secrets = {"REDIS_PASSWORD", "FLOWER_BASIC_AUTH", *KEY_VARIABLES}

    for secret in secrets:
        uses = re.findall(rf"\$\{{{secret}([^}}]*)\}}", text)
        assert uses, secret
        assert all(use.startswith(":?") for use in uses), secret
    assert services["flower"]["environment"]["FLOWER_BASIC_AUTH"].startswith("${FLOWER_BASIC_AUTH:?")


def test_each_worker_has_exclusive_use_of_one_gpu(services):
    devices = services["worker-gpu0"]["deploy"]["resources"]["reservations"]["devices"]

    assert devices == [{"driver": "nvidia", "device_ids": ["0"], "capabilities": ["gpu"]}]
    assert services["worker-gpu0"]["command"] == ["worker", "--name", "gpu0"]


def test_a_second_gpu_needs_three_more_lines():
    text = (ROOT / "docker-compose.yml").read_text()
    service = text[text.index("  worker-gpu0:\n") : text.index("  flower:\n")]
    more = "\n".join(
        line.replace("gpu0", "gpu1").replace('["0"]', '["1"]')
        for line in service.splitlines()
        if line.strip().startswith(("worker-gpu0", "<<: *worker", "command", "deploy"))
    )
    copied = yaml.load(text.replace("  flower:\n", f"{more}\n    environment: *gpu\n  flower:\n"), Loader)  # noqa: S506

    first, second = (copied["services"][name] for name in ("worker-gpu0", "worker-gpu1"))
    assert second["deploy"]["resources"]["reservations"]["devices"][0]["device_ids"] == ["1"]
    assert {**second, "deploy": None, "command": None} == {**first, "deploy": None, "command": None}


def test_no_service_reserves_a_device_without_gpus(services):
    merged = overlay(services, read("docker-compose.cpu.yml")["services"])

    assert set(merged) == set(services), "the override adds no service"
    assert "devices" not in yaml.dump(merged)
    assert merged["worker-gpu0"]["command"] == ["worker", "--name", "cpu0"]
    assert merged["worker-gpu0"]["environment"]["CUDA_VISIBLE_DEVICES"] == ""
    assert "REDIS_URL" in merged["worker-gpu0"]["environment"]


def test_every_service_restarts_and_has_time_to_drain(services):
    assert all(service["restart"] == "unless-stopped" for service in services.values())
    environment = services["api"]["environment"]
    graceful = int(environment.get("STOKER_API__GRACEFUL_TIMEOUT_S", ApiSettings().graceful_timeout_s))
    drain = int(image_variables()["STOKER_API__DRAIN_DELAY_S"])
    assert drain > 0
    assert seconds(services["api"]["stop_grace_period"]) > drain + graceful
    assert seconds(services["worker-gpu0"]["stop_grace_period"]) > WorkerSettings().drain_timeout_s
    assert seconds(services["redis"]["stop_grace_period"]) >= 10


def image_variables() -> dict[str, str]:
    """The variables of the image."""
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    return dict(
        pair.split("=", 1) for line in re.findall(r"^ENV (.*)", text, re.MULTILINE) for pair in line.split()
    )


SEED_VARIABLES = (
    "CUDA_VISIBLE_DEVICES",
    "HF_HOME",
    "MODEL_BASE_PATH",
    "VLLM_ENABLE_PREFIX_CACHING",
    "VLLM_MAX_MODEL_LEN",
    "VLLM_GPU_MEMORY_UTILIZATION",
    "ENABLE_MULTI_TENANT",
    "DEFAULT_RATE_LIMIT",
    "TENANT_RATE_LIMIT_default",
    "VERIFIED_OP_TOKEN_KEY_PATH",
    "LOG_LEVEL",
    "LOG_FORMAT",
    "ENABLE_METRICS",
    "METRICS_PORT",
    "MAX_QUEUE_DEPTH",
    "QUEUE_TIMEOUT_MS",
)
"""The variables of the specification for infrastructure."""


def test_every_variable_of_an_installation_reaches_the_containers(services):
    passed = {name for service in stoker_services(services).values() for name in service["environment"]}
    assert set(SEED_VARIABLES) <= passed
    assert set(NAMED_VARIABLES) - passed <= {"STOKER_RUNNER_ID", "STOKER_DATA_DIR", "STOKER_RUNTIMES_DIR"}
    for service in stoker_services(services).values():
        assert service["env_file"] == [{"path": "stoker.env", "required": False}]


def test_the_port_for_metrics_is_published_and_listens_outside_the_container(services):
    assert "${API_ADDRESS:-127.0.0.1}:${METRICS_PORT:-}:${METRICS_PORT:-9090}" in services["api"]["ports"]
    assert image_variables()["STOKER_METRICS__HOST"] == "0.0.0.0"  # noqa: S104 - not bound here


def test_model_files_and_the_key_of_op_tokens_are_mounted_at_the_paths_of_variables(services):
    volumes = services["api"]["volumes"]
    assert "${MODELS_DIR:-./models}:${MODEL_BASE_PATH:-/models}:ro" in volumes
    key = "${OP_TOKEN_KEY_FILE:-/dev/null}:${VERIFIED_OP_TOKEN_KEY_PATH:-/etc/safebox/model-api.key}:ro"
    assert key in volumes


def test_stoker_services_run_with_minimal_privileges(services):
    for name, service in stoker_services(services).items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["depends_on"]["redis"] == {"condition": "service_healthy"}, name
        mounts = [volume.rsplit(":", 2) for volume in service["volumes"]]
        assert [mount[1:] for mount in mounts if mount[1] == "/app/models"] == [["/app/models", "ro"]], name


def test_every_command_exists_in_stoker(services):
    for name, service in stoker_services(services).items():
        command, *options = service["command"]
        assert command in cli.commands, name
        known = {option for parameter in cli.commands[command].params for option in parameter.opts}
        assert {option for option in options if option.startswith("--")} <= known, name


def test_every_variable_is_read_by_stoker(services):
    variables = {name for service in stoker_services(services).values() for name in service["environment"]}

    for name in variables - OWN_VARIABLES:
        known = name in NAMED_VARIABLES or name in KEY_VARIABLES
        assert known or SECTION_VARIABLE.fullmatch(name) or TENANT_VARIABLE.fullmatch(name), name


def test_the_settings_of_each_service_are_accepted(services, tmp_path):
    (tmp_path / "settings.json").write_text((ROOT / "settings.json").read_text())
    for name, service in stoker_services(services).items():
        environ = {key: plain(value) for key, value in service["environment"].items() if value is not None}
        settings = load_settings(tmp_path, environ)
        assert settings.redis.url == "redis://:x@redis:6379/0", name
        assert settings.log_format == "json", name


def test_the_api_has_a_health_check():
    health = read("docker-compose.yml")["services"]["api"]["healthcheck"]["test"]

    assert health[:2] == ["CMD", "python"]
    compile(health[3], "healthcheck", "exec")
    assert "/live" in health[3], "an API that waits for Redis must not be restarted"


def plain(value: str) -> str:
    """A value with its variables substituted by their default, or by x."""
    return re.sub(r"\$\{\w+(?::-([^}]*)|:\?[^}]*)?\}", lambda match: match[1] or "x", value)


def test_the_image_runs_as_an_unprivileged_user_and_starts_stoker():
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    user = next(line for line in lines if line.startswith("USER"))
    command = next(line for line in lines if line.startswith("CMD"))

    assert not user.split()[1].startswith(("0", "root"))
    assert lines.index(user) < lines.index(command)
    assert 'ENTRYPOINT ["python", "-m", "stoker"]' in lines
    assert yaml.safe_load(command.removeprefix("CMD "))[0] in cli.commands
    assert CliRunner().invoke(cli, ["api", "--help"]).exit_code == 0


def test_every_image_from_a_registry_can_be_pinned_by_its_digest(services):
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    bases = [line.split()[1] for line in lines if line.startswith("FROM")]
    argument = services["api"]["build"]["args"]["PYTHON_IMAGE"]

    assert bases == ["${PYTHON_IMAGE}"] * 2
    assert f"ARG PYTHON_IMAGE={plain(argument)}" in lines
    assert services["redis"]["image"] == "${REDIS_IMAGE:-redis:8-alpine}"


def test_the_home_of_the_image_user_is_on_the_volume():
    text = (ROOT / "Dockerfile").read_text()

    assert "--no-create-home" in text
    assert "    HOME=/data \\\n" in text
    assert "VOLUME /data\n" in text
    assert all(
        "data:/data" in service["volumes"]
        for service in stoker_services(read("docker-compose.yml")["services"]).values()
    )


def test_the_image_contains_all_packages_and_no_other_project_files():
    ignored = (ROOT / ".dockerignore").read_text().split()
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]["find"][
        "include"
    ]
    folders = {package.rstrip("*") for package in packages}

    assert "*" in ignored
    assert folders <= {line.removeprefix("!") for line in ignored if line.startswith("!")}
