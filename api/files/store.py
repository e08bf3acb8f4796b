"""The files of all tenants: quotas, expiry, and the lock of each tenant's folder.

`<data_dir>/files/<SHA-256 of the tenant's name>/` has the files that are being written and what batches work
on; the files themselves are there as well, or in a bucket (`FileObjects`). What an interrupted call has left
is removed by the next holder of the folder's lock.

All methods do I/O and are thread-safe, over all processes of a host.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from api.files.disk_objects import (
    DISK_RETRY_S,
    DiskObjects,
    disk_errors_translated,
    replace_file,
    sync_folder,
)
from api.files.errors import FileQuotaExceeded
from api.files.new_file import STEP_BYTES, NewFile, remove_killed, reserved_sizes
from api.files.objects import FileObjects, Use
from api.files.paths_below import paths_below
from api.files.record import FileRecord, is_file_id, new_record
from api.files.remote_objects import MAX_CALLS, RemoteObjects, check_storage
from api.http.errors import NotFound
from config.settings import FileSettings, Settings
from generation.job_folder import JOBS, files_root, tenant_folder_name
from store.errors import StorageFull

LOCK = "lock"
TENANT = "tenant"
"""The file with the tenant's name, for those who look through the folders."""

MIB = 1024 * 1024


class FileStore:
    """Creates, lists, reads and deletes the files of tenants."""

    def __init__(
        self,
        root: Path,
        settings: FileSettings,
        clock: Callable[[], float] = time.time,
        objects: FileObjects | None = None,
    ) -> None:
        """`root` is the folder of all folders; the files are on its disk unless `objects` has them."""
        self.root = root
        self.objects: FileObjects = objects or DiskObjects()
        self._settings = settings
        self._clock = clock

    def folder(self, tenant: str) -> Path:
        """The folder of a tenant, whether it exists or not."""
        return self.root / tenant_folder_name(tenant)

    def begin(self, tenant: str, least: int) -> NewFile:
        """Begin a file that will have at least so many bytes, which are reserved; `close` it in any case.

        Raises `FileQuotaExceeded`, `StorageFull`, and then changes nothing.
        """
        with self.locked(tenant) as folder:
            self.check(folder, least, files=1)
            return NewFile(folder, least, self._extend)

    def commit(self, new: NewFile, filename: str, purpose: str, lifetime_s: int | None) -> FileRecord:
        """Make a file of what was written."""
        record = new_record(filename, purpose, new.size, lifetime_s, self._clock(), id=new.id)
        new.sync()
        self.objects.prepare(new.folder, new.id, new.path)
        with self._locked_folder(new.folder):
            self.objects.place(new.folder, record, new.path, keep=False)
        return record

    def create(
        self, tenant: str, filename: str, purpose: str, content: bytes, lifetime_s: int | None
    ) -> FileRecord:
        """Store a file. Raises `FileQuotaExceeded`, `StorageFull`, and then changes nothing."""
        new = self.begin(tenant, len(content))
        try:
            new.write(content)
            return self.commit(new, filename, purpose, lifetime_s)
        finally:
            new.close()

    def adopt(self, tenant: str, source: Path, record: FileRecord) -> None:
        """Make a file of a synced one of this disk, which stays; quotas do not count.

        A repeated call with the same record changes nothing.
        """
        if self.objects.record(self.folder(tenant), record.id) is not None:
            return
        self.objects.prepare(self.folder(tenant), record.id, source)
        with self.locked(tenant) as folder:
            if self.objects.record(folder, record.id) is None:
                self.objects.place(folder, record, source, keep=True)

    def all_of(self, tenant: str) -> list[FileRecord]:
        """The files of a tenant, the oldest first."""
        folder, now = self.folder(tenant), self._clock()
        found = [record for record in self.objects.records(folder) if not record.has_expired(now)]
        return sorted(found, key=lambda record: (record.created_us, record.id))

    def get(self, tenant: str, id: str) -> FileRecord:
        """A file of a tenant. Raises `NotFound`."""
        record = self.objects.record(self.folder(tenant), id) if is_file_id(id) else None
        if record is None or record.has_expired(self._clock()):
            raise no_such_file()
        return record

    def open(self, tenant: str, id: str) -> BinaryIO:
        """A file's content. Raises `NotFound`."""
        self.get(tenant, id)
        try:
            return self.objects.open(self.folder(tenant), id)
        except FileNotFoundError:  # it was deleted a moment ago
            raise no_such_file() from None

    def read(self, tenant: str, id: str) -> bytes:
        """A file's whole content. Raises `NotFound`."""
        with self.open(tenant, id) as file:
            return file.read()

    def save_to(self, tenant: str, id: str, target: Path) -> None:
        """Make a file of a content, which survives the file's delete. Raises `NotFound`, `StorageFull`."""
        self.get(tenant, id)
        with disk_errors_translated():
            try:
                self.objects.save_to(self.folder(tenant), id, target)
            except FileNotFoundError:  # it was deleted a moment ago
                raise no_such_file() from None
            sync_folder(target.parent)

    def new_folder(self, tenant: str, name: str) -> Path:
        """A new folder in that of a tenant. Raises `StorageFull`."""
        with self.locked(tenant) as folder, disk_errors_translated():
            path = folder / name
            path.mkdir(mode=0o700)
            sync_folder(folder)
        return path

    def delete(self, tenant: str, id: str) -> None:
        """Delete a file. Raises `NotFound`."""
        self.get(tenant, id)
        with self.locked(tenant) as folder:
            if self.objects.record(folder, id) is None:
                raise no_such_file()
            self.objects.remove(folder, id)

    def use(self, tenant: str) -> Use:
        """What the files of a tenant take, those that are being written, and its batches on disk."""
        return self._use(self.folder(tenant))

    def check_quota(self, tenant: str, more: int) -> None:
        """Raise `FileQuotaExceeded` or `StorageFull` unless there is room for `more` bytes of a tenant."""
        self._check_use(self.use(tenant), more)

    def check(self, folder: Path, more: int, *, files: int = 0) -> None:
        """Raise unless there is room; what has expired makes room. The lock is held."""
        try:
            self._check_use(self._use(folder), more, files=files)
        except FileQuotaExceeded:
            self._remove_expired(folder)
            self._check_use(self._use(folder), more, files=files)

    def _check_use(self, use: Use, more: int, *, files: int = 0) -> None:
        most, most_files = self._settings.max_bytes_per_tenant, self._settings.max_files_per_tenant
        if use.files + files > most_files:
            raise FileQuotaExceeded(
                f"the tenant has {use.files} files, and files.max_files_per_tenant allows no more; delete "
                "some first"
            )
        if use.bytes + more > most:
            raise FileQuotaExceeded(
                f"the tenant's files take {use.bytes} of {most} bytes (files.max_bytes_per_tenant), and "
                f"this one needs {more} more; delete some first"
            )
        self.check_disk(more)

    def _extend(self, new: NewFile, size: int) -> int:
        """Reserve at least `size` bytes for a file that is being written; returns how many."""
        if size <= new.reserved:
            self.check_disk(size - new.size)
            return new.reserved
        with self._locked_folder(new.folder):
            self.check(new.folder, size - new.reserved)
            room = self._settings.max_bytes_per_tenant - self._use(new.folder).bytes
            return min(size + STEP_BYTES, new.reserved + room)

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
                f"the disk for files has {free // MIB} MiB left, and files.keep_free_mib "
                f"({self._settings.keep_free_mib}) must stay free",
                retry_after_s=DISK_RETRY_S,
            )

    def sweep(self, tenant_folder: Path) -> None:
        """Remove what has expired in one folder of `root`, and what killed processes have left."""
        with self._locked_folder(tenant_folder):
            self._remove_rests(tenant_folder)
            self._remove_expired(tenant_folder)

    def remove_rests(self) -> None:
        """Remove what killed processes have left in all folders."""
        for folder in sorted(paths_below(self.root, "*")):
            if (folder / TENANT).exists():
                with self._locked_folder(folder):
                    self._remove_rests(folder)

    def find_tenants(self) -> None:
        """Make folders of tenants whose files another host has stored."""
        for folder_name, tenant in self.objects.tenants():
            folder = self.folder(tenant)
            if folder.name == folder_name and not (folder / TENANT).exists():
                with self.locked(tenant):
                    pass

    def remove_tenant(self, tenant_folder: Path) -> None:
        """Remove all that a tenant has here."""
        self.objects.remove_all(tenant_folder)
        shutil.rmtree(tenant_folder, ignore_errors=True)

    # ---- one folder, whose lock the caller holds for changes

    @contextmanager
    def locked(self, tenant: str) -> Iterator[Path]:
        """Hold the lock of the tenant's folder, and remove what interrupted calls have left there."""
        folder = self.folder(tenant)
        with disk_errors_translated():
            self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
            folder.mkdir(exist_ok=True, mode=0o700)
        with self._locked_folder(folder):
            if not (folder / TENANT).exists():  # under the lock: several first files may come at once
                with disk_errors_translated():
                    self.objects.add_tenant(folder, tenant)
                    replace_file(folder / TENANT, tenant.encode())
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

    def _use(self, folder: Path) -> Use:
        stored, reserved = self.objects.use(folder), reserved_sizes(folder)
        batches = _size_of(paths_below(folder, "*batch_*/*"))
        jobs = _size_of(paths_below(folder / JOBS, "*/*"))
        return Use(stored.files + len(reserved), stored.bytes + sum(reserved) + batches + jobs)

    def _remove_expired(self, folder: Path) -> None:
        now = self._clock()
        for record in list(self.objects.records(folder)):
            if record.has_expired(now):
                self.objects.remove(folder, record.id)

    def _remove_rests(self, folder: Path) -> None:
        remove_killed(folder)
        self.objects.remove_rests(folder)


def open_store(settings: Settings) -> FileStore:
    """The store of `files.storage`. Raises `ConfigError`."""
    root, storage = files_root(settings), settings.files.storage
    if storage is None or "://" not in storage:
        return FileStore(root, settings.files)
    check_storage(storage)
    most_calls = max(1, min(MAX_CALLS, settings.api.threads // 2))
    return FileStore(root, settings.files, objects=RemoteObjects(storage, most_calls=most_calls))


def no_such_file(param: str = "file_id") -> NotFound:
    """The error for an id that no file of the tenant has."""
    return NotFound("there is no such file", param=param)


def _size_of(paths: Iterable[Path]) -> int:
    """The bytes of what batches and jobs work on, without the files that are stored.

    The input of a batch is a link to its file, so it counts once the file was deleted: when all its names
    are those of batches.
    """
    links: Counter[tuple[int, int]] = Counter()
    total = 0
    for path in paths:
        try:
            found = path.stat()
        except FileNotFoundError:  # it was removed meanwhile
            continue
        name = found.st_dev, found.st_ino
        links[name] += 1
        if links[name] == found.st_nlink:
            total += found.st_size
    return total
