"""One batch that this process runs: admits its lines, collects their outcomes, and writes its results.

The states are those of docs/decisions/0020. Time is an argument. A run that is lost at any point is continued
by another one from what is on disk and in the ledger:

- a line has an outcome once this is on disk; its job is deleted after that, by a call with the fence;
- any other line may have a job, whose id follows from the line: its admission finds the job, and makes no
  second one;
- the documents of a line are read before that, by tasks of the event loop: a line whose text is lost is read
  again.
"""

from __future__ import annotations

import hashlib
import itertools
import logging
import shutil
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from api.admission import with_generation
from api.auth.caller import Caller
from api.batches.endpoints import ENDPOINTS
from api.batches.jobs import JobState, LineJobs
from api.batches.line_job import Answer, UnreadJob, job_hex
from api.batches.lines import InvalidLine, Line, Pause, parse_line, read_lines, validate
from api.batches.outcome_file import NO_USAGE, LineId, Outcome, OutcomeFile, errored, not_processed, succeeded
from api.batches.record import MESSAGES, OPENAI, BatchRecord, Progress
from api.batches.window import Window
from api.dialects.base import ParsedRequest
from api.errors import ApiError, InvalidRequest
from api.files.record import OUTPUT_PURPOSE, FileRecord
from api.files.store import FileStore
from scheduler.batches import BatchRow, BatchStore
from scheduler.errors import Fenced, Rejected, StokerError
from scheduler.job import Job, Status

logger = logging.getLogger("api")

INPUT = "input.jsonl"
RESULTS = "results.jsonl"
"""The results of a batch of /v1/messages/batches."""

MOST_AT_A_TIME = 100
"""Lines that are admitted, or end with the batch, in one turn."""

MAX_DEFERRED = 100
"""Lines that wait to be admitted again. With so many no further ones are read."""

DEFER_S = 5.0
ROOM_S = 5.0
"""How long a look at the quota and the disk holds."""

LATER = frozenset(
    (
        "model_not_loaded",
        "model_loading",
        "model_unloading",
        "model_failed",
        "queue_full",
        "queue_timeout",
        "server_busy",
        "storage_full",
        "storage_unavailable",
        "tenant_storage_full",
        "too_many_documents",
        "load_failed",
        "load_timeout",
        "load_cancelled",
        "load_interrupted",
    )
)
"""The codes of refusals, and of jobs that never ran, after which a line is tried again."""


def is_for_later(error: StokerError) -> bool:
    """Whether a line that was refused like this is tried again; else it is its outcome."""
    if error.code == "rate_limit_exceeded":
        return error.retry_after_s is not None  # None: more than the limit ever admits
    return error.code in LATER


def internal_error() -> ApiError:
    """The error for a fault of the platform; only the log has the details."""
    return ApiError("an error inside the platform; its log has the details", code="internal_error")


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


