"""Ends vLLM's engine process with its process group, and leaves no shared memory behind.

This applies when the process ends by itself. When its guard kills it (`engines/engine_process/guard.py`), the
guard spares the same helper process.
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

RELEASE_TIMEOUT_S = 1.0


def exit_process(code: int) -> NoReturn:
    """End this process at once, without waiting for its threads."""
    sys.stdout.flush()
    sys.stderr.flush()
    release_shared_memory()
    os._exit(code)


def release_shared_memory() -> None:
    """Let the resource tracker of `multiprocessing` release the memory that the engine's processes shared.

    The tracker does so once all processes that use it have ended. They have to end before this one, because
    the end of this process ends its whole group, the tracker included.
    """
    tracker: Any = resource_tracker._resource_tracker
    with suppress(OSError, AttributeError, TypeError):  # TypeError: there is no tracker
        ending = os.pidfd_open(tracker._pid)
        for pid in _group():
            if pid not in (os.getpid(), tracker._pid):
                os.kill(pid, signal.SIGKILL)
        os.close(tracker._fd)
        select.select([ending], [], [], RELEASE_TIMEOUT_S)


def _group() -> list[int]:
    """Return the pids of this process group."""
    group = []
    for pid in (int(folder.name) for folder in Path("/proc").glob("[0-9]*")):
        with suppress(ProcessLookupError):
            if os.getpgid(pid) == os.getpgrp():
                group.append(pid)
    return group
