"""Our rooms have plain names; whoever starts us must get ours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from config.settings import ROOT

ROOMS = (
    "api",
    "backends",
    "config",
    "fleet",
    "governance",
    "scheduler",
    "streams",
    "tasks",
    "telemetry",
    "workers",
)
PROGRAM = Path(sys.executable).with_name("stoker")
SPY = """
import atexit, sys
def tell():
    print("|".join(__import__(room).__file__ for room in {rooms!r}), file=sys.stderr)
atexit.register(tell)
"""


@pytest.fixture
def elsewhere(tmp_path):
    """A folder that holds other packages of the same names."""
    for room in ROOMS:
        (tmp_path / room).mkdir()
        (tmp_path / room / "__init__.py").write_text("raise RuntimeError('not ours')")
    return tmp_path


def files(command, folder, environment):
    """Where the rooms come from in a process started like this."""
    (folder / "sitecustomize.py").write_text(SPY.format(rooms=ROOMS))
    environment = {**os.environ, **environment}
    ran = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=30, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stderr.strip().splitlines()[-1].split("|")


def ours():
    return [str(ROOT / room / "__init__.py") for room in ROOMS]


def test_python_m_stoker_finds_our_rooms_from_a_folder_full_of_strangers(elsewhere):
    path = os.pathsep.join((str(elsewhere), str(ROOT)))

    assert files([sys.executable, "-m", "stoker", "--help"], elsewhere, {"PYTHONPATH": path}) == ours()


def test_the_installed_program_finds_our_rooms_before_those_in_site_packages(elsewhere):
    if not PROGRAM.exists():
        if os.environ.get("CI"):
            pytest.fail("stoker is not installed in this environment")
        pytest.skip("stoker is not installed in this environment; `make test` does it")

    # PYTHONPATH comes before an editable install, just as site-packages does
    assert files([str(PROGRAM), "--help"], elsewhere, {"PYTHONPATH": str(elsewhere)}) == ours()
