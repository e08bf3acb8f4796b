"""The CPU that processes used, from /proc (Linux).

`utime + stime` of /proc/<pid>/stat counts all threads of a process, ended ones too, in clock ticks (10 ms on
most systems): the resolution of a window is a tick for each process, and medians over rounds are taken.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PROC = Path("/proc")
LISTENS = "0A"  # a socket's state in /proc/<pid>/net/tcp


class Cpu:
    """CPU clocks of named parts, each of one or more processes."""

    def __init__(self, parts: Mapping[str, list[int]]) -> None:
        self.parts = parts

    def seconds(self) -> dict[str, float]:
        """What each part has used since its start. Raises `OSError` when one of its processes is gone."""
        return {part: sum(map(_used_s, pids)) for part, pids in self.parts.items()}


def _stat(pid: int) -> list[str]:
    # the second field is the program's name in brackets, which may hold anything
    return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()


def _used_s(pid: int) -> float:
    """Of the process and of its children that have ended."""
    fields = _stat(pid)
    return sum(map(int, fields[11:15])) / TICKS_PER_S


def command_of(pid: int) -> str:
    """The command line."""
    return (PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")


def tree(root: int) -> list[int]:
    """The process and all below it."""
    children = _children()
    found = [root]
    for pid in found:
        found += children.get(pid, [])
    return found


def below(root: int, marks: Mapping[str, str]) -> dict[str, list[int]]:
    """The same by part: that of the first mark in a process's command line, else its parent's."""
    children = _children()
    found: dict[str, list[int]] = {}
    waiting: list[tuple[int, str | None]] = [(root, None)]
    for pid, parent in waiting:
        try:
            command = command_of(pid)
        except OSError:
            continue  # it has just ended
        part = next((part for mark, part in marks.items() if mark in command), parent)
        if part is not None:
            found.setdefault(part, []).append(pid)
        waiting += [(child, part) for child in children.get(pid, [])]
    return found


def _children() -> dict[int, list[int]]:
    children: dict[int, list[int]] = {}
    for entry in PROC.glob("[0-9]*"):
        try:
            children.setdefault(int(_stat(int(entry.name))[1]), []).append(int(entry.name))
        except OSError:
            continue  # it has just ended
    return children


def listening(pid: int) -> list[int]:
    """The TCP ports (IPv4) that the process listens on."""
    there = PROC / str(pid)
    sockets = set()
    for fd in (there / "fd").iterdir():
        with suppress(OSError):  # it has just been closed
            sockets.add(str(fd.readlink()))
    rows = [line.split() for line in (there / "net" / "tcp").read_text().splitlines()[1:]]
    return [
        int(row[1].rpartition(":")[2], 16)
        for row in rows
        if row[3] == LISTENS and f"socket:[{row[9]}]" in sockets
    ]
