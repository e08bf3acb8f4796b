"""One batch that this process runs: validates its input, writes its progress and its results, and ends it.

`PendingLines` admits its lines and collects their outcomes. The states are those of docs/decisions/0020. Time
is an argument. All work is done in steps, each of which takes a line or some; in a turn of the runner the
steps of a tenant's batches have the time of `BatchAllowance`. A run that is lost at any point is continued by
another one from what is on disk and in the ledger:

- a line has an outcome once this is on disk; its job is deleted after that, by a call with the fence;
- any other line may have a job, whose id follows from the line: its admission finds the job, and makes no
  second one;
- the documents of a line are read before that, by tasks of the event loop: a line whose text is lost is read
  again.
"""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path

from api.access.caller import Caller
from api.batches.allowance import BatchAllowance
from api.batches.jobs import LineJobs
from api.batches.line_requests import LineRequests
from api.batches.lines import Steps, validate
from api.batches.outcome_file import OutcomeFile
from api.batches.pending_lines import PendingLines
from api.batches.record import MESSAGES, OPENAI, BatchRecord, Progress
from api.files.record import OUTPUT_PURPOSE, FileRecord
from api.files.store import FileStore
from scheduler.batches import BatchRow, BatchStore
from store.errors import StokerError

INPUT = "input.jsonl"
RESULTS = "results.jsonl"
"""The results of a batch of /v1/messages/batches."""

ROOM_S = 5.0
"""How long a look at the quota and the disk holds."""


ResultIds = dict[str, str | None]
"""The ids of the files with results, by `output` and `error`; None for a file that would be empty."""

InBackground = Callable[[Callable[[], ResultIds]], Future[ResultIds]]


