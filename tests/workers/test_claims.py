"""Claims that arrive twice, late, never, or at the same moment as something else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from backends.base import Sink
from config.settings import LeaseSettings, LimitSettings, RestartSettings, Settings
from engines.engine_process.errors import EngineLost
from scheduler.job import StepReply
from scheduler.ledger import AsyncLedger
from store.errors import StorageUnavailable
from store.subscription import Subscription
from streams.events import End, TextDelta
from tests.support.scripted_engine import COMPLETED, ScriptedAdapter, ScriptedEngine
from tests.support.waiting import wait_until
from tests.support.worker_harness import WorkerHarness

Start = Callable[..., tuple[WorkerHarness, ScriptedEngine]]


def answer_at_once(sink: Sink) -> None:
    sink.delta(TextDelta("a"))
    sink.delta(TextDelta("b"))
    sink.finish(COMPLETED)


def answer_nothing(_sink: Sink) -> None:
    pass


@pytest.fixture
def start(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Starts a worker with model alpha in a scripted engine, which does nothing by default."""
    made: list[WorkerHarness] = []

    def start(
        on_submit: Callable[[Sink], None] = answer_nothing, *, intake: bool = True, **changes: Any
    ) -> tuple[WorkerHarness, ScriptedEngine]:
        adapter = ScriptedAdapter(on_submit)
        monkeypatch.setattr("workers.replica_manager.adapter", lambda _name: adapter)
        worker = WorkerHarness(replace(settings, **changes), intake=intake)
        made.append(worker)
        worker.load()
        return worker, adapter.engines[0]

    yield start
    for worker in made:
        worker.close()


def claims(worker: WorkerHarness) -> list[Any]:
    """The claims that the ledger has for this worker."""
    return worker.ledger.take_claims("w1", worker.executor.incarnation, [])


def ends(worker: WorkerHarness, id: str) -> list[End]:
    return [event for event in worker.events(id) if isinstance(event, End)]


def await_end(worker: WorkerHarness, id: str) -> End:
    """Wait for the end of a job without any heartbeat."""
    wait_until(lambda: ends(worker, id))
    (end,) = ends(worker, id)
    return end


def test_an_engine_may_answer_before_submit_returns(start: Start) -> None:
    worker, engine = start(answer_at_once)
    ids = [worker.admit("Hi") for _ in range(10)]
    for id in ids:
        assert await_end(worker, id).status == "completed"
        assert worker.events(id)[:-1] == [TextDelta("ab")]
    assert sorted(engine.submitted) == sorted(ids)
    assert worker.executor.running == {}


def test_a_claim_that_arrives_twice_is_run_once(start: Start) -> None:
    worker, engine = start(answer_at_once, intake=False)
    id = worker.admit("Hi")
    found = claims(worker)
    worker.on_loop(worker.executor.begin_jobs, [*found, *found])
    assert await_end(worker, id).status == "completed"
    worker.on_loop(worker.executor.begin_jobs, found)  # the job has ended here
    assert engine.submitted == [id]
    assert len(worker.events(id)) == 2


def test_a_cancel_reaches_the_engine_without_a_heartbeat(start: Start) -> None:
    worker, engine = start()
    channel = worker.ledger.notify_channel("w1")
    worker.io.spawn(Subscription(worker.settings, channel, worker.executor.on_message, lambda: None).run())
    wait_until(lambda: dict(worker.client.pubsub_numsub(channel))[channel.encode()] == 1)
    id = worker.admit("Hi")
    wait_until(lambda: id in engine.sinks)
    worker.ledger.cancel(id, "acme")
    assert await_end(worker, id).status == "cancelled"
    assert engine.cancelled == [id]


def test_a_cancel_that_arrives_before_the_claim_keeps_the_job_from_the_engine(start: Start) -> None:
    worker, engine = start(intake=False)
    id = worker.admit("Hi")
    worker.ledger.cancel(id, "acme")
    worker.on_loop(worker.executor.cancel_job, id)
    worker.heartbeat()
    assert await_end(worker, id).status == "cancelled"
    assert engine.submitted == []


def test_a_job_that_the_ledger_gave_to_this_worker_again_waits_for_the_end_of_its_first_run(
    start: Start,
) -> None:
    """Its lease ran out, perhaps while this process was suspended."""
    worker, engine = start()
    id = worker.admit("Hi")
    wait_until(lambda: id in engine.sinks)
    first_run = worker.executor.running[id]
    late = engine.sinks[id]
    engine.cancel = lambda _id: None  # type: ignore[method-assign]
    worker.client.zadd(f"{worker.ledger.scripts.prefix}leases", {id: 1})
    worker.fleet.registry.expire()
    wait_until(lambda: first_run.stop_code == "fenced")
    assert worker.executor.running[id] is first_run
    worker.on_loop(late.delta, TextDelta("of the first run"))
    worker.on_loop(late.finish, COMPLETED)
    wait_until(lambda: len(engine.submitted) == 2)
    worker.on_loop(engine.sinks[id].delta, TextDelta("of the second"))
    worker.on_loop(engine.sinks[id].finish, COMPLETED)
    assert await_end(worker, id).status == "completed"
    assert worker.events(id)[:-1] == [TextDelta("of the second")]


