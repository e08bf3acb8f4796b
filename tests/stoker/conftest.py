"""Small real processes for the supervisor."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stoker.managed_process import ProcessPlan
from stoker.supervisor import STOP_SIGNALS, Supervisor

SLEEPER = "import time; time.sleep(600)"
STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
time.sleep(600)
"""


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
