"""Files as objects of a bucket, through fsspec: `<prefix>/<folder>/<id>`, `<id>.json` and `tenant`, its name.

Credentials, region and endpoint are those of the environment (`AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT_URL`, ...),
as every tool of AWS reads them. No list is cached; a record never changes, so those of lists are.
"""

from __future__ import annotations

import importlib.util
import logging
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, cast

from api.files.known_records import KnownRecords
from api.files.objects import Use
from api.files.outage import Outages, unavailable
from api.files.record import FileRecord, is_file_id, read_record
from config.errors import ConfigError
from store.errors import StokerError

logger = logging.getLogger("api")

INSTALL = ".venv/bin/python -m pip install -e '.[s3]'"
PART_BYTES = 8 * 1024 * 1024
"""What is sent at a time; S3 takes parts of at least 5 MiB."""

TENANT = "tenant"
SUFFIX = ".json"

REST_AGE_S = 86_400.0
"""After which a content without a record is the rest of an interrupted upload, also of another host."""

RESTS_S = 3600.0
"""How often the rests of a tenant are looked for."""

S3_OPTIONS = {
    "use_listings_cache": False,
    "default_block_size": PART_BYTES,
    "config_kwargs": {"connect_timeout": 5, "read_timeout": 10, "retries": {"max_attempts": 1}},
}
"""Of the client. With `S3_RETRIES` a call of a bucket that does not answer ends after about a minute."""

S3_RETRIES = 2
"""How often s3fs tries what the client has tried again already."""

MAX_CALLS = 16
"""Of a process at a time, unless it has fewer than 32 threads: half of them are for other requests."""


def check_storage(url: str) -> None:
    """Check that the packages for a URL are there. Raises `ConfigError`."""
    if importlib.util.find_spec("s3fs") is None:
        raise ConfigError(f"files.storage: {url} needs packages that are not installed: run `{INSTALL}`")


