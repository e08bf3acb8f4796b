"""The libraries for recordings in vLLM, which its environments lack."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from backends.base import LoadError
from backends.vllm.audio_libraries import MODULES, check_audio_libraries


def interpreter(folder: Path) -> Path:
    """A Python that has the standard library and what PYTHONPATH names."""
    program = folder / "python"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    program.chmod(0o755)
    return program


def modules(folder: Path, *names: str) -> dict[str, str]:
    """The variables of a process that has these modules, too."""
    for name in names:
        (folder / f"{name}.py").touch()
    return {"PYTHONPATH": str(folder)}


def test_a_load_is_refused_when_a_library_is_missing(tmp_path: Path) -> None:
    python, variables = interpreter(tmp_path), modules(tmp_path, MODULES[0])
    with pytest.raises(LoadError, match=r"pip install 'vllm\[audio\]'") as caught:
        check_audio_libraries(python, "-s", variables)
    assert caught.value.code == "load_failed"
    assert str(python) in str(caught.value)


def test_a_load_goes_on_when_the_libraries_are_there(tmp_path: Path) -> None:
    check_audio_libraries(interpreter(tmp_path), "-s", modules(tmp_path, *MODULES))


def test_libraries_that_an_isolated_python_does_not_find_are_missing(tmp_path: Path) -> None:
    with pytest.raises(LoadError):
        check_audio_libraries(interpreter(tmp_path), "-I", modules(tmp_path, *MODULES))


def test_a_program_that_is_no_python_is_left_to_the_start_of_the_engine(tmp_path: Path) -> None:
    check_audio_libraries(tmp_path / "none", "-I")
