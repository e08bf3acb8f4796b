"""Commands in messages work as printed."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from config.commands import program, with_runnable_commands
from config.settings import ROOT

SCRIPT = "#!/bin/sh\nexit 0\n"


@pytest.fixture
def venv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment with the program, as `make up` makes it; this process seems to run in it."""
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    for name in ("stoker", "python"):
        (programs / name).write_text(SCRIPT)
        (programs / name).chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(programs / "python"))
    monkeypatch.setenv("PATH", "/usr/bin")
    monkeypatch.chdir(tmp_path)
    return programs


@pytest.mark.usefixtures("venv")
def test_a_command_has_the_path_from_the_current_folder_when_the_program_is_not_on_the_path() -> None:
    assert with_runnable_commands("run `stoker status`, or `stoker load NAME`") == (
        "run `.venv/bin/stoker status`, or `.venv/bin/stoker load NAME`"
    )
    assert with_runnable_commands("stoker cannot start") == "stoker cannot start"


def test_a_command_has_the_full_path_in_another_folder(venv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = venv.parent.parent / "other"
    other.mkdir()
    monkeypatch.chdir(other)
    assert program() == str(venv / "stoker")


def test_a_command_is_the_name_of_the_program_when_it_is_on_the_path(
    venv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{venv}:/usr/bin")
    assert program() == "stoker"


def test_a_command_is_the_module_when_there_is_no_program(
    venv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in the image, which has no program."""
    (venv / "stoker").unlink()
    assert program() == ".venv/bin/python -m stoker"
    monkeypatch.setenv("PATH", f"{venv}:/usr/bin")
    assert program() == "python -m stoker"


def test_a_printed_command_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    ran = subprocess.run([*shlex.split(program()), "--version"], capture_output=True, check=True)
    assert ran.stdout
