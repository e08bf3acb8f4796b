"""Files on the disk: `<id>` (content) and `<id>.json` (record) in the tenant's folder."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO

from api.files.known_records import KnownRecords
from api.files.objects import Use
from api.files.paths_below import paths_below
from api.files.record import FileRecord, is_file_id, read_record
from store.errors import StorageFull

DISK_RETRY_S = 60
SUFFIX = ".json"


class DiskObjects:
    """Stores contents and records in folders of this host's disk."""

    def __init__(self) -> None:
        self._known = KnownRecords()

    def add_tenant(self, folder: Path, tenant: str) -> None:
        """Do nothing: the tenant's folder holds the name."""

    def tenants(self) -> Iterator[tuple[str, str]]:
        """Return nothing: all tenants have folders on this host."""
        return iter(())

    def prepare(self, folder: Path, id: str, source: Path) -> None:
        """Do nothing: placing a file on the same disk is fast."""

    def place(self, folder: Path, record: FileRecord, source: Path, *, keep: bool) -> None:
        """Move or link the content into the tenant's folder, and write its record."""
        with disk_errors_translated():
            if keep:
                (folder / record.id).hardlink_to(source)
            else:
                source.rename(folder / record.id)
            sync_folder(folder)
            replace_file(folder / f"{record.id}.json", record.to_json())

    def record(self, folder: Path, id: str) -> FileRecord | None:
        """Read the record of a file; None if there is none."""
        try:
            return read_record((folder / f"{id}.json").read_bytes())
        except (OSError, ValueError, LookupError, TypeError):
            return None

    def records(self, folder: Path) -> Iterator[FileRecord]:
        """Read the records of a tenant's files."""
        ids = [path.name.removesuffix(SUFFIX) for path in paths_below(folder, f"*{SUFFIX}")]
        yield from self._known.of(filter(is_file_id, ids), partial(_read_records, folder))

    def use(self, folder: Path) -> Use:
        """Count a tenant's files and their bytes."""
        records = list(self.records(folder))
        return Use(len(records), sum(record.size for record in records))

    def open(self, folder: Path, id: str) -> BinaryIO:
        """Open the content of a file. Raises `FileNotFoundError`."""
        return (folder / id).open("rb")

    def save_to(self, folder: Path, id: str, target: Path) -> None:
        """Link the content to `target`; the link survives the file's delete."""
        target.hardlink_to(folder / id)

    def remove(self, folder: Path, id: str) -> None:
        """Remove a file and its record; a missing file is no error."""
        (folder / f"{id}.json").unlink(missing_ok=True)
        sync_folder(folder)
        (folder / id).unlink(missing_ok=True)

    def remove_rests(self, folder: Path) -> None:
        """Remove contents without a record, which interrupted calls have left."""
        names = {path.name for path in paths_below(folder, "*")}
        for name in names:
            is_rest = is_file_id(name) and f"{name}.json" not in names
            if is_rest or name.endswith(".new"):
                (folder / name).unlink(missing_ok=True)

    def remove_all(self, folder: Path) -> None:
        """Remove all files of a removed tenant."""
        shutil.rmtree(folder, ignore_errors=True)


def _read_records(folder: Path, ids: list[str]) -> Iterator[bytes]:
    """Read the stored records of files; those that are deleted meanwhile are missing."""
    for id in ids:
        with suppress(OSError):
            yield (folder / f"{id}{SUFFIX}").read_bytes()


@contextmanager
def disk_errors_translated() -> Iterator[None]:
    """Raise `StorageFull` for an `OSError` of a full or read-only disk."""
    try:
        yield
    except OSError as error:
        raise StorageFull(
            f"the file cannot be written: {os.strerror(error.errno or 0)}", retry_after_s=DISK_RETRY_S
        ) from error


def replace_file(path: Path, content: bytes) -> None:
    """Write a whole file; another process sees it whole or not at all. Raises `OSError`."""
    temporary = path.with_name(f"{path.name}.new")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(handle)
    temporary.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on disk. Raises `OSError`."""
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
