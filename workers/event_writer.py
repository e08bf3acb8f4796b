"""Writes what all requests of a worker say, in one round trip per engine step.

Engines emit from their own threads and never wait for Redis: while one write is under way, everything said
meanwhile gathers and becomes the next one, neighbouring pieces of text as one event. When Redis is away the
writes are repeated (they are idempotent) and what is said is kept, up to a bound; over it the generations are
stopped.
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

MOST_PENDING = 200_000
"""Events kept while Redis is away; some ten minutes of a busy worker's."""

MOST_AT_ONCE = 5_000
"""Events in one write: a longer script would keep everybody else waiting."""

GATHER_S = 0.0005
"""Between two writes: the requests of an engine's step speak one after another, and share the second one."""

RETRY_S = (0.05, 0.1, 0.2, 0.4, 0.5)


class EventWriter:
    """A thread between the engines and the ledger.

    `stop_run(run, code)` is called when a generation must stop: fenced, cancelled, output_too_large or
    storage_unavailable.
    """

    def __init__(self, ledger: Ledger, stop_run: Callable[[RunningJob, str], None]) -> None:
        self._ledger = ledger
        self._stop_run = stop_run
        self._pending: deque[tuple[RunningJob, Delta | Release]] = deque()
        self._hurry = threading.Event()
        self._wake = threading.Event()
        self._idle = threading.Event()
        self._idle.set()
        self._thread = threading.Thread(target=self._run, name="flusher", daemon=True)

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def say(self, run: RunningJob, delta: Delta) -> None:
        """Queue what the engine of a generation said. Never waits for Redis."""
        run.hear()
        if run.stop_code is not None:
            return
        self._put(run, delta)
        if len(self._pending) > MOST_PENDING:
            self._stop_run(run, "storage_unavailable")

    def end(self, run: RunningJob, release: Release) -> None:
        """Queue a generation's end, behind all that it said."""
        self._put(run, release)
        self._hurry.set()

    def wait_idle(self, timeout_s: float) -> bool:
        """Wait until everything said so far is written."""
        deadline = time.monotonic() + timeout_s
        while self._pending or not self._idle.is_set():
            if time.monotonic() > deadline:
                return False
            self._idle.wait(0.05)
            time.sleep(0.005)
        return True

    def _put(self, run: RunningJob, item: Delta | Release) -> None:
        self._pending.append((run, item))
        if not self._wake.is_set():
            self._wake.set()

    def _run(self) -> None:
        written = 0.0
        while True:
            self._wake.wait()
            self._idle.clear()
            if (early := written + GATHER_S - time.monotonic()) > 0:
                self._hurry.wait(early)  # not for an end: a client waits for it, and so does the next request
            self._hurry.clear()
            self._wake.clear()
            runs: dict[str, RunningJob] = {}
            said: dict[str, list[Delta]] = {}
            releases: list[Release] = []
            for _ in range(min(len(self._pending), MOST_AT_ONCE)):
                run, item = self._pending.popleft()
                if isinstance(item, Release):
                    releases.append(item)
                else:
                    runs[run.claim.id] = run
                    said.setdefault(run.claim.id, []).append(item)
            if said or releases:
                self._write(runs, said, releases)
                written = time.monotonic()
            if self._pending:
                self._wake.set()
            self._idle.set()

    def _write(
        self, runs: dict[str, RunningJob], said: dict[str, list[Delta]], releases: list[Release]
    ) -> None:
        entries = []
        for id, deltas in said.items():
            run = runs[id]
            try:
                events = tuple(delta.encode() for delta in gathered(deltas))
            except Exception:
                logger.exception("%s said what cannot be written", id)
                self._stop_run(run, "engine_error")
                continue
            entries.append(AppendRequest(id, run.claim.fence, run.number + 1, events))
            run.number += len(events)
        for id, verdict in self._persist(entries, releases).items():
            code = {"cancel": "cancelled", "full": "output_too_large"}.get(verdict, verdict)
            self._stop_run(runs[id], code)

    def _persist(self, entries: list[AppendRequest], releases: list[Release]) -> dict[str, str]:
        attempt = 0
        while True:
            try:
                return self._ledger.append_and_release(entries, releases)
            except StokerError as error:
                if attempt == 0:
                    logger.warning("%s", error.message)
                if error.code == "storage_full" and entries:
                    # ends are allowed even then; what was said last is lost, and said to be
                    return self._give_up(entries, releases)
            except Exception:
                logger.exception("a write failed that cannot be repeated")
                return {entry.id: "storage_unavailable" for entry in entries}
            time.sleep(RETRY_S[min(attempt, len(RETRY_S) - 1)])
            attempt += 1

    def _give_up(self, entries: list[AppendRequest], releases: list[Release]) -> dict[str, str]:
        self._persist([], releases)
        return {entry.id: "storage_full" for entry in entries}


def gathered(deltas: list[Delta]) -> Iterator[Delta]:
    """The same words in fewer events: pieces of text, or of reasoning, that follow each other are one."""
    for kind, group in groupby(deltas, key=type):
        if kind is TextDelta or kind is ReasoningDelta:
            yield kind("".join([delta.text for delta in group]))  # type: ignore[union-attr]
        else:
            yield from group
