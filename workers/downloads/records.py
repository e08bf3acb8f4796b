"""Which files of the hub's cache the platform has downloaded: `<data_dir>/downloads/<repository>/<digest>`.

A record is made before the first byte of its file, so that a file of which there is none was put there by
something else. Removals delete recorded files only (`workers.downloads.removal`).
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

FOLDER = "downloads"
LOCK = "lock"


class DownloadRecords:
    """The records of one host. `folder` need not exist."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, repository: Path, digest: str, name: str) -> None:
        """Record a file of a repository, which the cache has in the folder `repository`. Raises `OSError`."""
        path = self._path(repository, digest)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_text(name)

    def has(self, repository: Path, digest: str) -> bool:
        """Whether the file was recorded."""
        return self._path(repository, digest).is_file()

    def drop(self, repository: Path, digest: str) -> None:
        """Forget a file that was deleted."""
        self._path(repository, digest).unlink(missing_ok=True)

    @contextmanager
    def locked(self, repository: Path, *, exclusive: bool) -> Iterator[None]:
        """Keep what begins or ends a download (shared) and a removal (exclusive) of a repository apart.

        Waits for the other. Without a data folder that can be written there are no records, and no removals.
        """
        path = self._path(repository, LOCK)
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            if exclusive:
                raise
            yield
            return
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH)
            yield
        finally:
            os.close(descriptor)

    def _path(self, repository: Path, name: str) -> Path:
        return self.folder / repository.name / name


def recorded(records: DownloadRecords, repository: Path, digest: str, name: str) -> None:
    """Record a file if that is possible: one without a record is not deleted by a removal."""
    with suppress(OSError):
        records.add(repository, digest, name)
