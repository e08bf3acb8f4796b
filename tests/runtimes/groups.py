"""Who is in an engine's process group."""

from __future__ import annotations

from pathlib import Path

CORE = "VLLM::EngineCor"
"""What vLLM calls the process that computes, cut as the kernel cuts it."""


def members(group: int) -> dict[int, str]:
    """The processes of a group, by name."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = stat.read_text().partition("(")[2].rpartition(")")
        except OSError:
            continue
        if int(rest.split()[2]) == group:
            found[int(stat.parent.name)] = name
    return found


def core_of(leader: int) -> int:
    """The process of an engine that computes: vLLM's core where there is one, else the engine itself."""
    return next((pid for pid, name in members(leader).items() if name == CORE), leader)
