"""`make quick`: the tests that start no process and no services of the API."""

from __future__ import annotations

import subprocess
import sys

import pytest

from config.settings import ROOT
from tests.support.quick_run import is_slow
from tests.support.waiting import scaled

PROGRAM = """
import subprocess, sys, threading

def start():
    subprocess.run([sys.executable, "-c", ""], check=True)

def test_that_starts_none():
    pass

def test_that_starts_a_process():
    start()

def test_that_hides_the_error_of_a_process():
    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    assert False
"""


@pytest.mark.usefixtures("shared_server")
def test_a_test_with_redis_is_slow(request):
    assert is_slow(request.node)


def test_a_test_without_fixtures_is_not_slow(request):
    assert not is_slow(request.node)


@pytest.mark.journey
def test_a_test_of_the_whole_platform_is_slow(request):
    assert is_slow(request.node)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_test_is_skipped_when_it_starts_a_process(tmp_path):
    (tmp_path / "test_processes.py").write_text(PROGRAM)
    (tmp_path / "conftest.py").write_text(
        "from tests.support.quick_run import QuickRun\n\n"
        "def pytest_configure(config):\n    config.pluginmanager.register(QuickRun())\n"
    )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:valkey",
        str(tmp_path),
    ]
    ran = subprocess.run(
        [*command, "--rootdir", str(tmp_path), "-c", "/dev/null"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=scaled(60),
        check=False,
    )

    assert "1 passed, 2 skipped" in ran.stdout, ran.stdout
    assert ran.returncode == 0
