"""Removes files that have expired, and those of tenants that are gone; once a minute, in every API process.

A folder is removed when its tenant has been unknown for `GRACE_S`: before the name of a removed tenant is
free again (`api.access.tenant_changes.MIN_RESERVED_S`), but not at once, since a process may have started
with a wrong configuration.
"""

from __future__ import annotations

import asyncio
import logging
import math
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from api.access.registry import AccessRegistry
from api.files.job_folders import JobFolders
from api.files.paths_below import paths_below
from api.files.store import TENANT, FileStore
from scheduler.batches import BatchStore

logger = logging.getLogger("api")

INTERVAL_S = 60.0
GRACE_S = 600.0
ORPHAN_S = 3600.0
"""After its last change, until the folder of a batch without a record is removed."""

UNKNOWN = "unknown"
"""An empty file whose time is the first sweep that did not know the folder's tenant."""


class FileSweeper:
    """Sweeps the folders of all tenants."""

    def __init__(  # noqa: PLR0913, PLR0917 - all that is swept
        self,
        store: FileStore,
        registry: AccessRegistry,
        batches: BatchStore,
        jobs: JobFolders,
        is_batch_id: Callable[[str], bool],
        clock: Callable[[], float] = time.time,
        note_mark: Callable[[], None] = lambda: None,
    ) -> None:
        """`note_mark` tells the workers which folder it is (`fleet.shared_files`)."""
        self._store = store
        self._registry = registry
        self._batches = batches
        self._jobs = jobs
        self._is_batch_id = is_batch_id
        self._clock = clock
        self._note_mark = note_mark

    async def run(self) -> None:
        """Sweep until cancelled; first remove what the processes before have left."""
        await self._safely(self._note_mark)
        await self._safely(self._store.remove_rests)
        while True:
            await asyncio.sleep(INTERVAL_S)
            await self._safely(self._note_mark)
            await self._safely(self.sweep)

    async def _safely(self, sweep: Callable[[], None]) -> None:
        try:
            await asyncio.to_thread(sweep)
        except Exception:
            logger.exception("stored files cannot be cleaned up")

    def sweep(self) -> None:
        """Look at every folder once. Does nothing while the tenants in Redis are not known."""
        if not self._registry.is_complete:
            return
        self._store.find_tenants()
        known = {self._store.folder(name) for name in self._registry.identities.tenants}
        for folder in sorted(paths_below(self._store.root, "*")):
            if not (folder / TENANT).exists():
                continue
            if folder in known:
                (folder / UNKNOWN).unlink(missing_ok=True)
                self._store.sweep(folder)
                self._remove_old_batches(folder)
                self._jobs.sweep(folder)
            else:
                self._remove_later(folder)

    def _remove_later(self, folder: Path) -> None:
        mark = folder / UNKNOWN
        if not mark.exists():
            mark.write_text(f"{int(self._clock())}\n")
        elif float(mark.read_text() or self._clock()) + GRACE_S <= self._clock():
            tenant = (folder / TENANT).read_text()
            logger.info("the files of a removed tenant are deleted: %s", tenant)
            for path in self._batch_folders(folder):
                self._batches.delete(path.name, tenant, also_active=True)
            self._store.remove_tenant(folder)

    def _remove_old_batches(self, folder: Path) -> None:
        """Remove the folders of batches whose records are gone, or were never written."""
        before = self._clock() - ORPHAN_S
        paths = [path for path in self._batch_folders(folder) if _changed_at(path) <= before]
        exist = self._batches.exist([path.name for path in paths])
        for path, exists in zip(paths, exist, strict=True):
            if not exists:
                shutil.rmtree(path, ignore_errors=True)

    def _batch_folders(self, folder: Path) -> list[Path]:
        return [path for path in paths_below(folder, "*") if self._is_batch_id(path.name)]


def _changed_at(path: Path) -> float:
    """The time of the last change; infinite when the path was removed meanwhile."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return math.inf
