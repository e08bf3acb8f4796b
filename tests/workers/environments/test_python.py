"""Whose Python an engine gets, where nothing is installed."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from backends.catalogue import BACKENDS
from backends.environment import Environment
from workers.environments import EnvironmentMissing, interpreter
from workers.environments.table import ENVIRONMENTS, OF_BACKEND


@pytest.fixture
def registered(monkeypatch):
    """Makes a runtime of this module the one of the backend `tiny`."""

    def register(module):
        environment = Environment("tiny", ("tiny",), module, ("x",), module, ())
        monkeypatch.setitem(OF_BACKEND, "tiny", environment)

    return register


def test_one_that_is_named_goes_before_all_others(registered, tmp_path):
    registered("json")

    assert interpreter(tmp_path, "tiny", sys.executable) == Path(sys.executable)
    assert interpreter(tmp_path, "tiny", "sh") == Path(shutil.which("sh"))


@pytest.mark.parametrize("name", ["no-such-python", "/no/such/python", "."])
def test_one_that_is_named_and_is_not_there_is_told(name, tmp_path):
    with pytest.raises(
        EnvironmentMissing, match=f"there is no Python {name}: correct the option, or leave it out"
    ):
        interpreter(tmp_path, "vllm", name)


def test_ours_will_do_if_it_has_the_library(registered, tmp_path):
    registered("xllamacpp")

    assert interpreter(tmp_path, "tiny", None) == Path(sys.executable)
    assert "vllm" not in sys.modules


def test_where_the_library_is_not_what_to_do_is_told(registered, tmp_path):
    registered("no_such_library")

    with pytest.raises(
        EnvironmentMissing,
        match=r"^the runtime tiny is not installed here: run `stoker runtimes install tiny`$",
    ):
        interpreter(tmp_path, "tiny", None)
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "stoker.json").write_text('{"name": "tiny"')
    with pytest.raises(EnvironmentMissing, match="was not installed to its end"):
        interpreter(tmp_path, "tiny", None)


def test_a_backend_that_needs_no_library_runs_in_ours(tmp_path):
    for backend in ("stub", "openai_remote"):
        assert interpreter(tmp_path, backend, None) == Path(sys.executable)


def test_every_backend_but_those_has_an_environment():
    assert set(BACKENDS) - set(OF_BACKEND) == {"stub", "openai_remote"}
    assert set(OF_BACKEND) <= set(BACKENDS)
    assert OF_BACKEND["vllm"] is OF_BACKEND["vllm_serve"] is ENVIRONMENTS["vllm"]
