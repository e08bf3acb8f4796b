"""The lock that lets one installation at a time change an environment."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


class InstallError(Exception):
    """Raised when an environment cannot be installed or removed; the text says what to do."""


@contextmanager
def locked(runtimes: Path, name: str) -> Iterator[int]:
    """Lock the environment `name` in the folder `runtimes`; yields the lock's file descriptor.

    The lock is held until this process and all processes that inherited the descriptor have ended. Raises
    `InstallError` when another process holds it.
    """
    path = runtimes / f".{name}.lock"
    try:
        runtimes.mkdir(parents=True, exist_ok=True)
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise InstallError(f"cannot write to {runtimes}: {error.strerror}") from error
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(fd, 32, 0).decode("ascii", "replace").strip() or "unknown"
            raise InstallError(
                f"another `stoker runtimes` (process {owner}) is changing {name}: wait until it has ended"
            ) from None
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
        yield fd
    finally:
        with suppress(OSError):
            os.close(fd)
