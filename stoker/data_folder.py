"""The files that mark the data folder of a running platform: the lock, and `run.json` with its addresses."""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

LOCK_FILE = "lock"
RUN_FILE = "run.json"
START_BYTES = 1024 * 1024
INHERITED_LOCK_WAIT_S = 3.0  # processes of a killed predecessor have this time to end


class DataFolderInUse(Exception):
    """Raised when another `stoker up` uses the data folder."""


class DataFolderUnusable(Exception):
    """Raised when the data folder cannot be made or written, or its disk is full."""


class DataFolderLock:
    """Holds the folder until this process and all processes that inherit `fd` have ended."""

    def __init__(self, data_dir: Path) -> None:
        """Take the lock. Raises `DataFolderInUse`, `DataFolderUnusable`."""
        try:
            data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
            _check_room(data_dir)
            self.fd = os.open(data_dir / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise DataFolderUnusable(
                f"{data_dir} cannot hold the data ({error.strerror}): make it a writable folder with free "
                "space, or choose another one with STOKER_DATA_DIR"
            ) from error
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


def _check_room(data_dir: Path) -> None:
    """Raise `OSError` if START_BYTES cannot be written: on a full disk not even a log would say why."""
    with tempfile.TemporaryFile(dir=data_dir) as file:
        os.posix_fallocate(file.fileno(), 0, START_BYTES)


def _is_alive(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except (ValueError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return True


def write_run(data_dir: Path, content: Mapping[str, Any]) -> None:
    """Write the description (`pid`, `url`, `flower`, `metrics`); replaces an earlier file atomically."""
    temporary = data_dir / f".{RUN_FILE}.{os.getpid()}"
    temporary.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    temporary.replace(data_dir / RUN_FILE)


def read_run(data_dir: Path) -> dict[str, Any]:
    """Return the description; empty if there is no file or it cannot be read."""
    try:
        content = json.loads((data_dir / RUN_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def remove_run(data_dir: Path) -> None:
    """Remove the file, as the platform has ended."""
    (data_dir / RUN_FILE).unlink(missing_ok=True)
