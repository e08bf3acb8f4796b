"""The folder of one tenant's saved states: names, links, quota, and no half files.

All files are opened relative to the folder's descriptor and never through a link. A new file has a temporary
name, which no client can give, until it is whole.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import orjson

from backends.base import GenerationError
from config.settings import StateSettings
from generation.generation import CacheOwner
from generation.state_names import is_valid_name

TEMPORARY = ".part-"
LOCK = ".lock"
OLD_PART_S = 3600.0
"""A temporary file of this age is left from a worker that ended."""

NO_FILE = "there is no saved state of this name"


def folder_name(owner: CacheOwner) -> str:
    """The name of the folder of a tenant; the names of unknown tenants have folders of their own."""
    return hashlib.sha256(orjson.dumps([owner.tenant, owner.unknown_name])).hexdigest()[:32]


class TenantFolder:
    """The states of one tenant. Every method may block, and raises `OSError` and `GenerationError`."""

    def __init__(self, settings: StateSettings, owner: CacheOwner) -> None:
        assert settings.directory is not None  # noqa: S101 - otherwise no state is saved
        self._settings = settings
        self._path = Path(settings.directory) / "tenants" / folder_name(owner)

    @contextmanager
    def new_file(self, name: str) -> Iterator[int]:
        """A descriptor of an empty file, which gets the name at the end of the block unless that raises.

        Raises state_quota_exceeded then if the tenant's files would be too many or too large.
        """
        _check(name)
        with self._open() as folder:
            temporary = TEMPORARY + secrets.token_hex(8)
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            file = os.open(temporary, flags, 0o600, dir_fd=folder)
            try:
                yield file
                with _locked(folder):
                    self._check_quota(folder, name, os.fstat(file).st_size)
                    os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
                os.fsync(folder)
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary, dir_fd=folder)
                raise
            finally:
                os.close(file)

    @contextmanager
    def file(self, name: str) -> Iterator[int]:
        """A descriptor of a state. Raises state_not_found if there is none, or no plain file of ours."""
        _check(name)
        with self._open() as folder:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            try:
                file = os.open(name, flags, dir_fd=folder)
            except OSError as error:
                raise GenerationError("state_not_found", NO_FILE) from error
            try:
                if not _is_plain(os.fstat(file)):
                    raise GenerationError("state_not_found", NO_FILE)
                yield file
            finally:
                os.close(file)

    def delete(self, name: str) -> None:
        """Delete a state. Raises state_not_found if there is none."""
        _check(name)
        with self._open() as folder, _locked(folder):
            try:
                if not _is_plain(os.stat(name, dir_fd=folder, follow_symlinks=False)):
                    raise GenerationError("state_not_found", NO_FILE)
                os.unlink(name, dir_fd=folder)
            except FileNotFoundError as error:
                raise GenerationError("state_not_found", NO_FILE) from error

    def check_room(self, name: str) -> None:
        """Raise state_quota_exceeded if no file of this name has room, whatever its size."""
        _check(name)
        with self._open() as folder:
            self._check_quota(folder, name, 1)

    def _check_quota(self, folder: int, name: str, size: int) -> None:
        count = 1
        for entry in os.scandir(folder):
            with suppress(FileNotFoundError):  # another save has just removed its part
                found = entry.stat(follow_symlinks=False)
                if entry.name.startswith(TEMPORARY):
                    if found.st_mtime < time.time() - OLD_PART_S:
                        os.unlink(entry.name, dir_fd=folder)
                elif entry.name not in (name, LOCK):
                    count += 1
                    size += found.st_size
        most, bytes_ = self._settings.max_files_per_tenant, self._settings.max_bytes_per_tenant
        if count > most or size > bytes_:
            raise GenerationError(
                "state_quota_exceeded",
                f"the tenant's saved states would be {count} files of {size} bytes together, and {most} files"
                f" of {bytes_} bytes are allowed: delete one (action=erase with its filename), or save under"
                " its name",
            )

    @contextmanager
    def _open(self) -> Iterator[int]:
        """The descriptor of the folder, which is the owner's alone."""
        self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            found = os.fstat(folder)
            if found.st_uid != os.geteuid() or found.st_mode & 0o077:
                raise GenerationError("engine_error", "the folder of saved states is open to other users")
            yield folder
        finally:
            os.close(folder)


@contextmanager
def _locked(folder: int) -> Iterator[None]:
    """Hold the folder's lock, which all workers of the host respect, for a few system calls."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    lock = os.open(LOCK, flags, 0o600, dir_fd=folder)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _is_plain(found: os.stat_result) -> bool:
    """Whether it is a file of ours, without a second name."""
    return stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and found.st_nlink == 1


def _check(name: str) -> None:
    if not is_valid_name(name):  # the API has refused it
        raise GenerationError("invalid_prompt", "Invalid filename")
