"""Stoker imports its own packages, although others may have the same names."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from config.settings import ROOT
from tests.support.waiting import scaled

PACKAGES = (
    "api",
    "backends",
    "config",
    "engines",
    "fleet",
    "generation",
    "governance",
    "scheduler",
    "store",
    "streams",
    "tasks",
    "telemetry",
    "workers",
)
PROGRAM = Path(sys.executable).with_name("stoker")
SPY = """
import atexit, sys
def report():
    print("|".join(__import__(package).__file__ for package in {packages!r}), file=sys.stderr)
atexit.register(report)
"""


@pytest.fixture
def foreign_packages(tmp_path):
    """A folder with other packages of the same names."""
    for package in PACKAGES:
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("raise RuntimeError('a foreign package')")
    return tmp_path


def files(command, folder, environment):
    """The files of the packages in a process that is started with this command."""
    (folder / "sitecustomize.py").write_text(SPY.format(packages=PACKAGES))
    environment = {**os.environ, **environment}
    ran = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=scaled(30), check=False
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stderr.strip().splitlines()[-1].split("|")


def own_packages():
    return [str(ROOT / package / "__init__.py") for package in PACKAGES]


def test_python_m_stoker_imports_its_packages_from_a_folder_with_others_of_the_same_names(foreign_packages):
    path = os.pathsep.join((str(foreign_packages), str(ROOT)))

    assert (
        files([sys.executable, "-m", "stoker", "--help"], foreign_packages, {"PYTHONPATH": path})
        == own_packages()
    )


def test_the_installed_program_imports_its_packages_before_those_in_site_packages(foreign_packages):
    if not PROGRAM.exists():
        if os.environ.get("CI"):
            pytest.fail("stoker is not installed in this environment")
        pytest.skip("stoker is not installed in this environment; `make test` does it")

    # PYTHONPATH comes before an editable install, just as site-packages does
    assert (
        files([str(PROGRAM), "--help"], foreign_packages, {"PYTHONPATH": str(foreign_packages)})
        == own_packages()
    )
