"""The event writer: what it writes in one call, and what it does while Redis refuses or is unreachable."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from scheduler.job import AppendRequest, Claim, Release, Status, StepReply
from scheduler.ledger import AsyncLedger
from store.errors import StorageFull, StorageUnavailable
from streams.events import Delta, TextDelta, ToolCallDelta
from tests.support.waiting import scaled, wait_until
from workers import event_writer
from workers.event_writer import EventWriter
from workers.io_loop import IoLoop
from workers.running_job import RunningJob

MAX_LOG_BYTES = 100_000

NOTHING = StepReply({}, ())


class RecordingLedger(AsyncLedger):
    """Records the calls of `step`, and answers each with the next of `answers`."""

    def __init__(self) -> None:
        self.calls: list[tuple[list[AppendRequest], list[Release]]] = []
        self.answers: list[StepReply | Exception] = []
        self.deferred: list[float] = []
        self.waits_for_read_now = False
        self.reads = 0

    async def step(
        self,
        _incarnation: str,
        appends: Sequence[AppendRequest],
        releases: Sequence[Release],
        *,
        defer_s: float = 0.0,
    ) -> StepReply:
        self.calls.append((list(appends), list(releases)))
        self.deferred.append(defer_s)
        if defer_s and self.waits_for_read_now:
            while not self.reads:
                await asyncio.sleep(0)
        answer = self.answers.pop(0) if self.answers else NOTHING
        if isinstance(answer, Exception):
            raise answer
        return answer

    def read_now(self) -> None:
        self.reads += 1


class Setup:
    """An event writer on a loop of its own; records what it asks its owner to do."""

    def __init__(self) -> None:
        self.io = IoLoop()
        self.io.start()
        self.ledger = RecordingLedger()
        self.stopped: list[tuple[str, str]] = []
        self.begun: list[Claim] = []
        self.recoveries = 0
        self.writer = EventWriter(self.ledger, MAX_LOG_BYTES, self.stop_job, self.begun.extend, self.recover)
        self.io.loop.call_soon_threadsafe(self.writer.begin, "1")

    def stop_job(self, job: RunningJob, code: str) -> None:
        self.stopped.append((job.claim.id, code))
        job.stop(code)

    def recover(self) -> None:
        self.recoveries += 1

    def job_delta(self, job: RunningJob, delta: Delta) -> None:
        self.writer.write(job, delta)

    def job_left_engine(self, job: RunningJob, outcome: Any) -> None:
        raise NotImplementedError

    def job(self, id: str, last: int = 0) -> RunningJob:
        return RunningJob(Claim(id, f"fence of {id}", "alpha#1.0", b"{}", last, 1), self)

    def write(self, *items: tuple[RunningJob, Delta | None]) -> None:
        """Produce deltas (None: the end of the job) in one iteration of the loop."""

        async def produce() -> None:
            for job, delta in items:
                if delta is None:
                    self.writer.end(job, Release(job.claim.id, job.claim.fence, Status.COMPLETED))
                else:
                    job.delta(delta)

        self.io.call(produce())
        assert self.writer.wait_idle(5)


@pytest.fixture
def setup() -> Iterator[Setup]:
    made = Setup()
    yield made
    made.io.stop()


def encoded(*texts: str) -> tuple[bytes, ...]:
    return tuple(TextDelta(text).encode() for text in texts)


def test_all_that_one_iteration_of_the_loop_produces_is_written_in_one_call(setup: Setup) -> None:
    first, second = setup.job("a"), setup.job("b")
    setup.write((first, TextDelta("1")), (second, TextDelta("2")), (first, TextDelta("3")), (second, None))
    ((appends, releases),) = setup.ledger.calls
    assert appends == [
        AppendRequest("a", "alpha#1.0", "fence of a", 1, encoded("13")),
        AppendRequest("b", "alpha#1.0", "fence of b", 1, encoded("2")),
    ]
    assert [release.id for release in releases] == ["b"]


def test_events_are_numbered_from_the_last_event_of_the_claim(setup: Setup) -> None:
    job = setup.job("a", last=7)
    setup.write((job, TextDelta("x")), (job, ToolCallDelta(0, "{}")))
    setup.write((job, TextDelta("y")))
    assert [append.number for appends, _ in setup.ledger.calls for append in appends] == [8, 10]


def test_a_call_is_bounded_and_a_release_follows_all_output_of_its_job(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_writer, "MAX_DELTAS_PER_STEP", 3)
    first, second = setup.job("a"), setup.job("b")
    tools = [ToolCallDelta(number) for number in range(4)]
    setup.write(*[(first, tool) for tool in tools], (second, TextDelta("x")), (first, None), (second, None))
    sizes = [{append.id: len(append.events) for append in appends} for appends, _ in setup.ledger.calls]
    ended = [[release.id for release in releases] for _, releases in setup.ledger.calls]
    assert sizes == [{"a": 3}, {"a": 1, "b": 1}]
    assert ended == [[], ["a", "b"]]


def test_a_call_holds_a_bounded_number_of_ends(setup: Setup) -> None:
    setup.write(*[(setup.job(f"r{number}"), None) for number in range(250)])
    assert [len(releases) for _, releases in setup.ledger.calls] == [100, 100, 50]


def test_two_runs_of_one_job_are_not_in_one_call(setup: Setup) -> None:
    """The verdict on the earlier run would stop the later one."""
    setup.ledger.answers = [NOTHING, StepReply({"a": "cancel"}, ())]
    earlier, later = setup.job("a"), setup.job("a", last=3)
    setup.write((earlier, TextDelta("of the earlier")), (earlier, None), (later, TextDelta("of the later")))
    ((appends, releases),) = setup.ledger.calls
    assert [(append.number, append.events) for append in appends] == [(4, encoded("of the later"))]
    assert [release.last for release in releases] == [0]
    setup.write((later, TextDelta("more")))
    assert later.stop_code == "cancelled"
    assert earlier.stop_code is None


def test_a_call_is_repeated_until_redis_answers_and_then_lost_claims_are_asked_for(setup: Setup) -> None:
    setup.ledger.answers = [StorageUnavailable("no"), StorageUnavailable("no")]
    job = setup.job("a")
    setup.write((job, TextDelta("x")), (job, None))
    assert len(setup.ledger.calls) == 3
    assert setup.ledger.calls[0] == setup.ledger.calls[1] == setup.ledger.calls[2]
    assert setup.recoveries == 1


def test_a_call_is_repeated_until_redis_accepts_writes_and_no_output_is_lost(setup: Setup) -> None:
    setup.ledger.answers = [StorageFull("MISCONF")] * 2
    going_on, ended = setup.job("a"), setup.job("b")
    setup.write((going_on, TextDelta("x")), (ended, TextDelta("y")), (ended, None))
    first, second, third = setup.ledger.calls
    assert first == second == third
    assert [append.id for append in first[0]] == ["a", "b"]
    assert setup.stopped == []


def test_a_job_that_produces_more_than_is_buffered_while_redis_is_unreachable_stops(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_writer, "MAX_PENDING_DELTAS", 10)
    setup.ledger.answers = [StorageUnavailable("no")] * 2
    job = setup.job("a")
    setup.write((job, TextDelta("first")), *[(job, TextDelta("x"))] * 20)
    assert setup.stopped == [("a", "storage_unavailable")]
    (append,) = setup.ledger.calls[-1][0]
    assert append.events == encoded("first" + "x" * 10)


@pytest.mark.parametrize(
    ("verdict", "code"),
    [("cancel", "cancelled"), ("fenced", "fenced"), ("log_lost", "log_lost")],
)
def test_a_verdict_in_the_reply_stops_its_job(setup: Setup, verdict: str, code: str) -> None:
    setup.ledger.answers = [StepReply({"a": verdict}, ())]
    setup.write((setup.job("a"), TextDelta("x")), (setup.job("b"), TextDelta("x")))
    assert setup.stopped == [("a", code)]


def test_output_that_cannot_be_encoded_stops_its_own_job_only(setup: Setup) -> None:
    setup.write((setup.job("a"), TextDelta("\ud800")), (setup.job("b"), TextDelta("x")))
    ((appends, _),) = setup.ledger.calls
    assert [append.id for append in appends] == ["b"]
    assert setup.stopped == [("a", "engine_error")]


def test_the_events_of_a_fenced_job_are_not_written(setup: Setup) -> None:
    job = setup.job("a")

    def produce() -> None:
        job.delta(TextDelta("x"))
        job.stop("fenced")

    setup.io.loop.call_soon_threadsafe(produce)
    setup.write((setup.job("b"), TextDelta("y")))
    assert [append.id for appends, _ in setup.ledger.calls for append in appends] == ["b"]


def test_claims_in_the_reply_are_begun(setup: Setup) -> None:
    claim = Claim("next", "2", "alpha#1.0", b"{}", 0, 1)
    setup.ledger.answers = [StepReply({}, (claim,))]
    setup.write((setup.job("a"), None))
    assert setup.begun == [claim]


def test_a_job_is_known_until_its_release_is_written(setup: Setup) -> None:
    setup.ledger.answers = [StorageUnavailable("no")] * 1000
    job = setup.job("a")
    release = Release("a", "fence of a", Status.COMPLETED)
    setup.io.loop.call_soon_threadsafe(setup.writer.end, job, release)
    wait_until(lambda: setup.ledger.calls)
    assert setup.writer.releasing == {"a"}
    setup.io.loop.call_soon_threadsafe(setup.ledger.answers.clear)
    assert setup.writer.wait_idle(scaled(5))
    assert setup.writer.releasing == set()


def test_a_job_stops_when_its_log_is_too_large(setup: Setup) -> None:
    job, other = setup.job("a"), setup.job("b")
    for _ in range(3):
        setup.write((job, TextDelta("x" * (MAX_LOG_BYTES // 3))), (other, TextDelta("y")))
    assert setup.stopped == [("a", "output_too_large")]


def test_the_reply_to_a_sparse_step_is_deferred_unless_a_job_ends(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = setup.job("a")
    monkeypatch.setattr(event_writer, "SPARSE_S", -1.0)
    setup.write((job, TextDelta("1")))
    setup.write((job, TextDelta("2")), (job, None))
    monkeypatch.setattr(event_writer, "SPARSE_S", 1000.0)
    setup.write((setup.job("b"), TextDelta("3")))
    assert setup.ledger.deferred == [event_writer.DEFER_S, 0.0, 0.0]


def test_new_output_reads_a_deferred_reply(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_writer, "SPARSE_S", -1.0)
    setup.ledger.waits_for_read_now = True
    job = setup.job("a")

    async def produce() -> None:
        job.delta(TextDelta("1"))
        while not setup.ledger.calls:
            await asyncio.sleep(0)
        job.delta(TextDelta("2"))
        job.delta(TextDelta("3"))

    setup.io.call(produce())
    wait_until(lambda: len(setup.ledger.calls) == 2)
    assert setup.ledger.reads == 1
    setup.write((job, None))
    assert [append.events for appends, _ in setup.ledger.calls for append in appends] == [
        encoded("1"),
        encoded("23"),
    ]
