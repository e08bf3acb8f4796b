"""The files of all tenants, in `<data_dir>/files/<SHA-256 of the tenant's name>/`.

A file is `<id>` (content) and `<id>.json` (record). The record is the commit point: it is renamed into place
after the content is on disk, and removed before it. A content without a record is the rest of an upload or a
delete that was interrupted; the next holder of the folder's lock removes it.

All methods do I/O and are thread-safe, over all processes of a host.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from api.errors import NotFound
from api.files.errors import FileQuotaExceeded
from api.files.record import FileRecord, is_file_id, new_record, read_record
from config.settings import FileSettings
from scheduler.errors import StorageFull

FOLDER = "files"
LOCK = "lock"
TENANT = "tenant"
"""The file with the tenant's name, for those who look through the folders."""

MIB = 1024 * 1024
DISK_RETRY_S = 60


@dataclass(frozen=True, slots=True)
class Use:
    """What the files of a tenant take, and what its batches have on disk."""

    files: int
    bytes: int


class FileStore:
    """Creates, lists, reads and deletes the files of tenants."""

    def __init__(self, root: Path, settings: FileSettings, clock: Callable[[], float] = time.time) -> None:
        self.root = root
        self._settings = settings
        self._clock = clock

    def folder(self, tenant: str) -> Path:
        """The folder of a tenant, whether it exists or not."""
        return self.root / hashlib.sha256(tenant.encode()).hexdigest()

    def create(
        self, tenant: str, filename: str, purpose: str, content: bytes, lifetime_s: int | None
    ) -> FileRecord:
        """Store a file. Raises `FileQuotaExceeded`, `StorageFull`, and then changes nothing."""
        with self._locked(tenant) as folder:
            self._remove_expired(folder)
            use = self._use(folder)
            if use.files >= self._settings.max_files_per_tenant:
                raise FileQuotaExceeded(
                    f"there are {use.files} files, as many as may be "
                    "(files.max_files_per_tenant); delete some first"
                )
            self._check_bytes(use, len(content))
            record = new_record(filename, purpose, len(content), lifetime_s, self._clock())
            with disk_errors_translated():
                _write_synced(folder / record.id, content)
                self._commit(folder, record)
        return record

    def adopt(self, tenant: str, source: Path, record: FileRecord) -> None:
        """Make a file of a synced one of this disk, which stays; quotas do not count.

        A repeated call with the same record changes nothing.
        """
        with self._locked(tenant) as folder:
            if self._read(folder, record.id) is None:
                with disk_errors_translated():
                    (folder / record.id).hardlink_to(source)
                    sync_folder(folder)
                    self._commit(folder, record)

    def all_of(self, tenant: str) -> list[FileRecord]:
        """The files of a tenant, the oldest first."""
        folder, now = self.folder(tenant), self._clock()
        found = [record for record in self._records(folder) if not record.has_expired(now)]
        return sorted(found, key=lambda record: (record.created_us, record.id))

    def get(self, tenant: str, id: str) -> FileRecord:
        """A file of a tenant. Raises `NotFound`."""
        record = self._read(self.folder(tenant), id) if is_file_id(id) else None
        if record is None or record.has_expired(self._clock()):
            raise no_such_file()
        return record

    def content(self, tenant: str, id: str) -> Path:
        """The path of a file's content, which a delete may remove at any time. Raises `NotFound`."""
        self.get(tenant, id)
        return self.folder(tenant) / id

    def link(self, tenant: str, id: str, target: Path) -> None:
        """Link a file's content, which then survives the file's delete. Raises `NotFound`, `StorageFull`."""
        content = self.content(tenant, id)
        with disk_errors_translated():
            try:
                target.hardlink_to(content)
            except FileNotFoundError:  # it was deleted a moment ago
                raise no_such_file() from None
            sync_folder(target.parent)

    def new_folder(self, tenant: str, name: str) -> Path:
        """A new folder in that of a tenant. Raises `StorageFull`."""
        with self._locked(tenant) as folder, disk_errors_translated():
            path = folder / name
            path.mkdir(mode=0o700)
            sync_folder(folder)
        return path

    def delete(self, tenant: str, id: str) -> None:
        """Delete a file. Raises `NotFound`."""
        self.get(tenant, id)
        with self._locked(tenant) as folder:
            if self._read(folder, id) is None:
                raise no_such_file()
            _remove(folder, id)

    def use(self, tenant: str) -> Use:
        """What the files of a tenant take."""
        return self._use(self.folder(tenant))

    def check_quota(self, tenant: str, more: int) -> None:
        """Raise `FileQuotaExceeded` or `StorageFull` unless there is room for `more` bytes of a tenant."""
        self._check_bytes(self.use(tenant), more)

    def _check_bytes(self, use: Use, more: int) -> None:
        most = self._settings.max_bytes_per_tenant
        if use.bytes + more > most:
            raise FileQuotaExceeded(
                f"the files take {use.bytes} bytes, of {most} (files.max_bytes_per_tenant), and this would "
                f"be {more} more; delete some first"
            )
        self.check_disk(more)

    def has_room(self, tenant: str, more: int) -> bool:
        """Whether `more` bytes fit the tenant's quota and the disk."""
        try:
            self.check_quota(tenant, more)
        except (FileQuotaExceeded, StorageFull):
            return False
        return True

    def check_disk(self, more: int) -> None:
        """Raise `StorageFull` unless the disk has room for `more` bytes beside what is kept free."""
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        free = shutil.disk_usage(self.root).free
        if free - more < self._settings.keep_free_mib * MIB:
            raise StorageFull(
                f"the disk of the files has {free // MIB} MiB left, and files.keep_free_mib "
                f"({self._settings.keep_free_mib}) are kept free",
                retry_after_s=DISK_RETRY_S,
            )

    def remove_expired(self, tenant_folder: Path) -> None:
        """Remove what has expired in one folder of `root`."""
        with self._locked_folder(tenant_folder):
            self._remove_expired(tenant_folder)

    # ---- one folder, whose lock the caller holds for changes

    @contextmanager
    def _locked(self, tenant: str) -> Iterator[Path]:
        """Hold the lock of the tenant's folder, and remove what interrupted calls have left there."""
        folder = self.folder(tenant)
        with disk_errors_translated():
            self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
            folder.mkdir(exist_ok=True, mode=0o700)
            name = folder / TENANT
            if not name.exists():
                _replace(name, tenant.encode())
        with self._locked_folder(folder):
            self._remove_rests(folder)
            yield folder

    @contextmanager
    def _locked_folder(self, folder: Path) -> Iterator[None]:
        with disk_errors_translated():
            handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def _commit(self, folder: Path, record: FileRecord) -> None:
        _replace(folder / f"{record.id}.json", record.to_json())

    def _read(self, folder: Path, id: str) -> FileRecord | None:
        try:
            return read_record((folder / f"{id}.json").read_bytes())
        except (OSError, ValueError, LookupError, TypeError):
            return None

    def _records(self, folder: Path) -> Iterator[FileRecord]:
        for path in folder.glob("file-*.json"):
            record = self._read(folder, path.stem)
            if record is not None:
                yield record

    def _use(self, folder: Path) -> Use:
        records = list(self._records(folder))
        # the input of a batch is a link to its file: it counts when that was deleted
        batches = sum(_unlinked_size(path) for path in folder.glob("*batch_*/*"))
        return Use(len(records), sum(record.size for record in records) + batches)

    def _remove_expired(self, folder: Path) -> None:
        now = self._clock()
        for record in list(self._records(folder)):
            if record.has_expired(now):
                _remove(folder, record.id)

    def _remove_rests(self, folder: Path) -> None:
        names = {path.name for path in folder.iterdir()}
        for name in names:
            is_rest = is_file_id(name) and f"{name}.json" not in names
            if is_rest or name.endswith(".new"):
                (folder / name).unlink(missing_ok=True)


def no_such_file(param: str = "file_id") -> NotFound:
    """The error for an id that no file of the tenant has."""
    return NotFound("there is no such file", param=param)


@contextmanager
def disk_errors_translated() -> Iterator[None]:
    """Raise `StorageFull` for an `OSError` of a full or read-only disk."""
    try:
        yield
    except OSError as error:
        raise StorageFull(
            f"the file cannot be written: {os.strerror(error.errno or 0)}", retry_after_s=DISK_RETRY_S
        ) from error


def _remove(folder: Path, id: str) -> None:
    (folder / f"{id}.json").unlink(missing_ok=True)
    sync_folder(folder)
    (folder / id).unlink(missing_ok=True)


def _replace(path: Path, content: bytes) -> None:
    temporary = path.with_name(f"{path.name}.new")
    _write_synced(temporary, content)
    temporary.replace(path)
    sync_folder(path.parent)


def _write_synced(path: Path, content: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(handle)


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on disk. Raises `OSError`."""
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _unlinked_size(path: Path) -> int:
    """The bytes of a file that has no second name."""
    try:
        found = path.stat()
    except FileNotFoundError:  # it was removed meanwhile
        return 0
    return found.st_size if found.st_nlink == 1 else 0
