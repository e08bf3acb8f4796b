"""Freezes processes: from then on they answer nothing, and their connections stay."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from tests.support.waiting import wait_until

STOPPED = ("T", "t", "Z", "X")
"""The states of a thread that runs no more (proc(5))."""


def freeze(pid: int) -> None:
    """Stop a process, and wait until all of its threads have stopped.

    The kernel gives the signal to one thread, which stops the others once it runs: on a busy machine they
    compute meanwhile.
    """
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: all(state in STOPPED for state in _states(pid)))


def _states(pid: int) -> list[str]:
    """The states of the threads of a process; none once it has ended."""
    states = []
    for stat in Path(f"/proc/{pid}/task").glob("*/stat"):
        try:
            states.append(stat.read_text().rpartition(")")[2].split()[0])
        except (FileNotFoundError, ProcessLookupError):
            continue  # this thread has ended
    return states
