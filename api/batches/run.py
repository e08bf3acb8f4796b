"""One batch that this process runs: validates its input, writes its progress and its results, and ends it.

`PendingLines` admits its lines and collects their outcomes. The states are those of docs/decisions/0020. Time
is an argument. A run that is lost at any point is continued by another one from what is on disk and in the
ledger:

- a line has an outcome once this is on disk; its job is deleted after that, by a call with the fence;
- any other line may have a job, whose id follows from the line: its admission finds the job, and makes no
  second one;
- the documents of a line are read before that, by tasks of the event loop: a line whose text is lost is read
  again.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from api.access.caller import Caller
from api.batches.allowance import BatchAllowance
from api.batches.jobs import LineJobs
from api.batches.line_requests import LineRequests
from api.batches.lines import validate
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
    ) -> None:
        """`tick` is called now and then by a step that takes long, and may raise `Fenced`."""
        self.id, self.tenant, self.kind = row.id, row.tenant, row.kind
        self.record = BatchRecord.from_json(row.record)
        self.progress = Progress.from_json(row.progress)
        self.folder = files.folder(row.tenant) / row.id
        self._fence, self._store, self._files, self._window = fence, store, files, window
        self._caller, self._max_line_bytes = caller, max_line_bytes
        self._tick = tick
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
            tick=tick,
        )
        self._room = (float("-inf"), True)
        self._has_moved = False
        self._counted = dict(self.progress.counts)
        """The outcomes that are in the counters of /metrics: those of the latest written progress."""

    @property
    def is_busy(self) -> bool:
        """Whether the next turn should follow soon."""
        return self._lines.has_begun_any or self._has_moved or self.progress.state != "in_progress"

    def cancel(self) -> None:
        """A cancel was asked for."""
        self._is_cancelled = True

    def close(self) -> None:
        """Give up the run, as it is."""
        self._lines.close()
        if self._outcomes is not None:
            self._outcomes.close()

    # ---- one turn: first `look` of all runs, which counts their jobs, then `advance` of all

    def poll(self, now: float) -> None:
        """Validate the input if that was not done; collect the jobs that have ended, and count the others."""
        if self.progress.state == "validating" and self._window.has_time(self.tenant):
            with self._window.spending(self.tenant):
                self._validate(now)
        if self.progress.state == "in_progress":
            if self._outcomes is None:
                self._open()
            self._lines.collect(now, self._reason(now))

    def advance(self, now: float) -> None:
        """Admit further lines, write what has ended, and end the batch after its last line."""
        if self.progress.state == "in_progress":
            reason = self._reason(now)
            if reason is not None:
                self._lines.end(reason)
            elif self._has_room(now):
                self._lines.fill(now, self._current_caller())
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
        self._lines.ended_jobs += [self._requests.job_id(number) for number in self._outcomes.latest]
        self._lines.begin(self.folder / INPUT, self._max_line_bytes, self._outcomes.seen)
        self._take_counts()

    # ---- writing

    def _commit(self) -> None:
        """Write the new outcomes to the disk, and then the progress."""
        assert self._outcomes is not None  # noqa: S101 - it was opened
        new = self._lines.new_outcomes
        self._has_moved = bool(new)
        if new:
            self._outcomes.append(new)
            new.clear()
            self._take_counts()
        if self._lines.ended_jobs:
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
