"""Small real processes to look after."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from stoker.managed_process import Plan
from stoker.supervisor import STOP_SIGNALS, Supervisor

SLEEPER = "import time; time.sleep(600)"
STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("deaf", flush=True)
time.sleep(600)
"""


def plan(name: str, code: str, tmp_path: Path, **more: Any) -> Plan:
    """A part that runs some Python."""
    return Plan(name, [sys.executable, "-S", "-c", code], log=tmp_path / f"{name}.log", **more)


def lives(pid: int) -> bool:
    """Whether the process is there and not a zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def eventually(condition: Callable[[], object], seconds: float = 10) -> bool:
    """Wait for it."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


@pytest.fixture
def said() -> list[str]:
    """What the supervisor said."""
    return []


@pytest.fixture
def supervisor(said: list[str]) -> Iterator[Supervisor]:
    """One that leaves nothing behind, neither processes nor signal handlers."""
    before = {number: signal.getsignal(number) for number in (*STOP_SIGNALS, signal.SIGCHLD)}
    made = Supervisor(said.append)
    yield made
    for part in made.parts:
        part.kill()
    os.close(signal.set_wakeup_fd(-1))
    os.close(made._wake)
    for number, handler in before.items():
        signal.signal(number, handler)
