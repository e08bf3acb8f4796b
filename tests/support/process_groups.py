"""The processes of an engine's process group."""

from __future__ import annotations

import os
from contextlib import suppress

import psutil

VLLM_CORE = "VLLM::EngineCor"
"""The name of the process in which vLLM computes, cut to the 15 characters that Linux stores."""


def members(group: int) -> dict[int, str]:
    """The living processes of a process group, pid -> name; zombies do not count."""
    found = {}
    for process in psutil.process_iter():
        with suppress(psutil.Error, ProcessLookupError):
            if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                found[process.pid] = process.name()
    return found


def group_is_gone(group: int) -> bool:
    """Whether no process of a process group lives."""
    return not members(group)


def core_of(leader: int) -> int:
    """The process of an engine that computes: vLLM's core if there is one, else the engine itself."""
    return next((pid for pid, name in members(leader).items() if name.startswith(VLLM_CORE)), leader)
