"""Where files are kept: contents and records by tenant and id. `FileStore` holds the locks and the quotas.

A tenant is named by its folder below `data_dir`, whose name is the SHA-256 of the tenant's name. The record
is the commit point: it comes after the content, and goes before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from api.files.record import FileRecord


@dataclass(frozen=True, slots=True)
class Use:
    """What files take."""

    files: int
    bytes: int


class FileObjects(Protocol):
    """Stores contents and records. Raises `StorageFull`, and `StorageUnavailable` for a store of others."""

    def add_tenant(self, folder: Path, tenant: str) -> None:
        """Note the name of a tenant whose folder is new on this host."""
        ...

    def tenants(self) -> Iterator[tuple[str, str]]:
        """The names of the folders and of the tenants that may have no folder on this host."""
        ...

    def prepare(self, folder: Path, id: str, source: Path) -> None:
        """Do what takes long for a new file, whose synced content is `source`. The lock is not held."""
        ...

    def place(self, folder: Path, record: FileRecord, source: Path, *, keep: bool) -> None:
        """Make a file of a prepared content, under the lock. `keep`: `source` stays."""
        ...

    def record(self, folder: Path, id: str) -> FileRecord | None:
        """The record of a file; None if there is none."""
        ...

    def records(self, folder: Path) -> Iterator[FileRecord]:
        """The records of a tenant's files."""
        ...

    def use(self, folder: Path) -> Use:
        """What a tenant's files take."""
        ...

    def open(self, folder: Path, id: str) -> BinaryIO:
        """The content of a file, to be read from its begin. Raises `FileNotFoundError`.

        A delete ends the reading, or leaves it.
        """
        ...

    def save_to(self, folder: Path, id: str, target: Path) -> None:
        """Make a file of this host's disk of a content. Raises `FileNotFoundError`."""
        ...

    def remove(self, folder: Path, id: str) -> None:
        """Remove a file, under the lock. One that is not there is none to remove."""
        ...

    def remove_rests(self, folder: Path) -> None:
        """Remove contents without a record that interrupted calls have left, under the lock.

        It is called often.
        """
        ...

    def remove_all(self, folder: Path) -> None:
        """Remove all files of a tenant that is gone."""
        ...
