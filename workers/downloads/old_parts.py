"""Deletes the parts of downloads that were given up: cancelled, or failed, and not begun again."""

from __future__ import annotations

import fcntl
import logging
import os
import time
from contextlib import suppress
from pathlib import Path

from fleet.hub_cache import cache_folder
from workers.downloads.records import LOCK

logger = logging.getLogger("workers")

KEPT_S = 7 * 86400.0
"""How long a part is kept after its last byte."""


def remove_old_parts(records: Path) -> None:
    """Delete the parts of recorded files that nothing has written to for `KEPT_S`, with their records."""
    with suppress(OSError):
        for record in records.glob("models--*/*"):
            blob = cache_folder() / record.parent.name / "blobs" / record.name
            if record.name == LOCK or blob.exists():
                continue
            with suppress(OSError):
                if time.time() - record.stat().st_mtime > KEPT_S:
                    _remove(blob.with_name(f"{blob.name}.part"), record)


def _remove(part: Path, record: Path) -> None:
    """Delete one part, unless a download has its lock or has written to it lately."""
    lock = part.with_name(f"{part.name}.lock")
    part.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if part.exists() and time.time() - part.stat().st_mtime <= KEPT_S:
            return
        part.unlink(missing_ok=True)
        record.unlink(missing_ok=True)
        lock.unlink(missing_ok=True)
        logger.info("%s was not continued for a week, and was deleted", part)
    finally:
        os.close(descriptor)
