"""The folders of jobs in the tenants' folders (`generation.job_folder`): made, tidied and removed.

They count for the tenant's quota. A job's uploads are removed when it has ended; its results stay as long as
Redis knows it.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from api.files.disk_objects import disk_errors_translated
from api.files.new_file import NewFile
from api.files.paths_below import paths_below
from api.files.store import FileStore
from generation.job_folder import JOBS, PARTIAL
from scheduler.ledger import Ledger

UPLOAD = "in-"
"""What the names of uploads begin with in the folder of a job."""

LEAST_RESULT_BYTES = 64 * 1024
"""What has to be free for the results of a job, whose size is not known before."""

UNKNOWN_S = 60.0
"""After its last change, until the folder of a job that Redis does not know is removed."""


class JobFolders:
    """All methods do I/O and are thread-safe, over all processes of a host."""

    def __init__(self, store: FileStore, ledger: Ledger, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._ledger = ledger
        self._clock = clock

    def add(self, tenant: str, id: str, uploads: Mapping[str, NewFile]) -> None:
        """Make the folder of a job with these uploads, by name.

        Raises `FileQuotaExceeded` if there is no room for a result, `StorageFull`.
        """
        with self._store.locked(tenant) as folder, disk_errors_translated():
            if not uploads:  # else there was room for them
                self._store.check(folder, LEAST_RESULT_BYTES)
            path = folder / JOBS / id
            path.mkdir(mode=0o700, parents=True)
            for name, upload in uploads.items():
                upload.move_to(path / name)

    def tidy(self, tenant: str, id: str) -> bool:
        """Remove what the job needs no more: everything if it was not admitted. False while it runs.

        Raises `StorageUnavailable`.
        """
        return self._tidy(self._store.folder(tenant), [id], 0.0)

    def clear(self, tenant: str, id: str) -> None:
        """Remove the files of a job that was deleted; what its engine still writes is left to the sweep."""
        path = self._store.folder(tenant) / JOBS / id
        for file in paths_below(path, "*"):
            file.unlink(missing_ok=True)

    def sweep(self, tenant_folder: Path) -> None:
        """The same for all jobs of a tenant. Raises `StorageUnavailable`.

        The job of a folder that has just changed may be admitted at this moment, so it stays.
        """
        if ids := [path.name for path in paths_below(tenant_folder / JOBS, "*")]:
            self._tidy(tenant_folder, ids, UNKNOWN_S)

    def _tidy(self, tenant_folder: Path, ids: Sequence[str], older_than_s: float) -> bool:
        """Return whether none of these jobs waits or runs."""
        have_ended = True
        for id, state in zip(ids, self._ledger.states(ids), strict=True):
            path = tenant_folder / JOBS / id
            if state is None:
                with suppress(FileNotFoundError):
                    if not older_than_s or path.stat().st_mtime <= self._clock() - older_than_s:
                        shutil.rmtree(path, ignore_errors=True)
            elif state[0].is_terminal:
                for rest in [*paths_below(path, f"{UPLOAD}*"), *paths_below(path, f"*{PARTIAL}")]:
                    rest.unlink(missing_ok=True)
            else:
                have_ended = False
        return have_ended
