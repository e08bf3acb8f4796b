"""A platform in the environment of other programs, with an output that is not a terminal."""

from __future__ import annotations

import base64
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.platform import Platform, running_platform
from tests.support.waiting import scaled

pytestmark = [pytest.mark.journey, pytest.mark.slow]

FOREIGN = {
    "FLOWER_PORT": "tcp://10.0.0.1:5555",
    "FLOWER_ADDRESS": "no address",
    "FLOWER_URL_PREFIX": "elsewhere",
    "FLOWER_MAX_TASKS": "many",
    "FLOWER_AUTH": "[",
    "METRICS_PORT": "tcp://10.0.0.1:9090",
    "STOKER_PORT": "tcp://10.0.0.1:8080",
    "STOKER_SERVICE_HOST": "10.0.0.1",
    "REDIS_PORT": "tcp://10.0.0.1:6379",
    "API_PORT": "tcp://10.0.0.1:8080",
    "CELERY_BROKER_URL": "amqp://elsewhere",
    "CELERY_CONFIG_MODULE": "no_such_module",
    "CELERY_LOADER": "no.such.loader",
    "CELERY_CUSTOM_WORKER_POOL": "no.such.pool",
    "APP": "shop",
    "BROKER_URL": "amqp://elsewhere",
    "CONFIG_MODULE": "shop.settings",
    "LOADER": "no.such.loader",
    "DJANGO_SETTINGS_MODULE": "shop.settings",
    "GUNICORN_CMD_ARGS": "--bind 0.0.0.0:1",
    "FLASK_DEBUG": "1",
    "FLASK_APP": "shop",
    "PYTHONWARNINGS": "error",
    "PYTHONOPTIMIZE": "2",
    "PYTHONDEVMODE": "1",
    "PYTHONASYNCIODEBUG": "1",
    "PYTHONSAFEPATH": "1",
    "PYTHONIOENCODING": "ascii",
    "LOG_LEVEL": "INFO",
}


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """A platform that was started with all these variables."""
    folder = tmp_path_factory.mktemp("foreign")
    shadows = folder / "shadows"
    shadows.mkdir()
    for name in ("redis", "config", "flask", "celery", "sitecustomize"):
        text = "" if name == "sitecustomize" else "raise SystemExit('a module of another program')"
        (shadows / f"{name}.py").write_text(text)
    local = {"models": {"stoker-demo": {"enabled": False}, "quick": {"backend": "stub", "enabled": True}}}
    environment = {**FOREIGN, "PYTHONPATH": str(shadows)}
    with running_platform(folder, local, "--port", "0", environment=environment) as platform:
        platform.wait_state("quick", "loaded", 60)
        yield platform


def ask_flower(platform: Platform, path: str, password: str | None) -> int:
    headers = {}
    if password is not None:
        headers["Authorization"] = f"Basic {base64.b64encode(f'stoker:{password}'.encode()).decode()}"
    request = urllib.request.Request(platform.run["flower"] + path, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=scaled(10)) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_the_platform_runs_as_without_foreign_variables(foreign: Platform) -> None:
    status, answer = foreign.respond("quick", "/stub tokens=2")
    assert (status, answer["status"]) == (200, "completed")
    assert foreign.run_operation("unload", "quick")["runtime_state"] == "unloaded"
    assert foreign.run_operation("load", "quick")["runtime_state"] == "loaded"
    assert foreign.run["metrics"] is None
    assert "starting it again" not in foreign.output.read_text()
    assert "Traceback" not in foreign.logs()


@pytest.mark.parametrize("path", ["/metrics", "/workers", "/api/tasks"])
def test_flower_asks_for_its_password_on_each_page(foreign: Platform, path: str) -> None:
    assert ask_flower(foreign, path, None) == 401
    assert ask_flower(foreign, path, "wrong") == 401
    assert ask_flower(foreign, path, foreign.keys["flower_password"]) == 200


def test_the_output_has_no_secret_when_it_is_not_a_terminal(foreign: Platform) -> None:
    output = foreign.output.read_text()
    for secret in foreign.keys.values():
        assert str(secret) not in output
    assert "#" not in output.partition("UI ")[2].partition("\n")[0]
    assert "api_key in" in output


@pytest.mark.hostile
def test_a_monitor_that_fails_does_not_stop_what_it_monitors(tmp_path: Path) -> None:
    """Flower cannot listen on an address that this machine does not have."""
    local = {"models": {"stoker-demo": {"enabled": False}, "quick": {"backend": "stub", "enabled": True}}}
    environment = {"STOKER_FLOWER__HOST": "192.0.2.1"}
    with running_platform(tmp_path, local, "--port", "0", environment=environment) as platform:
        platform.wait_state("quick", "loaded", 60)
        status, answer = platform.respond("quick", "/stub tokens=2")
        assert (status, answer["status"]) == (200, "completed")
        assert (
            "flower   does not run; tasks are not monitored: cannot listen on" in platform.output.read_text()
        )
        assert platform.run["flower"] is None
