"""The Python that an engine gets when no environment is installed."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from backends.catalogue import BACKENDS
from backends.environment import Environment
from config.commands import program
from engines.environments import EnvironmentMissing, interpreter
from engines.environments.python import ENVIRONMENT_OF_BACKEND, ENVIRONMENTS


@pytest.fixture
def registered(monkeypatch):
    """Registers an environment whose library is this module for the backend `tiny`."""

    def register(module):
        environment = Environment("tiny", ("tiny",), module, ("x",), module, ())
        monkeypatch.setitem(ENVIRONMENT_OF_BACKEND, "tiny", environment)

    return register


def test_a_configured_python_takes_precedence(registered, tmp_path):
    registered("json")

    assert interpreter(tmp_path, "tiny", sys.executable) == Path(sys.executable)
    assert interpreter(tmp_path, "tiny", "sh") == Path(shutil.which("sh"))


@pytest.mark.parametrize("name", ["no-such-python", "/no/such/python", "."])
def test_a_configured_python_that_does_not_exist_is_refused(name, tmp_path):
    with pytest.raises(
        EnvironmentMissing, match=f"there is no Python {name}: correct the option, or leave it out"
    ):
        interpreter(tmp_path, "vllm", name)


def test_no_installation_is_advised_when_it_would_be_refused(monkeypatch, tmp_path):
    exllamav3 = ENVIRONMENT_OF_BACKEND["exllamav3"]
    impossible = replace(exllamav3.variants[0], driver=(999, 0))
    monkeypatch.setitem(ENVIRONMENT_OF_BACKEND, "exllamav3", replace(exllamav3, variants=(impossible,)))

    with pytest.raises(EnvironmentMissing) as missing:
        interpreter(tmp_path, "exllamav3")
    assert str(missing.value).startswith(
        "the runtime exllamav3 is not installed here, and cannot run on this machine: it needs a"
    )
    assert "runtimes install" not in str(missing.value)


def test_stokers_own_python_is_used_if_it_has_the_library(registered, tmp_path):
    registered("xllamacpp")

    assert interpreter(tmp_path, "tiny", None) == Path(sys.executable)
    assert "vllm" not in sys.modules


def test_a_missing_library_is_reported_with_the_command_that_installs_it(registered, tmp_path):
    registered("no_such_library")

    with pytest.raises(
        EnvironmentMissing,
        match=rf"^the runtime tiny is not installed here: run `{program()} runtimes install tiny`$",
    ):
        interpreter(tmp_path, "tiny", None)
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "stoker.json").write_text('{"name": "tiny"')
    with pytest.raises(EnvironmentMissing, match="is not installed completely"):
        interpreter(tmp_path, "tiny", None)


def test_a_backend_without_libraries_runs_in_stokers_own_python(tmp_path):
    for backend in ("stub", "openai_remote"):
        assert interpreter(tmp_path, backend, None) == Path(sys.executable)


def test_every_backend_but_stub_comfyui_openai_remote_and_tgi_has_an_environment():
    assert set(BACKENDS) - set(ENVIRONMENT_OF_BACKEND) == {"stub", "comfyui", "openai_remote", "tgi"}
    assert set(ENVIRONMENT_OF_BACKEND) <= set(BACKENDS)
    assert ENVIRONMENT_OF_BACKEND["vllm"] is ENVIRONMENT_OF_BACKEND["vllm_serve"] is ENVIRONMENTS["vllm"]