def test_a_claim_that_arrives_after_a_newer_one_of_its_job_is_ignored(start: Start) -> None:
    worker, engine = start(intake=False)
    id = worker.admit("Hi")
    (claim,) = claims(worker)
    older, newer = (replace(claim, fence=str(int(claim.fence) + change)) for change in (-1, 1))
    worker.on_loop(worker.executor.begin_jobs, [claim])
    run = worker.executor.running[id]
    worker.on_loop(worker.executor.begin_jobs, [older])
    assert run.stop_code is None
    engine.cancel = lambda _id: None  # type: ignore[method-assign]
    worker.on_loop(worker.executor.begin_jobs, [newer])
    worker.on_loop(worker.executor.begin_jobs, [replace(claim, fence=str(int(claim.fence) - 2))])
    worker.on_loop(engine.sinks[id].finish, COMPLETED)
    assert worker.executor.running[id].claim == newer


def test_a_run_that_only_the_worker_takes_for_fenced_writes_no_end(start: Start) -> None:
    """Such an end would reach the client if the worker's list of jobs was outdated."""
    worker, engine = start(intake=False)
    id = worker.admit("Hi")
    worker.on_loop(worker.executor.begin_jobs, claims(worker))
    worker.on_loop(worker.executor.stop_job, worker.executor.running[id], "fenced")
    wait_until(lambda: not worker.executor.running)
    assert engine.cancelled == [id]
    assert worker.executor.event_writer.wait_idle(5)
    assert ends(worker, id) == []


