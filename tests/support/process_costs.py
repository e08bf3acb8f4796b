"""What a process took: the most memory that it had at once (Linux, proc(5)), and its computing time."""

from __future__ import annotations

import re
from pathlib import Path

import psutil


def forget_peak(pid: int) -> None:
    """Let the peak begin anew, at what the process has now."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def peak_bytes(pid: int) -> int:
    """The most resident memory since its start, or since `forget_peak`."""
    found = re.search(r"^VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    assert found is not None, "the process has ended"
    return int(found[1]) << 10


def computing_s(pid: int) -> float:
    """The CPU time of a process and of its children that have ended: other processes do not lengthen it."""
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system + times.children_user + times.children_system
