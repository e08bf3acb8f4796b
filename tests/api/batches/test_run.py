"""The states of a batch, with time as an argument, fakes for the jobs, and real files and records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from api.auth.caller import Caller
from api.batches.endpoints import ENDPOINTS
from api.batches.jobs import JobState
from api.batches.line_job import Answer, UnreadJob
from api.batches.lines import Line
from api.batches.record import WINDOW_S, BatchRecord, Progress, new_batch_id
from api.batches.run import INPUT, RESULTS, BatchRun
from api.batches.window import Window
from api.dialects.base import ParsedRequest
from api.documents.errors import DocumentRefused, TooManyDocuments
from api.errors import InvalidApiKey, InvalidRequest
from api.files.remote_objects import RemoteObjects
from api.files.store import FileStore
from config.api_keys import ApiKey
from config.limits import Limits, limits_of
from config.settings import BatchSettings, FileSettings, QueueSettings, Settings, Tenant
from scheduler.batches import BatchRow, BatchStore
from scheduler.errors import Failed, FailedInQueue, Fenced, ModelNotLoaded, RateLimited, StokerError
from scheduler.job import Job, Status
from scheduler.redis_connections import command_client
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
        self.window = Window(MANY)
        self.caller_error: StokerError | None = None
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
        for step in ("look", "advance"):
            getattr(run or self.run, step)(self.now)

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


@pytest.fixture
def bench(tmp_path: Path, shared_settings: Settings) -> Bench:
    return Bench(tmp_path, shared_settings)


def lines(count: int, model: str = "m") -> bytes:
    return jsonl(*(chat_line(f"id{at}", f"t{at}", model) for at in range(count)))


def test_a_batch_runs_a_bounded_number_of_lines_and_completes(bench: Bench) -> None:
    bench.create(lines(10))
    bench.turn()
    assert bench.progress.state == "in_progress"
    assert bench.jobs.admissions == ["t0", "t1", "t2", "t3"]
    bench.jobs.end("t1")
    bench.turn()
    assert bench.progress.counts["succeeded"] == 1
    assert bench.jobs.admissions[4:] == ["t4"]
    bench.finish()
    assert bench.progress.state == "completed"
    assert bench.progress.total == 10
    assert bench.progress.usage == [10, 0, 20, 0]
    assert sorted(line["custom_id"] for line in bench.output()) == [f"id{at}" for at in range(10)]
    assert bench.progress.error_file_id is None
    assert sorted(bench.jobs.admissions) == sorted(f"t{at}" for at in range(10))
    assert not bench.run.folder.exists()
    assert bench.store.active() == []


def test_a_batch_with_a_wrong_line_fails_and_runs_nothing(bench: Bench) -> None:
    bench.create(lines(3) + b"{}\n")
    bench.turn()
    assert bench.progress.state == "failed"
    (error,) = bench.progress.errors
    assert error["line"] == 4
    assert bench.jobs.admissions == []
    assert bench.store.active() == []
    assert not bench.run.folder.exists()


@pytest.mark.parametrize("ended", [(), ("t0",), ("t0", "t1", "t2", "t3")])
def test_a_successor_runs_no_line_again(bench: Bench, ended: tuple[str, ...]) -> None:
    bench.create(lines(10))
    bench.turn()
    if ended:
        bench.jobs.end(*ended)
        bench.turn()
    bench.jobs.end("t2")  # while no process runs the batches
    bench.take_over()
    bench.turn()
    bench.finish()
    assert bench.progress.counts["succeeded"] == 10
    assert len(bench.jobs.admissions) == len(set(bench.jobs.admissions)) == 10
    assert len(bench.output()) == 10
    assert bench.counters() == {"batch_lines openai succeeded": 10, "batches openai completed": 1}


def test_the_results_of_a_batch_go_to_a_bucket(bench: Bench) -> None:
    bucket = RemoteObjects(f"memory://{bench.store.scripts.prefix.strip('{}:')}")
    bench.files = FileStore(bench.files.root, FileSettings(keep_free_mib=0), lambda: bench.now, bucket)
    bench.create(lines(2))
    bench.turn()
    bench.jobs.end()
    bench.finish()
    assert {line["custom_id"] for line in bench.output()} == {"id0", "id1"}
    assert not bench.run.folder.exists()
    assert not list(bench.files.root.glob("*/file-*"))


def test_a_former_runner_that_wakes_up_changes_nothing(bench: Bench) -> None:
    bench.create(lines(10))
    bench.turn()
    former = bench.run
    bench.jobs.end()
    bench.take_over()
    bench.turn()
    with pytest.raises(Fenced):
        bench.turn(run=former)
    former.cancel()
    with pytest.raises(Fenced):
        former.advance(bench.now)
    bench.finish()
    assert bench.progress.counts["succeeded"] == 10
    assert len(bench.jobs.admissions) == len(set(bench.jobs.admissions)) == 10


def test_a_run_that_dies_before_the_record_of_the_end_is_repeated_with_the_same_files(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.create(lines(2))
    bench.turn()
    bench.jobs.end()
    real = bench.store.update

    def dying(*arguments: Any, ended: bool = False, **options: Any) -> Any:
        if ended:
            raise OSError("killed")
        return real(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(bench.store, "update", dying)
        with pytest.raises(OSError, match="killed"):
            bench.turn()
    assert bench.progress.state == "finalizing"
    bench.take_over()
    bench.turn()
    assert bench.progress.state == "completed"
    assert len(bench.files.all_of("one")) == 1
    assert len(bench.output()) == 2
    assert bench.counters() == {"batch_lines openai succeeded": 2, "batches openai completed": 1}


def test_errors_of_lines_are_in_a_file_of_their_own(bench: Bench) -> None:
    bench.jobs.failures = {"t1": Failed("the engine crashed", code="engine_crashed")}
    bench.create(lines(2) + jsonl(chat_line("bad", "t2", "m", max_tokens=-1)))
    bench.turn()
    bench.jobs.end("t0")
    bench.jobs.end("t1", status=Status.FAILED)
    bench.turn()
    assert bench.progress.state == "completed"
    assert [line["custom_id"] for line in bench.output()] == ["id0"]
    errors = {line["custom_id"]: line["response"] for line in bench.output("error")}
    assert {id: response["status_code"] for id, response in errors.items()} == {"bad": 400, "id1": 502}
    assert errors["bad"]["body"]["error"]["param"] == "max_tokens"


def test_a_fault_of_the_platform_is_the_error_of_its_line_alone(bench: Bench) -> None:
    bench.create(
        jsonl(*(chat_line(id, id, "m") for id in ("a", "faulty")))
        + jsonl(chat_line("c", "c", "m", seed="faulty"))
    )
    bench.finish()
    assert [line["custom_id"] for line in bench.output()] == ["a"]
    errors = bench.output("error")
    assert {line["custom_id"] for line in errors} == {"faulty", "c"}
    assert {line["response"]["body"]["error"]["code"] for line in errors} == {"internal_error"}


def test_a_job_that_is_gone_is_an_error_and_does_not_run_again(bench: Bench) -> None:
    bench.jobs.failures = {"t0": Failed("lost", code="stream_lost")}
    bench.create(lines(1))
    bench.turn()
    bench.jobs.jobs.clear()
    bench.turn()
    assert bench.output("error")[0]["response"]["body"]["error"]["code"] == "stream_lost"
    assert bench.jobs.admissions == ["t0"]


def test_a_line_waits_for_its_model_and_lines_of_others_do_not(bench: Bench) -> None:
    bench.jobs.refusal = lambda job: ModelNotLoaded("no") if job.model == "off" else None
    bench.create(jsonl(chat_line("a", "a", "off"), chat_line("b", "b", "on")))
    bench.turn()
    assert bench.jobs.admissions == ["b"]
    bench.jobs.end()
    bench.turn()
    assert bench.progress.state == "in_progress"
    bench.jobs.refusal = lambda _: None
    bench.turn(1)
    assert bench.jobs.admissions == ["b"], "not before 5 s"
    bench.turn(5)
    assert bench.jobs.admissions == ["b", "a"]
    bench.finish()
    assert bench.progress.counts["succeeded"] == 2


def test_a_line_over_the_limit_of_tokens_waits_and_one_that_never_fits_is_an_error(bench: Bench) -> None:
    errors = [RateLimited("later", retry_after_s=2), RateLimited("never")]
    bench.jobs.refusal = lambda job: errors[bench.jobs.text(job.id) == "t1"]
    bench.create(lines(2))
    bench.turn()
    assert bench.on_disk() == {"id1": "errored"}
    bench.jobs.refusal = lambda _: None
    bench.turn(2)
    assert bench.jobs.admissions == ["t0"]


def test_a_job_that_never_ran_is_tried_again_and_one_that_ran_is_not(bench: Bench) -> None:
    bench.jobs.failures = {
        "t0": FailedInQueue("gone", code="model_unloading"),
        "t1": Failed("gone", code="load_interrupted"),
    }
    bench.create(lines(2))
    bench.turn()
    bench.jobs.end("t0", status=Status.FAILED, attempts=0)
    bench.jobs.end("t1", status=Status.FAILED, attempts=1)
    bench.turn()
    assert bench.on_disk() == {"id1": "errored"}
    bench.jobs.failures.clear()
    bench.turn(5)
    assert bench.jobs.admissions == ["t0", "t1", "t0"]


TEXT: Any = "the text"
"""What the documents of a line are read as; the runs of `reading_bench` take it as it is."""


@pytest.fixture
def reading_bench(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """A batch of two lines with documents and one without."""
    monkeypatch.setattr("api.batches.run.with_generation", lambda job, text: replace(job, echo=text))
    documents = [chat_line(f"c{at}", f"d{at}", "m", seed="document") for at in range(2)]
    bench.create(jsonl(*documents, chat_line("c2", "t2", "m")))
    return bench


def test_the_documents_of_one_line_of_a_tenant_are_read_at_a_time(reading_bench: Bench) -> None:
    jobs = reading_bench.jobs
    for _ in range(3):
        reading_bench.turn()
    assert (len(jobs.readings), jobs.admissions) == (1, [])
    reading_bench.window.begin_turn()
    reading_bench.run.look(START)
    assert not reading_bench.window.may_read("one"), "nor may another batch read any"
    assert reading_bench.window.may_read("two")
    jobs.readings[0].set_result(TEXT)
    reading_bench.turn()
    assert jobs.admissions == ["d0"]
    reading_bench.turn()
    assert len(jobs.readings) == 2
    jobs.readings[1].set_exception(DocumentRefused("is no text"))
    reading_bench.finish()
    assert [line["custom_id"] for line in reading_bench.output()] == ["c0", "c2"]
    (refused,) = reading_bench.output("error")
    assert (refused["custom_id"], refused["response"]["status_code"]) == ("c1", 400)


def test_a_line_whose_documents_find_no_turn_is_tried_again(reading_bench: Bench) -> None:
    jobs = reading_bench.jobs
    reading_bench.turn()
    jobs.readings[0].set_exception(TooManyDocuments("many", retry_after_s=1))
    reading_bench.turn()
    reading_bench.turn()
    jobs.readings[1].cancel()  # as when the process ends
    reading_bench.turn()
    for _ in range(30):
        reading_bench.turn(1)
        jobs.end()
        for reading in jobs.readings:
            if not reading.done():
                reading.set_result(TEXT)
    assert reading_bench.progress.state == "completed"
    assert {line["custom_id"] for line in reading_bench.output()} == {"c0", "c1", "c2"}
    assert len(jobs.readings) == 4
    assert sorted(jobs.admissions) == ["d0", "d1", "t2"]


def test_a_cancelled_batch_reads_no_documents_any_more(reading_bench: Bench) -> None:
    reading_bench.turn()
    reading_bench.store.cancel(reading_bench.id, "one")
    reading_bench.run.cancel()
    reading_bench.turn()
    assert reading_bench.jobs.readings[0].cancelled()
    assert reading_bench.progress.state == "cancelled"
    assert len(reading_bench.output("error")) == 3


def test_a_successor_reads_no_documents_of_a_line_that_has_a_job(reading_bench: Bench) -> None:
    reading_bench.turn()
    reading_bench.jobs.readings[0].set_result(TEXT)
    reading_bench.turn()
    reading_bench.take_over()
    reading_bench.turn()
    assert len(reading_bench.jobs.readings) == 2, "only those of the second line are read"
    assert sorted(reading_bench.run._in_flight) == [1, 3]


def test_the_batches_of_a_tenant_have_a_bounded_time_in_a_turn(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.batches.window.TURN_S", 0.0)
    bench.create(lines(2))
    bench.turn()
    assert bench.progress.state == "validating"
    monkeypatch.setattr("api.batches.window.TURN_S", 1e-9)
    bench.turn()
    assert (bench.progress.state, bench.jobs.admissions) == ("in_progress", []), "validating has taken it"
    bench.turn()
    assert bench.jobs.admissions == ["t0"]
    monkeypatch.undo()
    bench.turn()
    assert bench.jobs.admissions == ["t0", "t1"]


def test_a_revoked_key_ends_the_lines_that_have_not_begun(bench: Bench) -> None:
    bench.create(lines(6))
    bench.turn()
    bench.caller_error = InvalidApiKey("revoked")
    bench.jobs.end()
    bench.finish()
    assert bench.progress.counts == {"succeeded": 4, "errored": 2, "canceled": 0, "expired": 0}
    assert {line["response"]["status_code"] for line in bench.output("error")} == {401}


def test_a_line_that_has_a_job_gets_its_answer_although_it_would_be_refused_now(bench: Bench) -> None:
    bench.create(lines(6))
    bench.turn()
    bench.caller_error = InvalidApiKey("revoked")
    bench.take_over()
    bench.turn()
    bench.jobs.end()
    bench.finish()
    assert bench.progress.counts == {"succeeded": 4, "errored": 2, "canceled": 0, "expired": 0}


def test_no_line_is_admitted_while_the_quota_has_no_room(bench: Bench) -> None:
    bench.create(lines(6))
    bench.files._settings = replace(bench.files._settings, max_bytes_per_tenant=1)
    bench.turn()
    assert bench.jobs.admissions == []
    bench.files._settings = replace(bench.files._settings, max_bytes_per_tenant=1_000_000)
    bench.turn(5)
    assert len(bench.jobs.admissions) == 4


def test_waiting_jobs_fill_a_quarter_of_the_queue(bench: Bench) -> None:
    settings = Settings(queue=QueueSettings(max_depth=12))
    bench.window = Window(settings)
    bench.jobs.waits = True
    bench.jobs.of_tenant = limits_of(TENANT, settings, several_tenants=False)
    bench.create(lines(10))
    bench.turn()
    bench.turn()
    assert len(bench.jobs.admissions) == 3


def test_running_jobs_take_half_of_the_tenants_bound(bench: Bench) -> None:
    bench.jobs.of_tenant = replace(bench.jobs.of_tenant, max_running=4)
    bench.create(lines(10))
    bench.turn()
    assert len(bench.jobs.admissions) == 2


@pytest.mark.parametrize("takes_over", [False, True])
@pytest.mark.parametrize(("reason", "state"), [("canceled", "cancelled"), ("expired", "expired")])
def test_the_end_of_a_batch_keeps_what_is_done_and_stops_what_runs(
    bench: Bench, reason: str, state: str, takes_over: bool
) -> None:
    bench.create(lines(250))
    bench.turn()
    bench.jobs.end("t0")
    bench.turn()
    if reason == "canceled":
        bench.store.cancel(bench.id, "one")
    else:
        bench.now = START + WINDOW_S
    bench.jobs.end("t1")
    if takes_over:
        bench.take_over()
    else:
        bench.run.cancel() if reason == "canceled" else None
    for _ in range(10):
        bench.turn()
        if bench.run.progress.has_ended:
            break
    assert bench.progress.state == state
    assert bench.progress.done == bench.progress.total == 250
    assert bench.progress.counts["succeeded"] == 2
    assert bench.progress.counts[reason] == 248
    assert sorted(bench.jobs.cancelled) == ["t2", "t3", "t4"]
    assert sorted(line["custom_id"] for line in bench.output()) == ["id0", "id1"]
    assert len(bench.output("error")) == 248
    assert len(bench.jobs.admissions) == 5


def test_the_results_of_messages_stay_in_the_folder_until_they_are_deleted(bench: Bench) -> None:
    params = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "x"}]}
    content = jsonl({"custom_id": "a", "params": params}, {"custom_id": "b", "params": params})
    bench.create(content, "messages", "/v1/messages")
    bench.finish()
    assert bench.progress.state == "completed"
    assert {path.name for path in bench.run.folder.iterdir()} == {RESULTS}
    results = parsed((bench.run.folder / RESULTS).read_bytes())
    assert sorted(line["custom_id"] for line in results) == ["a", "b"]
    assert bench.files.all_of("one") == []


def test_a_batch_whose_record_is_gone_is_given_up(bench: Bench) -> None:
    bench.create(lines(2))
    bench.turn()
    bench.jobs.end()
    bench.store.delete(bench.id, "one", also_active=True)
    with pytest.raises(LookupError):
        bench.turn()
