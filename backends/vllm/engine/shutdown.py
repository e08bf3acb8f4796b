"""The end of vLLM's host: it takes its process group with it, and leaves no shared memory behind.

That is where it ends by itself. Where it is killed, its guard spares the same helper (`workers/engine_process/guard.py`).
"""

from __future__ import annotations

import os
import select
import signal
import sys
from contextlib import suppress
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any, NoReturn

FORGET_S = 1.0


def leave(code: int) -> NoReturn:
    """End this process without asking its threads."""
    sys.stdout.flush()
    sys.stderr.flush()
    forget_shared_memory()
    os._exit(code)


def forget_shared_memory() -> None:
    """Let the helper process of `multiprocessing` give back the memory that the engine's processes shared.

    It does so when all of them are gone, and before we are: with us goes whoever is left of our group.
    """
    tracker: Any = resource_tracker._resource_tracker
    with suppress(OSError, AttributeError, TypeError):  # TypeError: there is none
        ending = os.pidfd_open(tracker._pid)
        for pid in _group():
            if pid not in (os.getpid(), tracker._pid):
                os.kill(pid, signal.SIGKILL)
        os.close(tracker._fd)
        select.select([ending], [], [], FORGET_S)


def _group() -> list[int]:
    """Who is in our process group."""
    group = []
    for pid in (int(folder.name) for folder in Path("/proc").glob("[0-9]*")):
        with suppress(ProcessLookupError):
            if os.getpgid(pid) == os.getpgrp():
                group.append(pid)
    return group
