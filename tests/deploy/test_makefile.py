"""The targets of the Makefile."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

import pytest

from config.settings import ROOT
from tests.support.waiting import scaled

TARGETS = {
    *(
        "up",
        "test",
        "quick",
        "test-clients",
        "test-hostile",
        "test-limits",
        "test-runtimes",
        "test-gpu",
        "runtimes",
        "lint",
        "bench",
        "fuzz-optoken",
        "ui",
        "ui-check",
        "ui-pictures",
        "ui-shots",
        "test-ui",
        "test-slow",
        "fuzz-schemas",
    ),
    *(
        "bench-dialects",
        "bench-engines",
        "bench-gpu",
        "bench-growth",
        "bench-idle",
        "bench-locality",
        "bench-on-demand",
        "bench-peers",
        "bench-ui",
    ),
    *("openapi", "demo-model", "lock", "clean"),
}


@pytest.fixture
def make(tmp_path):
    """Run make in a copy of the project's build files, with nothing installed."""
    program = shutil.which("make")
    if program is None:
        pytest.skip("no make here")
    for name in ("Makefile", "pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / name, tmp_path)

    # the tests may run under make, which sets variables for its children
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}

    def run(*arguments):
        return subprocess.run(
            [program, *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=scaled(30),
            check=False,
        )

    return run


def test_help_lists_every_target(make):
    listed = {line.split()[0] for line in make("help").stdout.splitlines()}

    assert listed == TARGETS | {"help"}


@pytest.mark.parametrize("target", sorted(TARGETS))
def test_every_target_passes_a_dry_run(make, target):
    assert make("--dry-run", target).returncode == 0


def test_tests_run_in_four_processes_and_chosen_ones_in_one(make):
    for target, slow in (("test", "without"), ("test-slow", "only")):
        (ran,) = [line for line in make("--dry-run", target).stdout.splitlines() if "pytest" in line]
        assert ran.endswith(f"-m pytest --slow {slow} -n 4 --dist loadfile --no-loadscope-reorder")

    (ran,) = [
        line for line in make("--dry-run", "test", "ARGS=x -k y").stdout.splitlines() if "pytest" in line
    ]
    assert ran.endswith("-m pytest x -k y")


def test_quick_tests_run_in_two_processes_and_chosen_ones_in_one(make):
    (ran,) = [line for line in make("--dry-run", "quick").stdout.splitlines() if "pytest" in line]
    assert ran.endswith("-m pytest --quick -rfE -n 2 --dist loadfile --no-loadscope-reorder")

    (ran,) = [line for line in make("--dry-run", "quick", "ARGS=x").stdout.splitlines() if "pytest" in line]
    assert ran.endswith("-m pytest --quick -rfE x")


def test_browser_tests_run_in_two_processes_and_chosen_ones_in_one(make):
    (ran,) = [line for line in make("--dry-run", "test-ui").stdout.splitlines() if "pytest" in line]
    assert ran.endswith("-m pytest -m browser tests/ui/browser -n 2 --dist loadfile")

    (ran,) = [line for line in make("--dry-run", "test-ui", "ARGS=x").stdout.splitlines() if "pytest" in line]
    assert ran.endswith("-m pytest -m browser x")


def test_the_error_is_one_sentence_without_a_recent_python(make):
    ran = make("up", "CANDIDATES=false")

    assert ran.returncode == 2
    assert ran.stderr.startswith("Stoker needs Python 3.11 or newer")
    assert ran.stdout == ""


def test_another_python_can_be_configured(make):
    assert re.search(
        r"for python in /my/python python3 ", make("--dry-run", "up", "PYTHON=/my/python").stdout
    )


def test_an_installed_environment_is_not_installed_again(make, tmp_path):
    (tmp_path / ".venv").mkdir()
    for name in ("made.stamp", "up.stamp"):
        (tmp_path / ".venv" / name).touch()

    assert "pip" not in make("--dry-run", "up").stdout
