"""CPU time, command lines and listening ports of processes."""

from __future__ import annotations

import time
from collections.abc import Mapping

import psutil

CPUCLOCK_SCHED = 2  # of linux/posix-timers.h: the time that the scheduler has given to all threads


class CpuMeter:
    """The CPU time of named parts of a system, each of one or more processes."""

    def __init__(self, parts: Mapping[str, list[int]]) -> None:
        self.parts = parts

    def read(self) -> dict[str, float]:
        """Seconds of user and system time of each part since its start.

        Raises `OSError` or `psutil.NoSuchProcess` when one of the processes has ended.
        """
        return {part: sum(map(_used_s, pids)) for part, pids in self.parts.items()}


def _used_s(pid: int) -> float:
    """The CPU time of all threads of the process (ended ones included) and of its ended children.

    That of the process is exact; that of the ended children is counted in ticks of 10 ms on most systems.
    """
    times = psutil.Process(pid).cpu_times()
    return time.clock_gettime(~pid << 3 | CPUCLOCK_SCHED) + float(times.children_user + times.children_system)


def tree(root: int) -> list[int]:
    """The process and all its descendants."""
    return [root, *(child.pid for child in psutil.Process(root).children(recursive=True))]


def tree_by_part(root: int, marks: Mapping[str, str]) -> dict[str, list[int]]:
    """The process and all its descendants, grouped by part.

    `marks` maps texts to parts. A process belongs to the part of the first text in its command line, else to
    the part of its parent.
    """
    found: dict[str, list[int]] = {}
    parts: dict[int, str | None] = {}
    for process in [psutil.Process(root), *psutil.Process(root).children(recursive=True)]:
        try:
            command, parent = " ".join(process.cmdline()), process.ppid()
        except psutil.NoSuchProcess:
            continue  # it has just ended
        part = next((part for mark, part in marks.items() if mark in command), parts.get(parent))
        parts[process.pid] = part
        if part is not None:
            found.setdefault(part, []).append(process.pid)
    return found


def listening_ports(pid: int) -> list[int]:
    """The TCP ports (IPv4) on which the process listens."""
    connections = psutil.Process(pid).net_connections("tcp4")
    return [connection.laddr.port for connection in connections if connection.status == psutil.CONN_LISTEN]
