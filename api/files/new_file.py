"""A file that is being written: `<id>.upload` in the tenant's folder, whose length is what it has reserved.

Its writer holds a lock of it (flock), which ends with the process: one without a lock is the rest of a killed
upload. Two threads may use it one after the other.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

from api.files.disk_objects import disk_errors_translated
from api.files.paths_below import paths_below
from api.files.record import new_file_id
from store.errors import StorageFull

SUFFIX = ".upload"

STEP_BYTES = 8 * 1024 * 1024
"""What a file of unknown length reserves at a time, and after which the free space is looked at again."""


class NewFile:
    """Closed without `FileStore.commit` it leaves nothing. Raises `StorageFull`."""

    def __init__(self, folder: Path, reserved: int, extend: Callable[[NewFile, int], int]) -> None:
        """Create the file, under the lock of the tenant's folder.

        `extend(file, size)` returns how many bytes are reserved from then on, at least `size`, or raises.
        """
        self.id = new_file_id()
        self.folder = folder
        self.path = folder / f"{self.id}{SUFFIX}"
        self.size = 0
        """Bytes written."""
        self.reserved = reserved
        self._extend = extend
        self._looked_at = 0
        with disk_errors_translated():
            self._handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        self._is_open = True
        try:
            with disk_errors_translated():
                fcntl.flock(self._handle, fcntl.LOCK_EX)
                os.ftruncate(self._handle, reserved)
        except StorageFull:
            self.close()
            raise

    def write(self, data: bytes) -> None:
        """Write on. Raises what `extend` raises, and then has written nothing of `data`."""
        size = self.size + len(data)
        if size > self.reserved or size - self._looked_at >= STEP_BYTES:
            reserved = self._extend(self, size)
            self._looked_at = size
            if reserved > self.reserved:
                self._set_length(reserved)
                self.reserved = reserved
        view = memoryview(data)
        with disk_errors_translated():
            while view:
                view = view[os.write(self._handle, view) :]
        self.size = size

    def release_rest(self) -> None:
        """Give back what is reserved and was not written: nothing more follows."""
        self._set_length(self.size)
        self.reserved = self.size

    def move_to(self, path: Path) -> None:
        """Make a file of what was written, under the lock of the tenant's folder."""
        self._set_length(self.size)
        with disk_errors_translated():
            self.path.rename(path)

    def sync(self) -> None:
        """Wait until the content is on disk, with its own length."""
        self._set_length(self.size)
        with disk_errors_translated():
            os.fsync(self._handle)

    def close(self) -> None:
        """Remove the file, unless it was committed. May be called again."""
        if self._is_open:
            self._is_open = False
            self.path.unlink(missing_ok=True)
            os.close(self._handle)

    def _set_length(self, length: int) -> None:
        with disk_errors_translated():
            os.ftruncate(self._handle, length)


def remove_killed(folder: Path) -> None:
    """Remove the files of writers that are gone, under the lock of the folder."""
    for path in paths_below(folder, f"*{SUFFIX}"):
        try:
            handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:  # it was closed a moment ago
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink(missing_ok=True)
        except BlockingIOError:
            pass  # its writer lives
        finally:
            os.close(handle)


def reserved_sizes(folder: Path) -> list[int]:
    """What the files that are being written have reserved, or have written, of a folder."""
    sizes = []
    for path in paths_below(folder, f"*{SUFFIX}"):
        try:
            sizes.append(path.stat().st_size)
        except FileNotFoundError:  # it was closed a moment ago
            continue
    return sizes