def test_a_job_ends_when_the_loss_of_its_engine_cannot_be_reported(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker, engine = start()

    def fail(*_: object) -> None:
        raise ValueError("unexpected")

    monkeypatch.setattr(worker.executor.replicas, "report_lost", fail)
    id = worker.admit("Hi")
    wait_until(lambda: id in engine.sinks)
    worker.on_loop(engine.sinks[id].delta, TextDelta("a"))
    worker.on_loop(engine.sinks[id].fail, EngineLost("engine_crashed", "the engine ended by itself"))
    assert await_end(worker, id).code == "engine_crashed"


def test_a_job_ends_when_the_probe_of_its_engine_fails_unexpectedly(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker, engine = start()

    async def fail(*_: object) -> None:
        raise ValueError("unexpected")

    monkeypatch.setattr(worker.executor.stall_detector, "probe", fail)
    id = worker.admit("Hi")
    wait_until(lambda: id in engine.sinks)
    worker.on_loop(worker.executor.stop_job, worker.executor.running[id], "engine_stalled")
    assert await_end(worker, id).code == "engine_stalled"


def test_an_outcome_that_comes_after_the_engine_was_stopped_has_the_code_of_the_shut_down(
    start: Start,
) -> None:
    worker, engine = start()
    id = worker.admit("Hi")
    wait_until(lambda: id in engine.sinks)
    sink, loop = engine.sinks[id], worker.executor.loop
    engine.cancel = lambda _id: None  # type: ignore[method-assign]

    def stop(_timeout_s: float) -> None:
        lost = EngineLost("engine_crashed", "the engine was stopped")
        loop.call_soon_threadsafe(loop.call_later, 0.2, sink.fail, lost)

    engine.stop = stop  # type: ignore[method-assign]
    worker.executor.shut_down(0)
    assert ends(worker, id)[-1].code == "worker_shutdown"


def test_claims_are_asked_for_until_no_new_ones_come(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """One reply may hold a part of them."""
    worker, engine = start(intake=False)
    ids = [worker.admit("Hi") for _ in range(2)]
    take = AsyncLedger.take_claims

    async def take_one(self: AsyncLedger, *arguments: Any) -> list[Any]:
        return (await take(self, *arguments))[:1]

    monkeypatch.setattr(AsyncLedger, "take_claims", take_one)
    worker.on_loop(worker.executor.recover_claims)
    wait_until(lambda: sorted(engine.submitted) == sorted(ids))


def test_a_claim_for_a_replica_that_is_not_here_goes_back_to_the_ledger(start: Start) -> None:
    worker, engine = start()
    (replica,) = worker.executor.replicas.by_name.values()
    del worker.executor.replicas.by_name[replica.name]
    id = worker.admit("Hi")
    job = f"{worker.ledger.scripts.prefix}job:{id}"
    wait_until(lambda: worker.fleet.row("alpha").code == "load_interrupted")
    wait_until(lambda: id not in worker.executor.running)
    assert worker.client.hget(job, "status") == b"queued", "it waits for the model, which is loaded again"
    assert engine.submitted == []


def test_all_jobs_of_a_lost_engine_wait_until_the_ledger_knows_of_its_loss(start: Start) -> None:
    """Otherwise the ledger would give their slots to the next jobs."""
    worker, engine = start(answer_nothing, restart=RestartSettings(max_restarts=0))
    ids = [worker.admit("Hi") for _ in range(4)]
    wait_until(lambda: len(engine.sinks) == 2)
    lost = EngineLost("engine_crashed", "the engine ended by itself")
    for sink in list(engine.sinks.values()):
        worker.on_loop(sink.fail, lost)
    assert {await_end(worker, id).code for id in ids} == {"engine_crashed", "model_failed"}
    assert len(engine.submitted) == 2
    assert worker.fleet.row("alpha").state == "failed"


def test_the_next_jobs_come_with_the_reply_that_frees_their_slots(start: Start) -> None:
    worker, engine = start()
    ids = [worker.admit("Hi") for _ in range(4)]
    wait_until(lambda: len(engine.submitted) == 2)
    pushed = worker.client.llen(worker.ledger.claims_key(worker.executor.incarnation))
    worker.on_loop(lambda: [engine.sinks[id].finish(COMPLETED) for id in ids[:2]])
    wait_until(lambda: engine.submitted == ids)
    assert pushed == 0


def test_claims_in_a_reply_that_was_lost_are_asked_for_again(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker, engine = start()
    step = AsyncLedger.step
    lost: list[StepReply] = []

    async def lose_first_reply(self: AsyncLedger, *arguments: Any, **options: Any) -> StepReply:
        reply = await step(self, *arguments, **options)
        if not lost:
            lost.append(reply)
            raise StorageUnavailable("the reply was lost")
        return reply

    monkeypatch.setattr(AsyncLedger, "step", lose_first_reply)
    ids = [worker.admit("Hi") for _ in range(3)]
    wait_until(lambda: len(engine.submitted) == 2)
    worker.on_loop(engine.sinks[ids[0]].finish, COMPLETED)
    wait_until(lambda: engine.submitted == ids)
    assert [claim.id for claim in lost[0].claims] == ids[2:]
    assert await_end(worker, ids[0]).status == "completed"


def test_a_job_whose_end_redis_has_lost_is_ended_again(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LeaseSettings, "heartbeat_ms", 10)
    worker, engine = start()
    id = worker.admit("Hi")
    wait_until(lambda: id in engine.sinks)
    worker.on_loop(engine.sinks[id].delta, TextDelta("a"))
    wait_until(lambda: worker.events(id))
    keys = worker.client.keys(f"{worker.ledger.scripts.prefix}*")
    before = {key: worker.client.dump(key) for key in keys}
    worker.on_loop(engine.sinks[id].finish, COMPLETED)
    assert await_end(worker, id).status == "completed"
    wait_until(lambda: not worker.executor.running)
    for key, value in before.items():  # as a Redis that is restored from its disk
        worker.client.restore(key, 0, value, replace=True)
    worker.until(lambda: ends(worker, id))
    assert await_end(worker, id).code == "log_lost"
    assert engine.submitted == [id]
    assert not worker.client.keys(f"{worker.ledger.scripts.prefix}slots:*")


def test_a_job_that_the_ledger_does_not_list_any_more_is_stopped(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LeaseSettings, "heartbeat_ms", 10)
    worker, engine = start()
    id = worker.admit("Hi")
    wait_until(lambda: id in engine.sinks)
    worker.ledger.cancel(id, "acme")
    worker.client.delete(*worker.client.keys(f"{worker.ledger.scripts.prefix}slots:*"))
    worker.until(lambda: not worker.executor.running)
    assert engine.cancelled == [id]


def test_a_sink_takes_one_outcome_and_drops_output_after_a_stop(start: Start) -> None:
    worker, engine = start(limits=LimitSettings())
    id = worker.admit("Hi")
    wait_until(lambda: id in engine.sinks)
    job = worker.executor.running[id]

    def end_twice() -> None:
        job.delta(TextDelta("a"))
        job.stop("unload_deadline")
        job.delta(TextDelta("b"))
        job.finish(COMPLETED)
        job.fail(EngineLost("engine_crashed", "late"))

    worker.on_loop(end_twice)
    end = await_end(worker, id)
    assert (end.status, end.code) == ("failed", "unload_deadline")
    assert worker.events(id)[:-1] == [TextDelta("a")]
    assert worker.fleet.row("alpha").state == "loaded"
