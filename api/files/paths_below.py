"""Finds paths in folders from which other threads and processes remove files and folders meanwhile."""

from __future__ import annotations

import glob
from collections.abc import Iterator
from pathlib import Path


def paths_below(folder: Path, pattern: str) -> Iterator[Path]:
    """The paths that match a pattern (`glob`), hidden ones too; a folder that vanishes meanwhile has none.

    `Path.glob` and `Path.iterdir` raise `FileNotFoundError` for such a folder before Python 3.13.
    """
    for name in glob.iglob(pattern, root_dir=folder, include_hidden=True):  # noqa: PTH207 - see above
        yield folder / name