def done_at_once(work: Callable[[], ResultIds]) -> Future[ResultIds]:
    """Do the work, and return the result."""
    done = Future[ResultIds]()
    done.set_result(work())
    return done


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
        window: BatchAllowance,
        caller: Callable[[str, BatchRecord], Caller],
        max_line_bytes: int,
        tick: Callable[[], None] = lambda: None,
        in_background: InBackground = done_at_once,
    ) -> None:
        """`tick` is called before each step, and may raise `Fenced`. `in_background` begins a long work."""
        self.id, self.tenant, self.kind = row.id, row.tenant, row.kind
        self.record = BatchRecord.from_json(row.record)
        self.progress = Progress.from_json(row.progress)
        self.folder = files.folder(row.tenant) / row.id
        self._fence, self._store, self._files, self._window = fence, store, files, window
        self._caller, self._max_line_bytes = caller, max_line_bytes
        self._tick, self._in_background = tick, in_background
        self._is_cancelled = row.cancel_us is not None
        self._outcomes: OutcomeFile | None = None
        self._requests = LineRequests(row, self.record.endpoint, jobs)
        self._lines = PendingLines(
            row.tenant,
            self._requests,
            jobs,
            window,
            fence=fence,
            expires_at=self.record.expires_at,
        )
        self._now = float(self.record.created_at)
        self._steps = self._all_steps()
        self._has_more = True
        self._room = (float("-inf"), True)
        self._has_moved = False
        self._counted = dict(self.progress.counts)
        """The outcomes that are in the counters of /metrics: those of the latest written progress."""

    @property
    def is_busy(self) -> bool:
        """Whether the next turn should follow soon."""
        is_moving = self._has_more or self._has_moved or self._lines.has_begun_any
        return is_moving or self.progress.state != "in_progress"

    def cancel(self) -> None:
        """A cancel was asked for."""
        self._is_cancelled = True

    def close(self) -> None:
        """Give up the run, as it is."""
        self._steps.close()
        self._close_files()

    def _close_files(self) -> None:
        self._lines.close()
        if self._outcomes is not None:
            self._outcomes.close()

    # ---- one turn: first `poll` of all runs, which counts their jobs, then `advance` of all

    def poll(self) -> None:
        """Count the jobs, and note which have ended."""
        self._lines.count()

    def advance(self, now: float) -> None:
        """Do the next steps of the batch, while its tenant has time in this turn; write what has ended."""
        self._now = now
        self._do_steps()
        with self._window.spending(self.tenant):
            self._commit()
        if self.progress.state == "finalizing":
            self._do_steps()

    def _do_steps(self) -> None:
        self._has_more = True
        while self._has_more and self._window.has_time(self.tenant):
            time.sleep(0)  # an event loop that waits for the interpreter gets it now
            self._tick()
            with self._window.spending(self.tenant):
                self._has_more = next(self._steps, False)

    def _all_steps(self) -> Steps[None]:
        """The work from the state in which the batch is to its end."""
        if self.progress.state == "validating":
            yield from self._validate()
        if not self.progress.has_ended:
            yield from self._open()
            while self.progress.state == "in_progress":  # until `_commit` has written the last outcome
                yield self._process_line()
            yield from self._finish()

    def _process_line(self) -> bool:
        """Take the outcome of one line, or admit or end another; returns False if all wait for something."""
        reason = self._reason(self._now)
        if self._lines.collect(self._now, reason):
            return True
        if reason is not None:
            return self._lines.end(reason)
        return self._has_room(self._now) and self._lines.fill(self._now, self._current_caller())

    def _reason(self, now: float) -> str | None:
        """The outcome of lines that were not processed, if the batch is to end before its last line."""
        if self._is_cancelled:
            return "canceled"
        return "expired" if now >= self.record.expires_at else None

    def _has_room(self, now: float) -> bool:
        """Whether the quota and the disk have room for further results."""
        looked_at, room = self._room
        if now - looked_at >= ROOM_S:
            room = self._files.has_room(self.tenant, 1)
            self._room = (now, room)
        return room

    def _current_caller(self) -> Caller | StokerError:
        """Who asks for the lines now, or why nobody may."""
        try:
            return self._caller(self.tenant, self.record)
        except StokerError as error:
            return error

    # ---- the beginning

    def _validate(self) -> Steps[None]:
        total, errors = yield from validate(
            self.folder / INPUT, self.kind, self.record.endpoint, self._max_line_bytes
        )
        self.progress.total = total
        if not errors:
            self.progress.enter("in_progress", self._now)
            self._update()
            return
        self.progress.total = 0
        self.progress.errors = errors
        self.progress.enter("failed", self._now)
        self._update(ended=True)
        self._clean_up()

    def _open(self) -> Steps[None]:
        """Begin, or continue what another run has begun."""
        self._outcomes = yield from OutcomeFile.open(self.folder)
        self._lines.ended_jobs += [self._requests.job_id(number) for number in self._outcomes.latest]
        self._lines.begin(self.folder / INPUT, self._max_line_bytes, self._outcomes.seen)
        self._take_counts()

    # ---- writing

    def _commit(self) -> None:
        """Write the new outcomes to the disk, and then the progress; with the last one the lines are done."""
        if self._outcomes is None or self.progress.state != "in_progress":
            return
        new = self._lines.new_outcomes
        self._has_moved = bool(new)
        if new:
            self._outcomes.append(new)
            new.clear()
            self._take_counts()
        if self._lines.ended_jobs:
            self._update()
        if self.progress.done >= self.progress.total:
            self.progress.enter("finalizing", self._now)
            self._update()

    def _take_counts(self) -> None:
        assert self._outcomes is not None  # noqa: S101 - it was opened
        self.progress.counts = dict(self._outcomes.counts)
        self.progress.usage = list(self._outcomes.usage)

    def _update(self, *, ended: bool = False) -> None:
        jobs, self._lines.ended_jobs = self._lines.ended_jobs, []
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

    def _finish(self) -> Steps[None]:
        """Write the results. A repetition finds the same files."""
        assert self._outcomes is not None  # noqa: S101 - it was opened
        if self.kind == MESSAGES:
            results = self.folder / RESULTS
            yield from self._outcomes.write_results(results, results)
        else:
            parts = {"output": self.folder / "output.jsonl", "error": self.folder / "error.jsonl"}
            yield from self._outcomes.write_results(parts["output"], parts["error"])
            yield from self._store_results(parts)
        self.progress.enter(self._final_state(self.progress.counts), self._now)
        self._update(ended=True)
        self._clean_up()

    def _store_results(self, parts: Mapping[str, Path]) -> Steps[None]:
        """Make files of the tenant of the results, in a thread of their own: a bucket may take minutes."""
        while not self._window.begin_storing(self.tenant):
            yield False
        now = self._now
        storing = self._in_background(
            lambda: {name: self._adopt(name, path, now) for name, path in parts.items()}
        )
        storing.add_done_callback(lambda _: self._window.end_storing(self.tenant))
        while not storing.done():
            yield False
        ids = storing.result()
        self.progress.output_file_id, self.progress.error_file_id = ids["output"], ids["error"]

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
        self._close_files()
        if self.kind == OPENAI or self.progress.state == "failed":
            shutil.rmtree(self.folder, ignore_errors=True)
            return
        for path in (self.folder / INPUT, *self.folder.glob(f"*{OutcomeFile.SUFFIX}")):
            path.unlink(missing_ok=True)
