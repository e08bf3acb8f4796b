"""A folder that no path leaves. It imports only the standard library: a child process runs it.

Each component of a path is opened relative to the folder before it and never followed if it is a link, so
that no change of the folder meanwhile leads out of it. A file is opened only if it is a regular one with one
name: a device or a pipe could block, a second name could belong to a file elsewhere.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

MAX_PATH = 1024
MAX_DEPTH = 32
MAX_VISITED = 100_000
"""Names that one walk reads."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

Parts = tuple[str, ...]
"""The components of a path below the folder; none: the folder itself."""


class ToolFault(Exception):
    """Raised when a tool cannot do what it is asked for; the text is for the client."""


def parts_of(path: str, start: Parts = ()) -> Parts:
    """The components of a client's path, relative to `start`; `/` is the folder. Raises `ToolFault`."""
    if "\0" in path or len(path) > MAX_PATH:
        raise ToolFault(f"the path is longer than {MAX_PATH} characters, or has a NUL")
    parts = [] if path.startswith("/") else list(start)
    for name in path.split("/"):
        if name == "..":
            if not parts:
                raise ToolFault(f"the path leads out of the folder: {path}")
            parts.pop()
        elif name not in ("", "."):
            parts.append(name)
    if len(parts) > MAX_DEPTH:
        raise ToolFault(f"the path has more than {MAX_DEPTH} components")
    return tuple(parts)


@dataclass(frozen=True)
class Entry:
    """A file or a folder, with its path relative to where the walk began."""

    path: str
    is_dir: bool
    size: int = 0


class ConfinedFolder:
    """The folder, by its descriptor. All methods raise `OSError` as the system does."""

    def __init__(self, root: int) -> None:
        self.root = root

    @classmethod
    def open(cls, directory: str, name: str) -> ConfinedFolder:
        """Open `name` in `directory`, both of which are made if they are missing."""
        os.makedirs(directory, mode=0o700, exist_ok=True)  # noqa: PTH103 - pathlib is slow to import
        outer = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            with suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=outer)
            return cls(os.open(name, _FOLDER, dir_fd=outer))
        finally:
            os.close(outer)

    @contextmanager
    def folder(self, parts: Parts, *, create: bool = False) -> Iterator[int]:
        """The descriptor of a folder below, which is made with those above it if `create`."""
        opened = os.dup(self.root)
        try:
            for name in parts:
                if create:
                    with suppress(FileExistsError):
                        os.mkdir(name, 0o700, dir_fd=opened)
                below = os.open(name, _FOLDER, dir_fd=opened)
                os.close(opened)
                opened = below
            yield opened
        finally:
            os.close(opened)

    def is_folder(self, parts: Parts) -> bool:
        """Whether this is a folder, reached without links."""
        try:
            with self.folder(parts):
                return True
        except OSError:
            return False

    def open_file(self, parts: Parts) -> int:
        """The descriptor of a file, for reading. Raises `OSError` for what is no regular file of one name."""
        if not parts:
            raise IsADirectoryError
        with self.folder(parts[:-1]) as parent:
            check_file(os.stat(parts[-1], dir_fd=parent, follow_symlinks=False))  # before a device is opened
            opened = os.open(parts[-1], _FILE, dir_fd=parent)
        try:
            check_file(os.fstat(opened))
        except OSError:
            os.close(opened)
            raise
        return opened

    def walk(self, start: Parts, max_depth: int, skipped: frozenset[str]) -> Iterator[Entry | None]:
        """The files and folders below `start`, by name; None for what could not be read.

        Folders with a name in `skipped` are listed and not entered; links, devices and pipes are left out.
        """
        visited = 0

        def visit(folder: int, prefix: str, depth: int) -> Iterator[Entry | None]:
            nonlocal visited
            with os.scandir(folder) as scan:
                names = []
                for found in scan:
                    visited += 1
                    if visited > MAX_VISITED:
                        break
                    if found.is_dir(follow_symlinks=False):
                        names.append((found.name, True, 0))
                    elif found.is_file(follow_symlinks=False):
                        names.append((found.name, False, found.stat(follow_symlinks=False).st_size))
            for name, is_dir, size in sorted(names):
                yield Entry(prefix + name, is_dir, size)
                if not is_dir or name in skipped or (max_depth and depth >= max_depth):
                    continue
                if depth >= MAX_DEPTH or visited > MAX_VISITED:
                    yield None
                    continue
                try:
                    below = os.open(name, _FOLDER, dir_fd=folder)
                except OSError:
                    yield None
                    continue
                try:
                    yield from visit(below, f"{prefix}{name}/", depth + 1)
                finally:
                    os.close(below)
            if visited > MAX_VISITED:
                yield None

        with self.folder(start) as opened:
            yield from visit(opened, "", 1)


def check_file(status: os.stat_result) -> None:
    """Raise `OSError` for what is no regular file, or has a further name (a hard link)."""
    if not stat.S_ISREG(status.st_mode):
        raise OSError("no regular file")
    if status.st_nlink > 1:
        raise OSError("a file with several names")
