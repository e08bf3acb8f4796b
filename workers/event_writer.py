"""Writes the events of all running jobs to Redis, one round trip for each step of an engine.

Engines emit deltas from their own threads and never wait for Redis: deltas that arrive during a write form
the next one, with adjacent pieces of text merged into one event. While Redis is unreachable writes are
repeated (they are idempotent) and deltas are buffered, up to a limit; beyond it the jobs are stopped.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from itertools import groupby

from scheduler.errors import StokerError
from scheduler.job import AppendRequest, Release
from scheduler.ledger import Ledger
from streams.events import Delta, ReasoningDelta, TextDelta
from workers.running_job import RunningJob

logger = logging.getLogger("workers")

MAX_PENDING_DELTAS = 200_000
"""Deltas buffered while Redis is unreachable; some ten minutes of a busy worker's output."""

MAX_DELTAS_PER_WRITE = 5_000
"""Redis runs one script at a time: a longer one would delay all its other clients."""

BATCH_INTERVAL_S = 0.0005
"""The least time between two writes: the jobs of one engine step emit one after another and share a write."""

RETRY_DELAYS_S = (0.05, 0.1, 0.2, 0.4, 0.5)


class EventWriter:
    """A thread between the engines and the ledger.

    `stop_job(job, code)` is called when a job has to stop, with the code fenced, cancelled, output_too_large,
    engine_error, storage_full or storage_unavailable.
    """

    def __init__(self, ledger: Ledger, stop_job: Callable[[RunningJob, str], None]) -> None:
        self._ledger = ledger
        self._stop_job = stop_job
        self._pending: deque[tuple[RunningJob, Delta | Release]] = deque()
        self._urgent = threading.Event()
        self._wake = threading.Event()
        self._idle = threading.Event()
        self._idle.set()
        self._thread = threading.Thread(target=self._run, name="event-writer", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def write(self, job: RunningJob, delta: Delta) -> None:
        """Queue a delta of a job's engine. Never waits for Redis."""
        job.note_output()
        if job.stop_code is not None:
            return
        self._put(job, delta)
        if len(self._pending) > MAX_PENDING_DELTAS:
            self._stop_job(job, "storage_unavailable")

    def end(self, job: RunningJob, release: Release) -> None:
        """Queue a job's release, after all its deltas."""
        self._put(job, release)
        self._urgent.set()

    def wait_idle(self, timeout_s: float) -> bool:
        """Wait until everything queued so far is written. False after `timeout_s`."""
        deadline = time.monotonic() + timeout_s
        while self._pending or not self._idle.is_set():
            if time.monotonic() > deadline:
                return False
            self._idle.wait(0.05)
            time.sleep(0.005)
        return True

    def _put(self, job: RunningJob, item: Delta | Release) -> None:
        self._pending.append((job, item))
        if not self._wake.is_set():
            self._wake.set()

    def _run(self) -> None:
        written_at = 0.0
        while True:
            self._wake.wait()
            self._idle.clear()
            if (early_s := written_at + BATCH_INTERVAL_S - time.monotonic()) > 0:
                self._urgent.wait(early_s)  # a release is not delayed: it frees a slot for the next job
            self._urgent.clear()
            self._wake.clear()
            jobs: dict[str, RunningJob] = {}
            deltas: dict[str, list[Delta]] = {}
            releases: list[Release] = []
            for _ in range(min(len(self._pending), MAX_DELTAS_PER_WRITE)):
                job, item = self._pending.popleft()
                if isinstance(item, Release):
                    releases.append(item)
                else:
                    jobs[job.claim.id] = job
                    deltas.setdefault(job.claim.id, []).append(item)
            if deltas or releases:
                self._write_batch(jobs, deltas, releases)
                written_at = time.monotonic()
            if self._pending:
                self._wake.set()
            self._idle.set()

    def _write_batch(
        self, jobs: dict[str, RunningJob], deltas: dict[str, list[Delta]], releases: list[Release]
    ) -> None:
        entries = []
        for id, job_deltas in deltas.items():
            job = jobs[id]
            try:
                events = tuple(delta.encode() for delta in merge_text(job_deltas))
            except Exception:
                logger.exception("the output of %s cannot be encoded", id)
                self._stop_job(job, "engine_error")
                continue
            entries.append(AppendRequest(id, job.claim.fence, job.events_written + 1, events))
            job.events_written += len(events)
        for id, verdict in self._write_to_ledger(entries, releases).items():
            code = {"cancel": "cancelled", "full": "output_too_large"}.get(verdict, verdict)
            self._stop_job(jobs[id], code)

    def _write_to_ledger(self, entries: list[AppendRequest], releases: list[Release]) -> dict[str, str]:
        """Write, repeatedly while Redis is unreachable. Returns the jobs to stop, each with the reason."""
        attempt = 0
        while True:
            try:
                return self._ledger.append_and_release(entries, releases)
            except StokerError as error:
                if attempt == 0:
                    logger.warning("%s", error.message)
                if error.code == "storage_full" and entries:
                    # Redis accepts releases even then; the events are lost, and their jobs end with that
                    # error
                    self._write_to_ledger([], releases)
                    return {entry.id: "storage_full" for entry in entries}
            except Exception:
                logger.exception("a write failed that cannot be repeated")
                return {entry.id: "storage_unavailable" for entry in entries}
            time.sleep(RETRY_DELAYS_S[min(attempt, len(RETRY_DELAYS_S) - 1)])
            attempt += 1


def merge_text(deltas: list[Delta]) -> Iterator[Delta]:
    """The same deltas with adjacent pieces of text, or of reasoning, merged into one."""
    for kind, group in groupby(deltas, key=type):
        if kind is TextDelta or kind is ReasoningDelta:
            yield kind("".join([delta.text for delta in group]))  # type: ignore[union-attr]
        else:
            yield from group
