"""A lock that allows one platform per data folder."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

FILE = "lock"
INHERITED_LOCK_WAIT_S = 3.0  # processes of a killed predecessor have this time to end


class DataFolderInUse(Exception):
    """Raised when another `stoker up` uses the data folder."""


class DataFolderLock:
    """Holds the folder until this process and all processes that inherit `fd` have ended."""

    def __init__(self, data_dir: Path) -> None:
        """Take the lock. Raises `DataFolderInUse`, or `OSError` if the folder cannot be written."""
        data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.fd = os.open(data_dir / FILE, os.O_RDWR | os.O_CREAT, 0o600)
        deadline = time.monotonic() + INHERITED_LOCK_WAIT_S
        while not self._take():
            owner = os.pread(self.fd, 32, 0).decode("ascii", "replace").strip()
            if _is_alive(owner) or time.monotonic() > deadline:
                os.close(self.fd)
                raise DataFolderInUse(
                    f"another `stoker up` (process {owner or 'unknown'}) uses {data_dir}; "
                    "stop it first, or choose another folder with STOKER_DATA_DIR"
                )
            time.sleep(0.05)
        os.ftruncate(self.fd, 0)
        os.pwrite(self.fd, f"{os.getpid()}\n".encode(), 0)

    def _take(self) -> bool:
        try:
            fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def _is_alive(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except (ValueError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return True
