"""The log of one process: appended to by the process, bounded in size by the supervisor.

The process keeps its descriptor open for as long as it runs, so its file cannot be renamed: what it holds is
copied, and the file is truncated. In append mode the process continues at the new end. A line that is written
between the copy and the truncation is lost.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

MAX_LOG_BYTES = 10 * 1024 * 1024
"""Above this size the log is copied to `.1`, when it is next checked."""

OLD_LOGS = 3
"""Earlier parts that are kept: `.1` is the latest one."""

CHECK_INTERVAL_S = 2.0


@contextlib.contextmanager
def open_log(path: Path) -> Iterator[int]:
    """Open a log for appending, readable by its owner only."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rotate_log(path)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        yield handle
    finally:
        os.close(handle)


def rotate_log(path: Path) -> None:
    """Move the contents of a log that is too large into an older one; the oldest is dropped.

    Of a log that grew by more than its limit since the last check, the latest part is kept. Without space on
    the disk the contents are dropped: the log stays bounded.
    """
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return
    if size <= MAX_LOG_BYTES:
        return
    with contextlib.suppress(OSError):
        for number in range(OLD_LOGS - 1, 0, -1):
            with contextlib.suppress(FileNotFoundError):
                _old(path, number).replace(_old(path, number + 1))
        copy = os.open(_old(path, 1), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with path.open("rb") as source, os.fdopen(copy, "wb") as target:
            source.seek(max(0, size - MAX_LOG_BYTES))
            shutil.copyfileobj(source, target)
    os.truncate(path, 0)


def _old(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.{number}")
