"""CPU time, command lines and listening ports of processes."""

from __future__ import annotations

import os
from collections.abc import Mapping

import psutil

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
"""Linux counts a process's CPU time in these ticks (10 ms each on most systems)."""


class CpuMeter:
    """The CPU time of named parts of a system, each of one or more processes.

    A window has a resolution of one tick for each process, so medians over rounds are taken.
    """

    def __init__(self, parts: Mapping[str, list[int]]) -> None:
        self.parts = parts

    def seconds(self) -> dict[str, float]:
        """User and system time of each part since its start.

        Raises `psutil.NoSuchProcess` when one of the processes has ended.
        """
        return {part: sum(map(_used_s, pids)) for part, pids in self.parts.items()}


def _used_s(pid: int) -> float:
    """The CPU time of all threads of the process (ended ones included) and of its ended children."""
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system + times.children_user + times.children_system)


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
