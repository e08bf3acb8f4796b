"""The start of an engine that ends at once."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from backends.base import LoadError
from backends.shared.start import nvidia_libraries
from config.settings import ModelDefinition
from engines.engine_process.process import EngineProcess
from tests.backends.conftest import DEMO_MODEL, Start
from tests.support.waiting import scaled


@pytest.fixture(autouse=True)
def _slow_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that continues when the engine has ended."""
    run = EngineProcess.start

    def run_to_its_end(*arguments: Any, **options: Any) -> EngineProcess:
        process = run(*arguments, **options)
        assert process.wait(scaled(10)) is not None
        return process

    monkeypatch.setattr(EngineProcess, "start", staticmethod(run_to_its_end))


def test_an_engine_that_has_ended_is_asked_for_its_reason_when_it_reports_by_a_pipe(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')  # without site-packages
    bare.chmod(0o755)
    monkeypatch.setattr("backends.shared.start.interpreter", lambda *_: bare)
    with pytest.raises(LoadError, match="xllamacpp cannot be imported"):
        start(ModelDefinition("demo", "llama_server", model_path=str(DEMO_MODEL)))


def test_an_engine_that_has_ended_is_asked_for_its_reason_when_it_sends_frames(start: Start) -> None:
    with pytest.raises(LoadError, match="out of luck"):
        start(ModelDefinition("demo", "stub", options={"stub_load_fail": "out of luck"}))


def test_an_engine_that_has_ended_without_a_reason_is_a_failed_load(start: Start) -> None:
    with pytest.raises(LoadError, match="while loading"):
        start(ModelDefinition("demo", "stub", options={"stub_load_crash": True}))


def test_the_libraries_of_nvidia_are_found_beside_the_interpreter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "bin" / "python"
    monkeypatch.setenv("LD_LIBRARY_PATH", "/usr/local/lib")
    assert nvidia_libraries(python) == {}
    folders = [tmp_path / f"lib/python3.11/site-packages/nvidia/{name}/lib" for name in ("cublas", "cudnn")]
    for folder in folders:
        folder.mkdir(parents=True)
    assert nvidia_libraries(python) == {"LD_LIBRARY_PATH": f"{folders[0]}:{folders[1]}:/usr/local/lib"}
