"""Reads files with secret keys, after a look at who else may read or replace them."""

from __future__ import annotations

import os
import stat
from pathlib import Path

MAX_BYTES = 4096
"""Of a file with a key."""

ROOT_USER = 0


class KeyFileError(Exception):
    """Raised for a file or folder of keys that cannot be used; one sentence that says what to do."""


def read_private_file(path: Path) -> bytes:
    """The bytes of a file that only this user (or root, and a group that root chose) can read.

    The owner and the mode are those of the opened file, so that the file cannot be exchanged in between.
    Raises `KeyFileError`.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        message = f"{path} does not exist: create the key, or correct the path"
        raise KeyFileError(message) from None
    except OSError as error:
        raise KeyFileError(f"{path} cannot be opened ({error.strerror}): check its owner and mode") from None
    with os.fdopen(handle, "rb") as file:
        _check_owner(path, os.fstat(handle))
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise KeyFileError(f"{path} is not a regular file: give the path of a file with a key")
        # a service whose user is not root may get a key of root's by its group: 0640 root:service
        allowed = stat.S_IRWXU | (stat.S_IRGRP if found.st_uid == ROOT_USER else 0)
        if stat.S_IMODE(found.st_mode) & ~allowed:
            raise KeyFileError(
                f"{path} can be read or written by others (mode {stat.S_IMODE(found.st_mode):04o}): "
                f"run `chmod 600 {path}`"
            )
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise KeyFileError(f"{path} has more than {MAX_BYTES} bytes: it is not a key")
    return content


def check_private_folder(path: Path) -> None:
    """Raise `KeyFileError` if others could put a key into the folder, or remove one."""
    found = path.stat()
    _check_owner(path, found)
    if stat.S_IMODE(found.st_mode) & (stat.S_IWGRP | stat.S_IWOTH):
        raise KeyFileError(
            f"{path} can be written by others (mode {stat.S_IMODE(found.st_mode):04o}): "
            f"run `chmod 700 {path}`"
        )


def write_private_file(path: Path, content: bytes) -> None:
    """Create a file with mode 0600. Raises `KeyFileError`, also if the file exists."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        message = f"{path} exists already, and a key is never overwritten: choose another path"
        raise KeyFileError(message) from None
    except OSError as error:
        raise KeyFileError(f"{path} cannot be created: {error.strerror}") from None
    with os.fdopen(handle, "wb") as file:
        os.fchmod(handle, 0o600)  # whatever the umask is
        file.write(content)


def _check_owner(path: Path, found: os.stat_result) -> None:
    if found.st_uid not in (ROOT_USER, os.geteuid()):
        raise KeyFileError(
            f"{path} belongs to another user (uid {found.st_uid}), who could change it: "
            f"run `chown {os.geteuid()} {path}`"
        )
