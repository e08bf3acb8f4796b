"""The lines of one batch that have no outcome yet: admits their jobs, and collects the outcomes.

Such a line has a job, or its documents are being read, or it waits to be tried again, or it was not read from
the input yet. All work is done in steps, a line or some at a time.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator, Set
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from api.access.caller import Caller
from api.batches.allowance import BatchAllowance
from api.batches.jobs import JobState, LineJobs
from api.batches.line_job import UnreadJob
from api.batches.line_requests import LineRequests, is_for_later
from api.batches.lines import read_lines
from api.batches.outcome_file import LineId, Outcome, not_processed
from api.inference.dialects.base import ParsedRequest
from scheduler.job import Job, Status
from store.errors import Rejected, StokerError

MAX_AT_A_TIME = 100
"""Lines that end with the batch in one step."""

MAX_DEFERRED = 100
"""Lines that wait to be admitted again. With so many no further ones are read."""

LEAST_DEFER_S, DEFER_S = 0.5, 5.0
"""The shortest and the longest time until a line that waits is tried again: never in the same turn."""


@dataclass(slots=True)
class InFlight:
    """A line with a job."""

    id: LineId
    job: str
    model: str
    raw: bytes
    is_cancelled: bool = False


@dataclass(slots=True)
class InReading:
    """A line whose documents are being read; `job` lacks their texts."""

    id: LineId
    job: Job
    raw: bytes
    reading: Future[ParsedRequest]


class PendingLines:
    """The lines of a batch that have no outcome yet.

    Raises `Fenced` when another process is the runner, `OSError` for the disk, `StokerError` for Redis.
    """

    def __init__(  # noqa: PLR0913 - all that the lines need
        self,
        tenant: str,
        requests: LineRequests,
        jobs: LineJobs,
        window: BatchAllowance,
        *,
        fence: str,
        expires_at: float,
    ) -> None:
        self._tenant, self._requests, self._jobs, self._window = tenant, requests, jobs, window
        self._fence, self._expires_at = fence, expires_at
        self._rest: Iterator[tuple[int, bytes]] = iter(())
        self._in_flight: dict[int, InFlight] = {}
        self._ended: dict[int, tuple[InFlight, JobState]] = {}
        """Lines whose jobs have ended; their outcomes were not read yet."""
        self._in_reading: dict[int, InReading] = {}
        self._waits_to_read = False
        """The next line has documents, which may not be read yet."""
        self._deferred: deque[tuple[float, int, bytes]] = deque()
        self.new_outcomes: list[Outcome] = []
        """The outcomes that are not on disk yet."""
        self.ended_jobs: list[str] = []
        """The jobs that are to be deleted with the next progress that is written."""

    @property
    def has_begun_any(self) -> bool:
        """Whether a line has a job, or its documents are being read."""
        return bool(self._in_flight or self._ended or self._in_reading)

    def begin(self, path: Path, max_line_bytes: int, seen: Set[int]) -> None:
        """Read the lines from this input, except those that have outcomes: `seen` at their turn."""
        self._rest = self._read_rest(path, max_line_bytes, seen)

    def close(self) -> None:
        """Cancel the reading of documents."""
        for line in self._in_reading.values():
            line.reading.cancel()

    def _read_rest(self, path: Path, max_line_bytes: int, seen: Set[int]) -> Iterator[tuple[int, bytes]]:
        """The lines with their numbers; those that are not to be processed are empty."""
        with path.open("rb") as file:
            for number, raw in read_lines(file, max_line_bytes):
                yield number, b"" if number in seen else raw

    # ---- lines with jobs

    def count(self) -> None:
        """Count the lines that have a job, or whose documents are being read; note whose jobs have ended."""
        for unread in self._in_reading.values():
            self._window.add(self._tenant, unread.job.model, waits=True, reads=True)
        lines = list(self._in_flight.values())
        states = self._jobs.states([line.job for line in lines]) if lines else []
        for line, state in zip(lines, states, strict=True):
            if state.status is not None and not state.status.is_terminal:
                self._window.add(self._tenant, line.model, waits=state.status is Status.QUEUED)
                continue
            self._ended[line.id.number] = self._in_flight.pop(line.id.number), state

    def collect(self, now: float, reason: str | None) -> bool:
        """Take the outcome of one line whose job has ended; returns False if there is none.

        `reason` is the outcome of lines that were not processed, if the batch is to end before its last line.
        """
        if not self._ended:
            return False
        line, state = self._ended.pop(next(iter(self._ended)))
        outcome = self._requests.outcome(line.id, line.job, state, reason)
        self.ended_jobs.append(line.job)
        if outcome is None:
            self._defer(now, line.id.number, line.raw)
        else:
            self.new_outcomes.append(outcome)
        return True

    def end(self, reason: str) -> bool:
        """Cancel one job, or give some lines without a job their outcomes; False if there are none."""
        for line in self._in_flight.values():
            if not line.is_cancelled:
                self._jobs.cancel(line.job, self._tenant)
                line.is_cancelled = True
                return True
        remaining = [(number, raw) for _, number, raw in self._deferred]
        self._deferred.clear()
        for number, unread in self._in_reading.items():
            unread.reading.cancel()
            remaining.append((number, unread.raw))
        self._in_reading.clear()
        following = list(itertools.islice(self._rest, MAX_AT_A_TIME))
        remaining += [(number, raw) for number, raw in following if raw]
        jobs = [self._requests.job_id(number) for number, _ in remaining]
        for (number, raw), job, state in zip(remaining, jobs, self._jobs.states(jobs), strict=True):
            id = self._requests.line_id(number, raw)
            if state.status is None:
                self.new_outcomes.append(not_processed(id, reason))
            elif state.status.is_terminal:  # an earlier runner has admitted it
                self._ended[number] = InFlight(id, job, "", raw), state
            else:
                self._in_flight[number] = InFlight(id, job, "", raw)
        return bool(following or remaining)

    # ---- lines without jobs

    def fill(self, now: float, caller: Caller | StokerError) -> bool:
        """Admit one further line; returns False if there is none, or the window has no room for it.

        Every line is refused if the caller is an error.
        """
        if self._admit_read(now, caller):
            return True
        if self._waits_to_read and not self._window.may_read(self._tenant):
            return False
        self._waits_to_read = False
        found = self._next_line(now)
        if found is None:
            return False
        return not found[1] or self._admit(now, caller, *found)

    def _next_line(self, now: float) -> tuple[int, bytes] | None:
        if self._deferred and self._deferred[0][0] <= now:
            _, number, raw = self._deferred.popleft()
            return number, raw
        return next(self._rest, None) if len(self._deferred) < MAX_DEFERRED else None

    def _admit(self, now: float, caller: Caller | StokerError, number: int, raw: bytes) -> bool:
        """Admit a line, defer it, or give it its outcome; returns False if there is no room for more."""
        id = self._requests.line_id(number, raw)
        try:
            if isinstance(caller, StokerError):
                raise caller
            made = self._requests.make(caller, id, raw, now)
            job = made.job if isinstance(made, UnreadJob) else made
            if not self._window.has_room(self._tenant, job.model, self._jobs.limits(job)):
                self._deferred.appendleft((now, number, raw))
                return False
            if isinstance(made, UnreadJob):
                return self._read(now, id, raw, made)
            self._admit_job(now, id, raw, job)
        except StokerError as error:
            self._refuse(now, id, raw, error)
        return True

    def _admit_job(self, now: float, id: LineId, raw: bytes, job: Job) -> None:
        waits = self._jobs.admit(job, self._fence, self._expires_at - now)
        self._in_flight[id.number] = InFlight(id, job.id, job.model, raw)
        self._window.add(self._tenant, job.model, waits=waits)

    def _refuse(self, now: float, id: LineId, raw: bytes, error: StokerError) -> None:
        """Defer a line that was refused, or give it its outcome."""
        if self._was_admitted(id, raw):  # when it was not refused
            return
        if isinstance(error, Rejected) and is_for_later(error):
            self._defer(now, id.number, raw, error)
        else:
            self.new_outcomes.append(self._requests.refusal(id, error))

    def _was_admitted(self, id: LineId, raw: bytes) -> bool:
        """Whether an earlier runner has admitted a line, whose job is followed then."""
        job = self._requests.job_id(id.number)
        (state,) = self._jobs.states([job])
        if state.status is None:
            return False
        self._in_flight[id.number] = InFlight(id, job, "", raw)
        return True

    def _defer(self, now: float, number: int, raw: bytes, error: StokerError | None = None) -> None:
        wait_s = DEFER_S if error is None or error.retry_after_s is None else error.retry_after_s
        self._deferred.append((now + min(DEFER_S, max(LEAST_DEFER_S, wait_s)), number, raw))

    # ---- lines whose documents are read

    def _read(self, now: float, id: LineId, raw: bytes, unread: UnreadJob) -> bool:
        """Begin to read the documents of a line; returns False if it has to wait for others."""
        if self._was_admitted(id, raw):
            return True
        if not self._window.may_read(self._tenant):
            self._waits_to_read = True
            self._deferred.appendleft((now, id.number, raw))
            return False
        self._in_reading[id.number] = InReading(id, unread.job, raw, unread.read())
        self._window.add(self._tenant, unread.job.model, waits=True, reads=True)
        return True

    def _admit_read(self, now: float, caller: Caller | StokerError) -> bool:
        """Admit a line whose documents have been read; returns False if there is none."""
        line = next((line for line in self._in_reading.values() if line.reading.done()), None)
        if line is None:
            return False
        del self._in_reading[line.id.number]
        if line.reading.cancelled():  # the process ends
            self._defer(now, line.id.number, line.raw)
            return True
        try:
            if isinstance(caller, StokerError):
                raise caller
            job = self._requests.add_documents(line.job, line.reading)
            self._admit_job(now, line.id, line.raw, job)
        except StokerError as error:
            self._refuse(now, line.id, line.raw, error)
        return True
