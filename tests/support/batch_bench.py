"""A batch with its runs, with time as an argument, fakes for the jobs, and real files and records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from api.access.caller import Caller
from api.batches.allowance import BatchAllowance
from api.batches.endpoints import ENDPOINTS
from api.batches.jobs import JobState
from api.batches.line_job import Answer, UnreadJob
from api.batches.lines import Line
from api.batches.record import WINDOW_S, BatchRecord, Progress, new_batch_id
from api.batches.run import INPUT, BatchRun, InBackground, done_at_once
from api.files.store import FileStore
from api.http.errors import InvalidRequest
from api.inference.dialects.base import ParsedRequest
from config.api_keys import ApiKey
from config.limits import Limits, limits_of
from config.settings import BatchSettings, FileSettings, QueueSettings, Settings, Tenant
from scheduler.batches import BatchRow, BatchStore
from scheduler.job import Job, Status
from store.errors import Fenced, StokerError
from store.redis_connections import command_client
from tests.support.batch_lines import CHAT, chat_line, jsonl, parsed

START = 1_000_000.0
TENANT = Tenant("one")
CALLER = Caller(TENANT, "low", ApiKey("", "", "one"))
MANY = Settings(batches=BatchSettings(max_in_flight=4), queue=QueueSettings(max_depth=1000))


@dataclass
class FakeJobs:
    """The jobs by id. Every admission is recorded; jobs run until a test ends them."""

    settings: Settings = MANY
    of_tenant: Limits = field(default_factory=lambda: limits_of(TENANT, MANY))
    jobs: dict[str, JobState] = field(default_factory=dict)
    bodies: dict[str, dict[str, Any]] = field(default_factory=dict)
    admissions: list[str] = field(default_factory=list)
    """The custom text of each line that got a job."""
    cancelled: list[str] = field(default_factory=list)
    refusal: Callable[[Job], StokerError | None] = lambda _: None
    failures: dict[str, StokerError] = field(default_factory=dict)
    faulty: str = "faulty"
    readings: list[Future[ParsedRequest]] = field(default_factory=list)
    """The readings of the documents of lines with the seed `document`, in their order."""
    waits: bool = False
    fence: str = ""

    def make(self, caller: Caller, path: str, line: Line, id_hex: str, created_at: int) -> Job | UnreadJob:
        assert created_at >= START
        assert caller is CALLER
        if line.body.get("seed") == self.faulty:
            raise KeyError("a fault")
        if line.body.get("max_tokens", 1) < 0:
            raise InvalidRequest("max_tokens must be at least 1", param="max_tokens")
        id = f"{ENDPOINTS[path].dialect.ID_PREFIX}{id_hex}"
        self.bodies[id] = line.body
        job = Job(id, "one", line.body["model"], "chat", b"", b"")
        return UnreadJob(job, self._read) if line.body.get("seed") == "document" else job

    def _read(self) -> Future[ParsedRequest]:
        self.readings.append(Future())
        return self.readings[-1]

    def limits(self, _job: Job) -> Limits:
        return self.of_tenant

    def admit(self, job: Job, fence: str, until_s: float) -> bool:
        assert until_s > 0
        if fence != self.fence:
            raise Fenced(fence)
        error = self.refusal(job)
        if error is not None:
            raise error
        if job.id not in self.jobs:
            self.jobs[job.id] = JobState(Status.QUEUED if self.waits else Status.RUNNING, 1)
            self.admissions.append(self.text(job.id))
        return self.waits

    def states(self, ids: Sequence[str]) -> list[JobState]:
        return [self.jobs.get(id, JobState(None)) for id in ids]

    def answer(self, id: str, _tenant: str, path: str) -> Answer:
        if self.text(id) == self.faulty:
            raise KeyError("a fault")
        error = self.failures.get(self.text(id))
        if error is not None:
            return Answer(ENDPOINTS[path].dialect.error_body(error), error, (0, 0, 0, 0))
        return Answer({"text": self.text(id)}, None, (1, 0, 2, 0))

    def cancel(self, id: str, _tenant: str) -> None:
        self.cancelled.append(self.text(id))
        self.jobs[id] = JobState(Status.CANCELLED, 1)

    def text(self, id: str) -> str:
        text: str = self.bodies[id]["messages"][0]["content"]
        return text

    def end(self, *texts: str, status: Status = Status.COMPLETED, attempts: int = 1) -> None:
        """End the jobs with these texts, all running ones without any."""
        for id in list(self.jobs):
            if not texts or self.text(id) in texts:
                self.jobs[id] = JobState(status, attempts)


class DeletingStore(BatchStore):
    """Deletes the fake jobs, as the script deletes those of the ledger."""

    jobs: FakeJobs

    def update(
        self, id: str, fence: str, progress: bytes, jobs: Sequence[str] = (), **options: Any
    ) -> int | None:
        reply = super().update(id, fence, progress, jobs, **options)
        for job in jobs:
            state = self.jobs.jobs.get(job)
            if state is not None and state.status is not None and state.status.is_terminal:
                del self.jobs.jobs[job]
        return reply


class Bench:
    """A batch, its runs one after the other, and the clock."""

    def __init__(self, tmp_path: Path, settings: Settings) -> None:
        self.now = START
        self.jobs = FakeJobs()
        self.store = DeletingStore(command_client(settings), settings.redis.prefix)
        self.store.jobs = self.jobs
        self.files = FileStore(tmp_path / "files", FileSettings(keep_free_mib=0), lambda: self.now)
        self.window = BatchAllowance(MANY)
        self.caller_error: StokerError | None = None
        self.in_background: InBackground = done_at_once
        self.id = ""
        self.run: BatchRun
        self.fence = ""

    def create(self, content: bytes, kind: str = "openai", endpoint: str = CHAT) -> None:
        self.id = new_batch_id(kind)
        record = BatchRecord(endpoint, int(START), int(START) + WINDOW_S, input_file_id="file-1")
        (self.files.new_folder("one", self.id) / INPUT).write_bytes(content)
        row = BatchRow(self.id, "one", kind, record.to_json(), Progress().to_json(), 0)
        assert self.store.create(row, most_active=10, most=10) == "ok"
        self.take_over()

    def take_over(self) -> None:
        """Another process becomes the runner, as after a kill of the first one."""
        self.store.scripts.client.delete(f"{self.store.scripts.prefix}batch_runner")
        self.fence = self.jobs.fence = self.store.hold("") or ""
        self.run = self.new_run()

    def new_run(self) -> BatchRun:
        return BatchRun(
            self.row(),
            fence=self.fence,
            jobs=self.jobs,
            store=self.store,
            files=self.files,
            window=self.window,
            caller=self._caller,
            max_line_bytes=100_000,
            in_background=self.in_background,
        )

    def _caller(self, tenant: str, _record: BatchRecord) -> Caller:
        assert tenant == "one"
        if self.caller_error is not None:
            raise self.caller_error
        return CALLER

    def row(self) -> BatchRow:
        row = self.store.get(self.id)
        assert row is not None
        return row

    @property
    def progress(self) -> Progress:
        """The progress that is in Redis."""
        return Progress.from_json(self.row().progress)

    def turn(self, seconds: float = 0.0, run: BatchRun | None = None) -> None:
        self.now += seconds
        self.window.begin_turn()
        run = run or self.run
        run.poll()
        run.advance(self.now)

    def finish(self) -> None:
        """Let every job end at once until the batch has ended."""
        for _ in range(100):
            self.turn(1)
            self.jobs.end()
            if self.run.progress.has_ended:
                return
        raise AssertionError(self.run.progress)

    def counters(self) -> dict[str, int]:
        """What was counted for /metrics."""
        client = self.store.scripts.client
        fields = client.hgetall(f"{self.store.scripts.prefix}counters")
        return {name.decode(): int(count) for name, count in fields.items()}

    def output(self, name: str = "output") -> list[dict[str, Any]]:
        id = self.progress.output_file_id if name == "output" else self.progress.error_file_id
        return [] if id is None else parsed(self.files.read("one", id))

    def on_disk(self) -> dict[str, str]:
        """What is on disk: the kind of outcome by custom_id."""
        (path,) = self.run.folder.glob("*.outcomes")
        return {line["line"]["custom_id"]: line["kind"] for line in parsed(path.read_bytes())}


def lines(count: int, model: str = "m") -> bytes:
    return jsonl(*(chat_line(f"id{at}", f"t{at}", model) for at in range(count)))
