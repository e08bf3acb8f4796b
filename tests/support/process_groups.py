"""Who is in an engine's process group."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

CORE = "VLLM::EngineCor"
"""What vLLM calls the process that computes, cut as the kernel cuts it."""


def members(group: int) -> dict[int, str]:
    """The processes of a group, by name; the dead whom nobody has buried yet do not count."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            name, _, rest = stat.read_text().partition("(")[2].rpartition(")")
            state, _parent, its_group = rest.split()[:3]
            if int(its_group) == group and state != "Z":
                found[int(stat.parent.name)] = name
    return found


def group_is_gone(group: int) -> bool:
    """Whether nobody of a process group lives."""
    return not members(group)


def core_of(leader: int) -> int:
    """The process of an engine that computes: vLLM's core where there is one, else the engine itself."""
    return next((pid for pid, name in members(leader).items() if name == CORE), leader)
