"""Stores identical files of an installed environment once.

A wheel cannot hold symbolic links. So the wheel of llama-cpp-python has each library under each of its names
(libllama.so, libllama.so.0, libllama.so.0.5.0), in two folders.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

LEAST_BYTES = 64 * 1024
"""Smaller files are left as they are: reading them costs more than the space that they take."""


def link_identical_files(folder: Path) -> int:
    """Replace all but one of each group of identical files below `folder` by hard links to that one.

    A file of another owner, mode or file system stays as it is, and so do symbolic links. Returns the bytes
    of the replaced files. Raises `OSError`; each file is complete at any moment.
    """
    saved = 0
    for group in _same_size(folder):
        first: dict[str, Path] = {}
        for path in group:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            original = first.setdefault(digest, path)
            if original is not path and not original.samefile(path):
                saved += path.stat().st_size
                _replace_by_link(path, original)
    return saved


def _same_size(folder: Path) -> Iterable[list[Path]]:
    """The large files below a folder that may be identical, in groups, each sorted by path."""
    groups: defaultdict[tuple[int, ...], list[Path]] = defaultdict(list)
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        if stat.S_ISREG(status.st_mode) and status.st_size >= LEAST_BYTES:
            key = (status.st_size, status.st_mode, status.st_uid, status.st_gid, status.st_dev)
            groups[key].append(path)
    return (group for group in groups.values() if len(group) > 1)


def _replace_by_link(path: Path, original: Path) -> None:
    """Replace the directory entry alone: the file itself may be linked from the cache of uv."""
    temporary = path.with_name(f".{path.name}.link")
    try:
        os.link(original, temporary)
        temporary.replace(path)
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()
