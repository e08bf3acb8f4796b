"""Variables of other programs change no setting, and are not passed on."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv

import pytest

from config.foreign_variables import foreign_variables
from config.settings import ROOT
from config.sources import KEY_VARIABLES, NAMED_VARIABLES
from engines.engine_process.process import clean_environment
from tests.config.conftest import Load

KUBERNETES = {
    "METRICS_PORT": "tcp://10.0.0.1:9090",
    "METRICS_PORT_9090_TCP": "tcp://10.0.0.1:9090",
    "METRICS_SERVICE_HOST": "10.0.0.1",
    "REDIS_PORT": "tcp://10.0.0.2:6379",
    "STOKER_PORT": "tcp://10.0.0.3:8080",
    "STOKER_API_PORT": "tcp://10.0.0.3:8080",
    "STOKER_SERVICE_PORT": "8080",
    "API_PORT": "udp://10.0.0.3:53",
    "VLLM_PORT": "tcp://10.0.0.4:8000",
}


def test_the_services_of_kubernetes_set_nothing(load: Load) -> None:
    assert load(environ=KUBERNETES) == load(environ={})
    assert load(environ={**KUBERNETES, "METRICS_PORT": "9091"}).metrics.port == 9091


def test_the_variables_of_libraries_are_foreign_and_those_of_stoker_are_not() -> None:
    foreign = {
        "CELERY_BROKER_URL": "redis://elsewhere",
        "APP": "shop",
        "BROKER_URL": "amqp://elsewhere",
        "FLOWER_PORT": "tcp://10.0.0.1:5555",
        "FLOWER_OAUTH2_KEY": "x",
        "FLASK_DEBUG": "1",
        "GUNICORN_CMD_ARGS": "--bind 0.0.0.0",
        "PYTHONHOME": "/opt/other",
        "PYTHONWARNINGS": "error",
    }
    own = dict.fromkeys(
        (*NAMED_VARIABLES, *KEY_VARIABLES, "FLOWER_BASIC_AUTH", "PATH", "PYTHONPATH", "HF_HOME"), "x"
    )
    assert foreign_variables({**foreign, **own}) == list(foreign)


def test_a_process_of_stoker_drops_foreign_variables_before_libraries_read_them(tmp_path) -> None:
    (tmp_path / "redis.py").write_text("raise SystemExit('another redis')")
    script = (
        "import stoker, os, sys, warnings, redis, celery;"
        "warnings.warn('old', DeprecationWarning);"
        "print(sorted(name for name in os.environ if name.startswith(('CELERY', 'PYTHON', 'FLOWER'))))"
    )
    environ = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PYTHON")},
        "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}",
        "PYTHONWARNINGS": "error",
        "CELERY_BROKER_URL": "amqp://elsewhere",
        "PICKLE_PROTOCOL": "many",
        "AUTOSCALE_KEEPALIVE": "long",
        "FLOWER_PORT": "tcp://10.0.0.1:5555",
        "FLOWER_BASIC_AUTH": "a:b",
    }
    result = subprocess.run(
        [sys.executable, "-c", script], env=environ, capture_output=True, text=True, check=False
    )
    assert (result.stdout, result.stderr) == ("['FLOWER_BASIC_AUTH', 'PYTHONPATH']\n", "")


def test_stoker_and_its_processes_start_where_pythonpath_alone_has_the_libraries(tmp_path) -> None:
    """As in Nix, Bazel and some images: the Python itself has no packages."""
    venv.create(tmp_path / "bare", symlinks=True)
    python = str(tmp_path / "bare" / "bin" / "python")
    script = (
        "import stoker, subprocess, sys, celery, redis;"
        "subprocess.run([sys.executable, '-m', 'stoker', '--version'], check=True)"
    )
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    packages = sysconfig.get_path("purelib")
    for path in (f"{packages}{os.pathsep}{ROOT}", f"{ROOT}{os.pathsep}{os.path.relpath(packages, ROOT)}"):
        result = subprocess.run(
            [python, "-c", script],
            env={**environ, "PYTHONPATH": path},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (result.returncode, result.stderr) == (0, "")
        assert result.stdout.startswith("stoker")


def test_an_engine_gets_no_pythonpath(monkeypatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/opt/other")
    assert "PYTHONPATH" not in clean_environment({})


@pytest.mark.parametrize(
    ("given", "level"),
    [("INFO", "info"), ("Debug", "debug"), ("WARN", "warning"), ("CRITICAL", "error"), (" error ", "error")],
)
def test_a_level_is_accepted_in_any_case(load: Load, given: str, level: str) -> None:
    settings = load(environ={"LOG_LEVEL": given, "LOG_FORMAT": "JSON"})
    assert (settings.log_level, settings.log_format) == (level, "json")
    assert load(local={"log_level": given}).log_level == level


def test_a_level_that_does_not_exist_is_an_error(problems) -> None:
    (line,) = problems(environ={"LOG_LEVEL": "loud"})
    assert line.endswith('log_level must be one of "debug", "info", "warning", "error", not "loud"')