class BatchRun:
    """A batch in the hands of the runner with this fence.

    Raises `Fenced` when another process is the runner, `LookupError` when the batch's record is gone,
    `OSError` for the disk, `StokerError` for Redis. After any of them the run is to be dropped.
    """

    def __init__(  # noqa: PLR0913 - all that a batch consists of
        self,
        row: BatchRow,
        *,
        fence: str,
        jobs: LineJobs,
        store: BatchStore,
        files: FileStore,
        window: Window,
        caller: Callable[[str, BatchRecord], Caller],
        max_line_bytes: int,
        tick: Callable[[], None] = lambda: None,
    ) -> None:
        """`tick` is called now and then by a step that takes long, and may raise `Fenced`."""
        self.id, self.tenant, self.kind = row.id, row.tenant, row.kind
        self.record = BatchRecord.from_json(row.record)
        self.progress = Progress.from_json(row.progress)
        self.folder = files.folder(row.tenant) / row.id
        self._fence, self._jobs, self._store, self._files = fence, jobs, store, files
        self._window, self._caller, self._max_line_bytes = window, caller, max_line_bytes
        self._pause = Pause(tick)
        self._tick = tick
        self._is_cancelled = row.cancel_us is not None
        self._outcomes: OutcomeFile | None = None
        self._rest: Iterator[tuple[int, bytes]] = iter(())
        self._in_flight: dict[int, InFlight] = {}
        self._in_reading: dict[int, InReading] = {}
        self._waits_to_read = False
        """The next line has documents, which may not be read yet."""
        self._deferred: deque[tuple[float, int, bytes]] = deque()
        self._new: list[Outcome] = []
        self._jobs_to_delete: list[str] = []
        self._room = (float("-inf"), True)
        self._has_moved = False
        self._counted = dict(self.progress.counts)
        """The outcomes that are in the counters of /metrics: those of the latest written progress."""

    @property
    def is_busy(self) -> bool:
        """Whether the next turn should follow soon."""
        return (
            bool(self._in_flight or self._in_reading)
            or self._has_moved
            or self.progress.state != "in_progress"
        )

    def cancel(self) -> None:
        """A cancel was asked for."""
        self._is_cancelled = True

    def close(self) -> None:
        """Give up the run, as it is."""
        for line in self._in_reading.values():
            line.reading.cancel()
        if self._outcomes is not None:
            self._outcomes.close()

    # ---- one turn: first `look` of all runs, which counts their jobs, then `advance` of all

    def look(self, now: float) -> None:
        """Validate the input if that was not done; collect the jobs that have ended, and count the others."""
        if self.progress.state == "validating" and self._window.has_time(self.tenant):
            with self._window.spending(self.tenant):
                self._validate(now)
        if self.progress.state == "in_progress":
            if self._outcomes is None:
                self._open()
            self._collect(now)

    def advance(self, now: float) -> None:
        """Admit further lines, write what has ended, and end the batch after its last line."""
        if self.progress.state == "in_progress":
            reason = self._reason(now)
            if reason is None:
                self._fill(now)
            else:
                self._end_lines(reason)
            self._commit()
            if self.progress.done >= self.progress.total:
                self.progress.enter("finalizing", now)
                self._update()
        if self.progress.state == "finalizing":
            self._finish(now)

    def _reason(self, now: float) -> str | None:
        """The outcome of lines that were not processed, if the batch is to end before its last line."""
        if self._is_cancelled:
            return "canceled"
        return "expired" if now >= self.record.expires_at else None

    # ---- the beginning

    def _validate(self, now: float) -> None:
        total, errors = validate(
            self.folder / INPUT, self.kind, self.record.endpoint, self._max_line_bytes, self._tick
        )
        self.progress.total = total
        if not errors:
            self.progress.enter("in_progress", now)
            self._update()
            return
        self.progress.total = 0
        self.progress.errors = errors
        self.progress.enter("failed", now)
        self._update(ended=True)
        self._clean_up()

    def _open(self) -> None:
        """Begin, or continue what another run has begun."""
        self._outcomes = OutcomeFile(self.folder, self._tick)
        self._jobs_to_delete += [self._job_id(number) for number in self._outcomes.latest]
        self._rest = self._read_rest()
        self._take_counts()

    def _read_rest(self) -> Iterator[tuple[int, bytes]]:
        assert self._outcomes is not None  # noqa: S101 - it was opened
        with (self.folder / INPUT).open("rb") as file:
            for number, raw in read_lines(file, self._max_line_bytes):
                if raw and number not in self._outcomes.seen and number not in self._in_flight:
                    yield number, raw

    # ---- lines with jobs

    def _collect(self, now: float) -> None:
        for unread in self._in_reading.values():
            self._window.add(self.tenant, unread.job.model, waits=True, reads=True)
        lines = list(self._in_flight.values())
        states = self._jobs.states([line.job for line in lines]) if lines else []
        reason = self._reason(now)
        for line, state in zip(lines, states, strict=True):
            if state.status is not None and not state.status.is_terminal:
                self._window.add(self.tenant, line.model, waits=state.status is Status.QUEUED)
                continue
            del self._in_flight[line.id.number]
            self._jobs_to_delete.append(line.job)
            outcome = self._outcome(line, state, reason)
            if outcome is None:
                self._defer(now, line.id.number, line.raw)
            else:
                self._new.append(outcome)

    def _outcome(self, line: InFlight, state: JobState, reason: str | None) -> Outcome | None:
        """The outcome of a line whose job has ended; None if it never ran and is tried again."""
        if state.status is Status.CANCELLED and reason is not None:
            return not_processed(line.id, reason)
        answer = self._answer(line)
        if answer.error is None:
            return succeeded(line.id, answer.body, answer.usage)
        if state.status is not None and not state.attempts and is_for_later(answer.error):
            return None if reason is None else not_processed(line.id, reason)
        return errored(line.id, answer.error, answer.body, answer.usage)

    def _end_lines(self, reason: str) -> None:
        """Cancel the jobs that are there, and give some of the other lines their outcomes."""
        for line in self._in_flight.values():
            if not line.is_cancelled:
                self._jobs.cancel(line.job, self.tenant)
                line.is_cancelled = True
        remaining = [(number, raw) for _, number, raw in self._deferred]
        self._deferred.clear()
        for number, unread in self._in_reading.items():
            unread.reading.cancel()
            remaining.append((number, unread.raw))
        self._in_reading.clear()
        remaining += itertools.islice(self._rest, MOST_AT_A_TIME)
        jobs = [self._job_id(number) for number, _ in remaining]
        for (number, raw), job, state in zip(remaining, jobs, self._jobs.states(jobs), strict=True):
            id = self._line_id(number, raw)
            if state.status is None:
                self._new.append(not_processed(id, reason))
            else:  # an earlier runner has admitted it
                self._in_flight[number] = InFlight(id, job, "", raw)

    # ---- lines without jobs

    def _fill(self, now: float) -> None:
        if not self._has_room(now):
            return
        try:
            caller: Caller | StokerError = self._caller(self.tenant, self.record)
        except StokerError as error:
            caller = error
        self._admit_read(now, caller)
        if self._waits_to_read and not self._window.may_read(self.tenant):
            return
        self._waits_to_read = False
        for _ in range(MOST_AT_A_TIME):
            if not self._window.has_time(self.tenant):
                return
            self._pause()
            self._tick()
            with self._window.spending(self.tenant):
                found = self._next_line(now)
                if found is None or not self._admit(now, caller, *found):
                    return

    def _next_line(self, now: float) -> tuple[int, bytes] | None:
        if self._deferred and self._deferred[0][0] <= now:
            _, number, raw = self._deferred.popleft()
            return number, raw
        return next(self._rest, None) if len(self._deferred) < MAX_DEFERRED else None

    def _admit(self, now: float, caller: Caller | StokerError, number: int, raw: bytes) -> bool:
        """Admit a line, defer it, or give it its outcome; returns False if there is no room for more."""
        id = self._line_id(number, raw)
        try:
            if isinstance(caller, StokerError):
                raise caller
            made = self._make(caller, number, raw, id, now)
            job = made.job if isinstance(made, UnreadJob) else made
            if not self._window.has_room(self.tenant, job.model, self._jobs.limits(job)):
                self._deferred.appendleft((now, number, raw))
                return False
            if isinstance(made, UnreadJob):
                return self._read(now, id, raw, made)
            self._admit_job(now, id, raw, job)
        except StokerError as error:
            self._refuse(now, id, raw, error)
        return True

    def _admit_job(self, now: float, id: LineId, raw: bytes, job: Job) -> None:
        waits = self._jobs.admit(job, self._fence, self.record.expires_at - now)
        self._in_flight[id.number] = InFlight(id, job.id, job.model, raw)
        self._window.add(self.tenant, job.model, waits=waits)

    def _refuse(self, now: float, id: LineId, raw: bytes, error: StokerError) -> None:
        """Defer a line that was refused, or give it its outcome."""
        if self._was_admitted(id, raw):  # when it was not refused
            return
        if isinstance(error, Rejected) and is_for_later(error):
            self._defer(now, id.number, raw, error)
        else:
            body = ENDPOINTS[self.record.endpoint].dialect.error_body(error)
            self._new.append(errored(id, error, body))

    def _was_admitted(self, id: LineId, raw: bytes) -> bool:
        """Whether an earlier runner has admitted a line, whose job is followed then."""
        job = self._job_id(id.number)
        (state,) = self._jobs.states([job])
        if state.status is None:
            return False
        self._in_flight[id.number] = InFlight(id, job, "", raw)
        return True

    # ---- lines whose documents are read

    def _read(self, now: float, id: LineId, raw: bytes, unread: UnreadJob) -> bool:
        """Begin to read the documents of a line; returns False if it has to wait for others."""
        if self._was_admitted(id, raw):
            return True
        if not self._window.may_read(self.tenant):
            self._waits_to_read = True
            self._deferred.appendleft((now, id.number, raw))
            return False
        self._in_reading[id.number] = InReading(id, unread.job, raw, unread.read())
        self._window.add(self.tenant, unread.job.model, waits=True, reads=True)
        return True

    def _admit_read(self, now: float, caller: Caller | StokerError) -> None:
        """Admit the lines whose documents have been read."""
        for line in [line for line in self._in_reading.values() if line.reading.done()]:
            del self._in_reading[line.id.number]
            if line.reading.cancelled():  # the process ends
                self._defer(now, line.id.number, line.raw)
                continue
            try:
                if isinstance(caller, StokerError):
                    raise caller
                self._admit_job(now, line.id, line.raw, self._whole(line))
            except StokerError as error:
                self._refuse(now, line.id, line.raw, error)

    def _whole(self, line: InReading) -> Job:
        """The job of a line with the texts of its documents. Raises `StokerError`."""
        try:
            return with_generation(line.job, line.reading.result())
        except StokerError:
            raise
        except Exception:
            logger.exception("the documents of a line of the batch %s cannot be read", self.id)
            raise internal_error() from None

    # ---- how a line is made and answered

    def _make(self, caller: Caller, number: int, raw: bytes, id: LineId, now: float) -> Job | UnreadJob:
        """The job of a line. Raises `StokerError`; a fault of the platform is one, too, as over HTTP."""
        try:
            line = self._line(number, raw)
            return self._jobs.make(caller, self.record.endpoint, line, id.hex, int(now))
        except (StokerError, Fenced):
            raise
        except Exception:
            logger.exception("a line of the batch %s fails", self.id)
            raise internal_error() from None

    def _answer(self, line: InFlight) -> Answer:
        """The answer of a line whose job has ended."""
        path = self.record.endpoint
        try:
            return self._jobs.answer(line.job, self.tenant, path)
        except StokerError:
            raise
        except Exception:
            logger.exception("the answer to a line of the batch %s cannot be rendered", self.id)
            error = internal_error()
            return Answer(ENDPOINTS[path].dialect.error_body(error), error, NO_USAGE)

    def _defer(self, now: float, number: int, raw: bytes, error: StokerError | None = None) -> None:
        wait_s = DEFER_S if error is None or error.retry_after_s is None else error.retry_after_s
        self._deferred.append((now + min(DEFER_S, wait_s), number, raw))

    def _has_room(self, now: float) -> bool:
        """Whether the quota and the disk have room for further results."""
        looked_at, room = self._room
        if now - looked_at >= ROOM_S:
            room = self._files.has_room(self.tenant, 1)
            self._room = (now, room)
        return room

    # ---- writing

    def _commit(self) -> None:
        """Write the new outcomes to the disk, and then the progress."""
        assert self._outcomes is not None  # noqa: S101 - it was opened
        self._has_moved = bool(self._new)
        if self._new:
            self._outcomes.append(self._new)
            self._new.clear()
            self._take_counts()
        if self._jobs_to_delete:
            self._update()

    def _take_counts(self) -> None:
        assert self._outcomes is not None  # noqa: S101 - it was opened
        self.progress.counts = dict(self._outcomes.counts)
        self.progress.usage = list(self._outcomes.usage)

    def _update(self, *, ended: bool = False) -> None:
        jobs, self._jobs_to_delete = self._jobs_to_delete, []
        counts = {
            f"batch_lines {self.kind} {outcome}": count - self._counted.get(outcome, 0)
            for outcome, count in self.progress.counts.items()
            if count != self._counted.get(outcome, 0)
        }
        if ended:
            counts[f"batches {self.kind} {self.progress.state}"] = 1
        progress = self.progress.to_json()
        cancel_us = self._store.update(self.id, self._fence, progress, jobs, ended=ended, counts=counts)
        self._counted = dict(self.progress.counts)
        if cancel_us is not None:
            self._is_cancelled = True

    # ---- the end

    def _finish(self, now: float) -> None:
        """Write the results. A repetition finds the same files."""
        if self._outcomes is None:
            self._open()
        assert self._outcomes is not None  # noqa: S101 - it was opened
        if self.kind == MESSAGES:
            results = self.folder / RESULTS
            self._outcomes.write_results(results, results)
        else:
            parts = {"output": self.folder / "output.jsonl", "error": self.folder / "error.jsonl"}
            self._outcomes.write_results(parts["output"], parts["error"])
            ids = {name: self._adopt(name, path, now) for name, path in parts.items()}
            self.progress.output_file_id, self.progress.error_file_id = ids["output"], ids["error"]
        self.progress.enter(self._final_state(self.progress.counts), now)
        self._update(ended=True)
        self._clean_up()

    def _final_state(self, counts: Mapping[str, int]) -> str:
        if counts["canceled"]:
            return "cancelled"
        return "expired" if counts["expired"] else "completed"

    def _adopt(self, name: str, path: Path, now: float) -> str | None:
        """Make a file of the tenant of the results; None if there are none."""
        size = path.stat().st_size
        if not size:
            return None
        id = f"file-{hashlib.sha256(f'{self.id}:{name}'.encode()).hexdigest()[:32]}"
        lifetime_s = self.record.output_lifetime_s
        expires_at = None if lifetime_s is None else int(now) + lifetime_s
        record = FileRecord(id, f"{self.id}_{name}.jsonl", OUTPUT_PURPOSE, size, int(now * 1e6), expires_at)
        self._files.adopt(self.tenant, path, record)
        return id

    def _clean_up(self) -> None:
        """Remove what is not needed any more."""
        self.close()
        if self.kind == OPENAI or self.progress.state == "failed":
            shutil.rmtree(self.folder, ignore_errors=True)
            return
        for path in (self.folder / INPUT, *self.folder.glob(f"*{OutcomeFile.SUFFIX}")):
            path.unlink(missing_ok=True)

    # ---- ids

    def _job_id(self, number: int) -> str:
        return f"{ENDPOINTS[self.record.endpoint].dialect.ID_PREFIX}{job_hex(self.id, number)}"

    def _line(self, number: int, raw: bytes) -> Line:
        """The line of a text, which was checked before the batch began. Raises `InvalidRequest`."""
        try:
            return parse_line(number, raw, self.kind, self.record.endpoint)
        except InvalidLine as error:
            raise InvalidRequest(error.message, param=error.param) from None

    def _line_id(self, number: int, raw: bytes) -> LineId:
        try:
            custom_id = self._line(number, raw).custom_id
        except InvalidRequest:
            custom_id = ""
        return LineId(self.kind, number, custom_id, job_hex(self.id, number))