class RemoteObjects:
    """Stores contents and records in a bucket. `clock`: Unix time; at most `most_calls` at a time."""

    def __init__(self, url: str, clock: Callable[[], float] = time.time, most_calls: int = MAX_CALLS) -> None:
        self._outages = Outages(most_calls)
        self._url = url
        self._clock = clock
        self._opening = threading.Lock()
        self._opened: tuple[Any, str] | None = None
        self._known = KnownRecords()
        self._rests_at: dict[str, float] = {}

    def add_tenant(self, folder: Path, tenant: str) -> None:
        """Write the tenant's name into the bucket."""
        with self._translated() as (fs, root):
            fs.pipe_file(f"{root}/{folder.name}/{TENANT}", tenant.encode())

    def tenants(self) -> Iterator[tuple[str, str]]:
        """Read the folders and names of all tenants from the bucket."""
        found = []
        with self._translated() as (fs, root):
            for name in self._names(fs, root):
                try:
                    found.append((name, fs.cat_file(f"{root}/{name}/{TENANT}").decode()))
                except FileNotFoundError:
                    continue
        yield from found

    def prepare(self, folder: Path, id: str, source: Path) -> None:
        """Send the content to the bucket."""
        with self._translated(takes_long=True) as (fs, root):
            target = fs.open(f"{root}/{folder.name}/{id}", "wb", block_size=PART_BYTES)
            with source.open("rb") as file, target:
                shutil.copyfileobj(file, target, PART_BYTES)

    def place(self, folder: Path, record: FileRecord, source: Path, *, keep: bool) -> None:  # noqa: ARG002
        """Send the record to the bucket."""
        with self._translated() as (fs, root):
            fs.pipe_file(f"{root}/{folder.name}/{record.id}{SUFFIX}", record.to_json())

    def record(self, folder: Path, id: str) -> FileRecord | None:
        """Read the record of a file; None if there is none."""
        with self._translated() as (fs, root):
            try:
                return read_record(fs.cat_file(f"{root}/{folder.name}/{id}{SUFFIX}"))
            except (FileNotFoundError, ValueError, LookupError, TypeError):
                return None

    def records(self, folder: Path) -> Iterator[FileRecord]:
        """Read the records of a tenant's files."""
        with self._translated() as (fs, root):
            ids = [name.removesuffix(SUFFIX) for name in self._list(fs, root, folder) if _is_record(name)]
            found = self._known.of(ids, partial(_read_records, fs, f"{root}/{folder.name}"))
        yield from found

    def use(self, folder: Path) -> Use:
        """Count a tenant's files and their bytes with one list, without the records."""
        with self._translated() as (fs, root):
            found = self._list(fs, root, folder)
        ids = [name.removesuffix(SUFFIX) for name in found if _is_record(name)]
        return Use(len(ids), sum(int(found.get(id, {}).get("size") or 0) for id in ids))

    def open(self, folder: Path, id: str) -> BinaryIO:
        """Open the content of a file. Raises `FileNotFoundError`."""
        with self._translated(may_miss=True) as (fs, root):
            return cast(BinaryIO, fs.open(f"{root}/{folder.name}/{id}", "rb", block_size=PART_BYTES))

    def save_to(self, folder: Path, id: str, target: Path) -> None:
        """Copy the content to `target`. Raises `FileNotFoundError`."""
        with self.open(folder, id) as content, target.open("wb") as file, self._translated(takes_long=True):
            shutil.copyfileobj(content, file, PART_BYTES)

    def remove(self, folder: Path, id: str) -> None:
        """Remove a file and its record; a missing file is no error."""
        with self._translated() as (fs, root):
            for name in (f"{id}{SUFFIX}", id):
                try:
                    fs.rm_file(f"{root}/{folder.name}/{name}")
                except FileNotFoundError:
                    continue

    def remove_rests(self, folder: Path) -> None:
        """Remove contents older than a day that have no record; runs once an hour."""
        now = self._clock()
        if now - self._rests_at.get(folder.name, float("-inf")) < RESTS_S:
            return
        self._rests_at[folder.name] = now
        with self._translated() as (fs, root):
            found = self._list(fs, root, folder)
            for name, entry in found.items():
                age_s = now - _written_at(entry, now)
                if is_file_id(name) and f"{name}{SUFFIX}" not in found and age_s > REST_AGE_S:
                    fs.rm_file(f"{root}/{folder.name}/{name}")

    def remove_all(self, folder: Path) -> None:
        """Remove all files of a removed tenant."""
        with self._translated() as (fs, root):
            if fs.exists(f"{root}/{folder.name}"):
                fs.rm(f"{root}/{folder.name}", recursive=True)

    def _list(self, fs: Any, root: str, folder: Path) -> dict[str, dict[str, Any]]:
        """The objects of a tenant by their names."""
        try:
            found = fs.ls(f"{root}/{folder.name}", detail=True)
        except FileNotFoundError:
            return {}
        return {str(entry["name"]).rpartition("/")[2]: entry for entry in found}

    def _names(self, fs: Any, root: str) -> list[str]:
        try:
            return [str(path).rstrip("/").rpartition("/")[2] for path in fs.ls(root, detail=False)]
        except FileNotFoundError:
            return []

    @contextmanager
    def _translated(self, *, may_miss: bool = False, takes_long: bool = False) -> Iterator[tuple[Any, str]]:
        """The file system and the path of the prefix.

        Raises `StorageUnavailable` for errors of the bucket, and while it is in an outage;
        `FileNotFoundError` if the object `may_miss`. A transfer `takes_long`: it is none of the calls that
        are bounded.
        """
        try:
            with nullcontext() if takes_long else self._outages.call():
                yield self._file_system()
        except StokerError:
            raise
        except Exception as error:
            if may_miss and isinstance(error, FileNotFoundError):
                raise
            logger.warning("a request to the files' bucket failed: %s: %s", type(error).__name__, error)
            raise unavailable() from error

    def _file_system(self) -> tuple[Any, str]:
        """Made at the first call: neither its thread nor its connections survive a fork."""
        with self._opening:
            if self._opened is None:
                import fsspec  # type: ignore[import-untyped]  # noqa: PLC0415 - an extra

                options = S3_OPTIONS if self._url.startswith("s3:") else {}
                fs, root = fsspec.core.url_to_fs(self._url, **options)
                if hasattr(fs, "retries"):
                    fs.retries = S3_RETRIES
                self._opened = (fs, root.rstrip("/"))
            return self._opened


def _is_record(name: str) -> bool:
    return name.endswith(SUFFIX) and is_file_id(name.removesuffix(SUFFIX))


def _read_records(fs: Any, folder: str, ids: list[str]) -> list[bytes]:
    """The stored records of files; those that are deleted meanwhile are missing."""
    found: dict[str, bytes] = fs.cat([f"{folder}/{id}{SUFFIX}" for id in ids], on_error="omit")
    return list(found.values())


def _written_at(entry: dict[str, Any], now: float) -> float:
    """When an object was written (Unix seconds)."""
    written = entry.get("LastModified") or entry.get("created")
    if isinstance(written, datetime):
        return written.timestamp()
    return written if isinstance(written, float) else now
