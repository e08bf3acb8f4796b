"""The tools that change the files of a tenant, one at a time for each tenant."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from api.tools.files.confined_folder import ConfinedFolder, Parts, ToolFault, check_file, parts_of
from api.tools.files.editing import edited

TEMPORARY = ".stoker-write."
"""The beginning of the name of a file that is being written."""

Values = dict[str, Any]


def write_file(folder: ConfinedFolder, params: Values, cwd: Parts, limits: Values) -> Values:
    """Create or replace a file, with the folders above it. Raises `ToolFault`."""
    path, data = params["path"], params["content"].encode()
    with _locked(folder):
        _write(folder, path, cwd, data, limits)
    return {"result": "file written successfully", "path": path, "bytes": len(data)}


def edit_file(folder: ConfinedFolder, params: Values, cwd: Parts, limits: Values) -> Values:
    """Replace texts in a file. Raises `ToolFault`."""
    path = params["path"]
    with _locked(folder):
        try:
            with os.fdopen(folder.open_file(parts_of(path, cwd)), "rb") as file:
                original = file.read(limits["max_file_bytes"] + 1)
        except OSError:
            raise ToolFault(f"failed to open file: {path}") from None
        if len(original) > limits["max_file_bytes"]:
            raise ToolFault(f"file too large (max {limits['max_file_bytes']} bytes)")
        try:
            text = original.decode()
        except UnicodeDecodeError:
            raise ToolFault(f"the file is not text in UTF-8: {path}") from None
        _write(folder, path, cwd, edited(text, params["edits"]).encode(), limits)
    return {"result": "file edited successfully", "path": path, "edits_applied": len(params["edits"])}


@contextmanager
def _locked(folder: ConfinedFolder) -> Iterator[None]:
    """Wait until no other process changes the folder. The timer of the child process ends the wait."""
    fcntl.flock(folder.root, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(folder.root, fcntl.LOCK_UN)


def _write(folder: ConfinedFolder, path: str, cwd: Parts, data: bytes, limits: Values) -> None:
    """Write a file under another name, and rename it. Raises `ToolFault`."""
    parts = parts_of(path, cwd)
    if not parts:
        raise ToolFault(f"failed to write file: {path}")
    if any(not name.isprintable() or name.startswith(TEMPORARY) for name in parts):
        raise ToolFault("the path has characters that cannot be printed, or a reserved name")
    if len(data) > limits["max_file_bytes"]:
        raise ToolFault(f"file too large ({len(data)} bytes, max {limits['max_file_bytes']})")
    try:
        _check_room(folder, parts, len(data), limits)
        with folder.folder(parts[:-1], create=True) as parent:
            with suppress(FileNotFoundError):
                check_file(os.stat(parts[-1], dir_fd=parent, follow_symlinks=False))
            temporary = f"{TEMPORARY}{os.getpid()}"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            opened = os.open(temporary, flags, 0o600, dir_fd=parent)
            try:
                with os.fdopen(opened, "wb") as file:
                    file.write(data)
                os.rename(temporary, parts[-1], src_dir_fd=parent, dst_dir_fd=parent)
            except OSError:
                os.unlink(temporary, dir_fd=parent)
                raise
    except OSError:
        raise ToolFault(f"failed to write file: {path}") from None


def _check_room(folder: ConfinedFolder, parts: Parts, size: int, limits: Values) -> None:
    """Check the limits of the tenant's folder, and remove what an interrupted call has left."""
    used = count = 0
    missing = {"/".join(parts[:length]) for length in range(1, len(parts) + 1)}
    for entry in folder.walk((), 0, frozenset()):
        if entry is None:
            raise ToolFault("the folder has too many files, or is too deep")
        *above, name = entry.path.split("/")
        if name.startswith(TEMPORARY) and not entry.is_dir:
            with folder.folder(tuple(above)) as parent:
                os.unlink(name, dir_fd=parent)
            continue
        count += 1
        if entry.path in missing:
            missing.remove(entry.path)
        if entry.path != "/".join(parts):
            used += entry.size
    if used + size > limits["max_bytes"]:
        raise ToolFault(f"the limit of {limits['max_bytes']} bytes for all files is reached")
    if count + len(missing) > limits["max_files"]:
        raise ToolFault(f"the limit of {limits['max_files']} files and folders is reached")
