"""Finds paths in folders from which other threads and processes remove files and folders meanwhile."""

from __future__ import annotations

import os
from collections.abc import Iterator
from fnmatch import filter as matching
from pathlib import Path


def paths_below(folder: Path, pattern: str) -> Iterator[Path]:
    """The paths that match a pattern, a part of it in each folder; a folder that vanishes meanwhile has none.

    `Path.glob` raises `FileNotFoundError` for such a folder before Python 3.13, and `glob.glob` takes each
    error for an empty folder. Raises `OSError` for a folder that exists and cannot be read as a whole.
    """
    own, _, rest = pattern.partition("/")
    try:
        names = os.listdir(folder)  # noqa: PTH208 - a list is whole; an iterator may end early by an error
    except (FileNotFoundError, NotADirectoryError):
        return
    for name in matching(names, own):
        if rest:
            yield from paths_below(folder / name, rest)
        else:
            yield folder / name
