"""Small real processes for the supervisor, and an API for the commands that send requests to one."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stoker import names
from stoker.cli import cli
from stoker.managed_process import ProcessPlan
from stoker.supervisor import STOP_SIGNALS, Supervisor
from tests.support.answering_api import answering_api
from tests.support.waiting import scaled

SLEEPER = "import time; time.sleep(600)"
STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
time.sleep(600)
"""

UNKNOWN_TENANT = {
    "/v1/admin/tenants/acne": [
        (404, {"error": {"message": "there is no tenant acne", "code": "not_found"}}),
    ],
    "/v1/admin/tenants?limit=1000": [(200, {"data": [{"name": "acme"}]})],
}
"""Answers of an API with the tenant `acme` alone, for a command about `acne`."""


def plan(name: str, code: str, tmp_path: Path, **more: Any) -> ProcessPlan:
    """The plan of a process that runs Python code."""
    return ProcessPlan(name, [sys.executable, "-S", "-c", code], log=tmp_path / f"{name}.log", **more)


def is_alive(pid: int) -> bool:
    """Whether the process exists and is no zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


@pytest.fixture
def reports() -> list[str]:
    """The lines that the supervisor reported."""
    return []


@pytest.fixture
def supervisor(reports: list[str]) -> Iterator[Supervisor]:
    """A supervisor whose processes and signal handlers are removed after the test."""
    before = {number: signal.getsignal(number) for number in (*STOP_SIGNALS, signal.SIGCHLD)}
    made = Supervisor(reports.append)
    yield made
    for process in made.processes:
        process.kill()
    os.close(signal.set_wakeup_fd(-1))
    os.close(made._wake)
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(autouse=True)
def _names_are_looked_up_without_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine the answer with the names may take longer than people would wait for it."""
    monkeypatch.setattr(names, "LOOK_UP_S", scaled(10))


@pytest.fixture
def api() -> Iterator[Any]:
    """An API whose answers the test sets."""
    with answering_api() as server:
        yield server


@pytest.fixture
def run(api: Any, tmp_path: Path) -> Callable[..., tuple[int, str]]:
    """Run a command against that API: exit code and output."""

    def run(*words: str, url: str | None = None, local: Path | None = None) -> tuple[int, str]:
        environment = {
            "STOKER_DATA_DIR": str(tmp_path),
            "STOKER_ADMIN_KEY": "sk-admin",
            "STOKER_API_KEY": "sk-me",
            "STOKER_LOCAL": local and str(local),
            "STOKER_URL": url or api.url,
        }
        result = CliRunner().invoke(cli, words, env=environment)
        return result.exit_code, result.output

    return run
