"""Carries out the downloads and removals of one worker: files of models that are added and removed."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from functools import partial

from backends.base import CancellationToken, LoadError
from config.hub_artifact import HubArtifact
from config.settings import Settings
from fleet.file_work import FileWork, artifacts_of
from fleet.fleet import Fleet
from store.errors import StokerError
from workers.downloads.download import local_artifacts
from workers.downloads.latest_report import LatestReport
from workers.downloads.records import FOLDER, DownloadRecords
from workers.downloads.removal import Deleted, delete_artifacts
from workers.retry import Retry

logger = logging.getLogger("workers")

MAX_AT_ONCE = 4
"""Downloads of one worker that run; further ones wait."""

REPORT_INTERVAL_S = 0.5
OLD_WORK = ("load_failed", "another version of the platform began this: add the model again")


class FileOperations:
    """Downloads and removes; each operation has a thread of its own. Any thread may call the methods."""

    def __init__(self, worker: str, settings: Settings, fleet: Fleet) -> None:
        self._worker = worker
        self._settings = settings
        self._fleet = fleet
        self._retry = Retry()
        self._turns = threading.Semaphore(MAX_AT_ONCE)
        self._under_way: dict[str, tuple[CancellationToken, float]] = {}
        self._lock = threading.Lock()
        self._stopped = False

    def begin(self, operation: str) -> str:
        """Begin what an operation needs of this worker, if that was not begun here before."""
        with self._lock:
            if operation in self._under_way or self._stopped:
                return "already here"
            token = CancellationToken()
            self._under_way[operation] = token, time.monotonic()
        threading.Thread(target=self._run, args=(operation, token), daemon=True, name=operation).start()
        return "begun"

    def reconcile(self, operations: Collection[str], older_than_s: float) -> None:
        """Begin the operations that a heartbeat lists, and cancel others that are older: they have ended."""
        now = time.monotonic()
        with self._lock:
            known = dict(self._under_way)
        for operation, (token, began_at) in known.items():
            if operation not in operations and now - began_at > older_than_s:
                threading.Thread(target=token.cancel, daemon=True).start()  # it waits for a process
        for operation in operations:
            if operation not in known:
                self.begin(operation)

    def stop(self) -> None:
        """Stop all: the parts that were written stay, and another worker, or the next run, continues."""
        with self._lock:
            self._stopped = True
            tokens = [token for token, _ in self._under_way.values()]
        self._retry.stop()
        for token in tokens:
            token.cancel()

    def _run(self, operation: str, token: CancellationToken) -> None:
        try:
            work = self._retry.retry_until_stopped(lambda: self._work(operation))
            if isinstance(work, FileWork) and work.kind == "remove":
                self._remove(operation, work)
            elif isinstance(work, FileWork):
                self._download(operation, work, token)
            elif work == OLD_WORK:
                self._report(operation, OLD_WORK)
                self._retry.retry_until_stopped(
                    lambda: self._fleet.removal_ended(operation, self._worker, reason=OLD_WORK[1])
                )
        except StokerError as error:
            logger.warning("%s is left to its next look: %s", operation, error.message)
        except Exception:
            logger.exception("%s failed; the heartbeat begins it again", operation)
            time.sleep(REPORT_INTERVAL_S)
        finally:
            with self._lock:
                self._under_way.pop(operation, None)

    def _work(self, operation: str) -> FileWork | tuple[str, str] | None:
        try:
            return self._fleet.file_work(self._worker, operation)
        except ValueError:
            return OLD_WORK

    # ---- downloads

    def _download(self, operation: str, work: FileWork, token: CancellationToken) -> None:
        self._progress(operation, token, 0.0, "waiting for other downloads", None)
        with self._turns:
            if token.cancelled:
                return
            failure = self._get(operation, work, token)
        if not token.cancelled:
            self._report(operation, failure)

    def _get(self, operation: str, work: FileWork, token: CancellationToken) -> tuple[str, str]:
        """Get the files. Returns what to report: a code and a message, both "" for success."""
        hub, folder = self._settings.hub, self._settings.data_dir / FOLDER
        try:
            model = work.dynamic_model(self._settings).definition
            with LatestReport(partial(self._progress, operation, token), REPORT_INTERVAL_S) as progress:
                local_artifacts(work.artifacts, model, hub, token, progress.take, records=folder)
        except LoadError as error:
            return error.code, str(error)
        except ValueError as error:
            return "load_failed", f"the model cannot be used on this host: {error}"
        return "", ""

    def _progress(
        self, operation: str, token: CancellationToken, done: float, stage: str, left_s: float | None
    ) -> None:
        with suppress(StokerError):  # the download goes on while Redis is unreachable
            if not self._fleet.download_progress(operation, self._worker, done, stage, left_s):
                token.cancel()

    def _report(self, operation: str, failure: tuple[str, str]) -> None:
        self._retry.retry_until_stopped(lambda: self._fleet.download_ended(operation, self._worker, failure))
        if failure[0]:
            logger.warning("%s failed: %s", operation, failure[1])

    # ---- removals

    def _remove(self, operation: str, work: FileWork) -> None:
        records = DownloadRecords(self._settings.data_dir / FOLDER)
        try:
            deleted = delete_artifacts(work.artifacts, self._users, records)
        except OSError as error:
            deleted = Deleted(reason=f"files cannot be deleted: {error.strerror or error}")
        self._retry.retry_until_stopped(
            lambda: self._fleet.removal_ended(
                operation, self._worker, deleted.files, deleted.size, reason=deleted.reason
            )
        )
        logger.info("%s: %d files of %s were deleted", operation, deleted.files, work.model)

    def _users(self) -> list[HubArtifact]:
        """The artifacts of all models, and of the downloads under way, as Redis has them now."""
        return self._retry.retry_until_stopped(lambda: [*self._used()])

    def _used(self) -> Iterator[HubArtifact]:
        self._fleet.catalogue.refresh()
        for model in self._fleet.catalogue.models.values():
            with suppress(ValueError):
                yield from artifacts_of(model)
        yield from self._fleet.artifacts_under_way()
