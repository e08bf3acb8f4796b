"""Loads and unloads in every state of a model, and the states that follow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import redis

from fleet.engine_report import EngineReport
from fleet.errors import InvalidLoadRequest, StateConflict
from fleet.load_request import LoadOutcome, LoadRequest
from fleet.states import ModelState, OperationStatus, ReplicaState
from store.errors import UnknownModel
from tests.support.simulated_platform import SimulatedPlatform

# ---- functions that bring a model into each state


def unloaded(platform: SimulatedPlatform) -> None:
    pass


def unloaded_by_an_operator(platform: SimulatedPlatform) -> None:
    for replica in platform.load():
        platform.fleet.unload("alpha")
        platform.stopped(replica)


def loading(platform: SimulatedPlatform) -> None:
    outcome = platform.fleet.load("alpha")
    platform.starting(outcome.assignments[0].replica, outcome.assignments[0].worker)


def loaded(platform: SimulatedPlatform) -> None:
    platform.load()


def unloading(platform: SimulatedPlatform) -> None:
    platform.load()
    platform.fleet.unload("alpha")


def failed(platform: SimulatedPlatform) -> None:
    platform.crash(platform.load()[0])


def failed_with_a_stopping_replica(platform: SimulatedPlatform) -> None:
    """One of two replicas failed to start; the other has not stopped yet."""
    outcome = platform.fleet.load("alpha", LoadRequest(2))
    for item in outcome.assignments:
        platform.starting(item.replica, item.worker)
    platform.crash(outcome.assignments[0].replica, outcome.assignments[0].worker, code="load_failed")


def begins(platform: SimulatedPlatform, outcome: LoadOutcome, kind: str) -> None:
    assert outcome.operation
    assert outcome.operation.kind == kind
    assert outcome.operation.id == platform.fleet.row("alpha").operation_id
    assert outcome.assignments


def does_nothing(platform: SimulatedPlatform, outcome: LoadOutcome, _kind: str) -> None:
    assert outcome.assignments == ()
    assert outcome.operation is None or outcome.operation.id == platform.fleet.row("alpha").operation_id


Expectation = Callable[[SimulatedPlatform, LoadOutcome, str], None]

LOADS = [
    (unloaded, begins, "loading"),
    (unloaded_by_an_operator, begins, "loading"),
    (loading, does_nothing, "loading"),
    (loaded, does_nothing, "loaded"),
    (unloading, "model_unloading", "unloading"),
    (failed, begins, "loading"),
    (failed_with_a_stopping_replica, "model_unloading", "failed"),
]
UNLOADS = [
    (unloaded, does_nothing, "unloaded"),
    (unloaded_by_an_operator, does_nothing, "unloaded"),
    (loading, begins, "unloading"),
    (loaded, begins, "unloading"),
    (unloading, does_nothing, "unloading"),
    (failed, does_nothing, "unloaded"),
    (failed_with_a_stopping_replica, begins, "unloading"),
]


def name_of(value: object) -> str:
    return getattr(value, "__name__", str(value))


@pytest.mark.rule("state/runtime-state", "state/unloaded", "models/runtime-state-is-loaded", "load/rules-3")
@pytest.mark.parametrize(("arrange", "expected", "after"), LOADS, ids=name_of)
def test_a_load_begins_does_nothing_or_is_refused_depending_on_the_state(
    platform: SimulatedPlatform,
    arrange: Callable[[SimulatedPlatform], None],
    expected: Expectation | str,
    after: str,
) -> None:
    arrange(platform)
    check_call(platform, platform.fleet.load, expected, "load")
    assert platform.model() == after


@pytest.mark.rule("state/runtime-state", "state/loaded", "docs/out-of-scope")
@pytest.mark.parametrize(("arrange", "expected", "after"), UNLOADS, ids=name_of)
def test_an_unload_begins_does_nothing_or_is_refused_depending_on_the_state(
    platform: SimulatedPlatform,
    arrange: Callable[[SimulatedPlatform], None],
    expected: Expectation | str,
    after: str,
) -> None:
    arrange(platform)
    check_call(platform, platform.fleet.unload, expected, "unload")
    assert platform.model() == after


@pytest.mark.parametrize("arrange", [failed, failed_with_a_stopping_replica], ids=name_of)
def test_an_unload_dismisses_the_failure_of_a_model(
    platform: SimulatedPlatform, arrange: Callable[[SimulatedPlatform], None]
) -> None:
    arrange(platform)
    row = platform.fleet.row("alpha")
    assert row.last_error is not None
    assert row.code is not None
    platform.fleet.unload("alpha")
    row = platform.fleet.row("alpha")
    assert (row.last_error, row.code) == (None, None)


def check_call(
    platform: SimulatedPlatform, call: Callable[[str], LoadOutcome], expected: Expectation | str, kind: str
) -> None:
    if isinstance(expected, str):
        with pytest.raises(StateConflict) as refusal:
            call("alpha")
        assert refusal.value.code == expected
    else:
        expected(platform, call("alpha"), kind)


@pytest.mark.rule("state/runtime-state")
def test_a_state_is_terminal_when_no_operation_is_under_way() -> None:
    assert {state for state in ModelState if state.is_terminal} == {"unloaded", "loaded", "failed"}
    assert {state for state in OperationStatus if state.is_terminal} == {"completed", "failed", "cancelled"}
    assert {str(state) for state in ReplicaState} == {"assigned", "starting", "up", "stopping"}


# ---- invalid requests


def test_a_model_that_is_not_configured_is_unknown(platform: SimulatedPlatform) -> None:
    for call in (platform.fleet.load, platform.fleet.unload, platform.fleet.row):
        with pytest.raises(UnknownModel):
            call("gamma")


@pytest.mark.rule("models/replicas-replica-max")
@pytest.mark.parametrize("count", [0, -1, 5])
def test_the_number_of_replicas_is_bounded(platform: SimulatedPlatform, count: int) -> None:
    with pytest.raises(InvalidLoadRequest) as refusal:
        platform.fleet.load("alpha", LoadRequest(count))
    assert refusal.value.param == "replicas"
    assert platform.model() == "unloaded"


# ---- several replicas


@pytest.mark.rule("models/loaded-replicas")
def test_a_model_is_loaded_when_the_last_of_its_replicas_is_up(platform: SimulatedPlatform) -> None:
    outcome = platform.fleet.load("alpha", LoadRequest(2))
    first, second = outcome.assignments
    for item in (first, second):
        assert platform.starting(item.replica, item.worker) == "alpha"
    assert platform.up(first.replica, first.worker)
    assert platform.model() == "loading"
    assert platform.fleet.row("alpha").loaded_replicas == 0
    assert platform.up(second.replica, second.worker)
    row = platform.fleet.row("alpha")
    assert (row.state, row.loaded_replicas, row.replicas) == ("loaded", 2, 2)
    assert row.loaded_at
    assert len({platform.admit() for _ in range(4)}) == platform.slots_taken() == 4


@pytest.mark.rule("state/failed", "load/notes-2")
@pytest.mark.parametrize("other", ["assigned", "starting", "up"])
def test_the_other_replicas_stop_when_one_fails(platform: SimulatedPlatform, other: str) -> None:
    outcome = platform.fleet.load("alpha", LoadRequest(2))
    failing, left = outcome.assignments
    platform.starting(failing.replica, failing.worker)
    if other != "assigned":
        platform.starting(left.replica, left.worker)
    if other == "up":
        platform.up(left.replica, left.worker)
    platform.crash(failing.replica, failing.worker, code="load_failed")
    row = platform.fleet.row("alpha")
    assert (row.state, row.code, row.last_error) == ("failed", "load_failed", "killed by SIGSEGV")
    reply = platform.ledger.heartbeat(left.worker, platform.incarnations[left.worker])
    assert reply.replicas == {left.replica: "stopping"}
    assert platform.starting(left.replica, left.worker) is None
    assert not platform.up(left.replica, left.worker)
    assert not platform.fleet.replica_progress(left.replica, 0.9, "reading")
    platform.stopped(left.replica, left.worker)
    assert platform.ledger.heartbeat(left.worker, platform.incarnations[left.worker]).replicas == {}
    assert platform.model() == "failed"
    assert platform.load(replicas=2)


@pytest.mark.rule("models/last-error", "load/rules-3")
def test_the_operation_of_a_failed_load_has_the_error(platform: SimulatedPlatform) -> None:
    outcome = platform.fleet.load("alpha")
    item = outcome.assignments[0]
    platform.starting(item.replica, item.worker)
    platform.crash(item.replica, item.worker, code="load_failed")
    assert outcome.operation
    operation = platform.fleet.operation(outcome.operation.id)
    assert operation
    assert (operation.status, operation.error) == ("failed", "killed by SIGSEGV")
    assert operation.finished_at


@pytest.mark.rule("state/failed")
def test_a_new_load_clears_the_last_error(platform: SimulatedPlatform) -> None:
    failed(platform)
    platform.load()
    row = platform.fleet.row("alpha")
    assert (row.state, row.code, row.last_error) == ("loaded", None, None)


@pytest.mark.rule("models/loaded-replicas")
def test_a_model_that_loses_one_of_two_stays_loaded(platform: SimulatedPlatform) -> None:
    first, second = platform.load(replicas=2)
    platform.crash(first, "w1")
    row = platform.fleet.row("alpha")
    assert (row.state, row.loaded_replicas, row.last_error) == ("loaded", 1, "killed by SIGSEGV")
    platform.crash(second, "w2")
    assert platform.model() == "failed"


# ---- unloading


@pytest.mark.rule("state/unloading", "unload/in-flight-requests")
def test_an_unload_stops_admissions_fails_waiting_jobs_and_lets_running_ones_finish(
    platform: SimulatedPlatform,
) -> None:
    from store.errors import ModelUnloading

    (replica,) = platform.load(slots=1)
    running, waiting = platform.admit(), platform.admit()
    claim = platform.run(running)
    outcome = platform.fleet.unload("alpha")
    assert [(item.replica, item.worker) for item in outcome.assignments] == [(replica, "w1")]
    with pytest.raises(ModelUnloading):
        platform.admit()
    assert platform.end(waiting).code == "model_unloading"
    assert platform.append_text(claim, 1, "to the end") == {}
    assert platform.ledger.jobs_on_replica(replica) == 1
    platform.release(claim)
    assert platform.ledger.jobs_on_replica(replica) == 0
    assert platform.end(running).status == "completed"
    platform.stopped(replica)
    assert platform.model() == "unloaded"
    assert outcome.operation
    operation = platform.fleet.operation(outcome.operation.id)
    assert operation
    assert (operation.status, operation.progress) == ("completed", 1.0)


@pytest.mark.rule("unload/scheduler-alignment")
def test_a_job_whose_claim_was_sent_before_the_unload_may_still_run(platform: SimulatedPlatform) -> None:
    platform.load()
    id = platform.admit()
    platform.fleet.unload("alpha")
    platform.release(platform.run(id))
    assert platform.end(id).status == "completed"


def test_a_job_that_holds_a_slot_when_the_engine_stops_fails(platform: SimulatedPlatform) -> None:
    (replica,) = platform.load()
    id = platform.admit()
    platform.append_text(platform.run(id), 1, "Once")
    platform.fleet.unload("alpha")
    platform.stopped(replica)
    assert platform.end(id).status == "failed"
    assert platform.model() == "unloaded"


@pytest.mark.rule("unload/rules-2")
def test_a_model_is_unloaded_when_its_last_replica_is_down(platform: SimulatedPlatform) -> None:
    first, second = platform.load(replicas=2)
    platform.fleet.unload("alpha")
    platform.stopped(second, "w2")
    assert platform.model() == "unloading"
    platform.crash(first, "w1")
    assert platform.model() == "unloaded"


# ---- repeated messages and calls


def test_a_second_message_starts_no_second_engine(platform: SimulatedPlatform) -> None:
    outcome = platform.fleet.load("alpha")
    item = outcome.assignments[0]
    assert platform.starting(item.replica, item.worker) == "alpha"
    assert platform.starting(item.replica, item.worker) is None


def test_a_call_repeated_after_a_lost_reply_gets_the_same_reply(platform: SimulatedPlatform) -> None:
    outcome = platform.fleet.load("alpha")
    item = outcome.assignments[0]
    incarnation = platform.incarnations[item.worker]
    for _ in range(2):
        assert (
            platform.fleet.replica_starting(item.replica, item.worker, incarnation, "call-1").model == "alpha"
        )  # type: ignore[union-attr]
    for _ in range(2):
        assert platform.fleet.replica_up(item.replica, item.worker, incarnation, 2, 4242)
    assert platform.model() == "loaded"
    platform.stopped(item.replica, item.worker)
    assert not platform.up(item.replica, item.worker)


def test_a_replica_cannot_be_started_by_another_worker(platform: SimulatedPlatform) -> None:
    outcome = platform.fleet.load("alpha")
    item = outcome.assignments[0]
    other = {"w1": "w2", "w2": "w1"}[item.worker]
    assert platform.starting(item.replica, other) is None
    platform.starting(item.replica, item.worker)
    platform.up(item.replica, item.worker)
    assert platform.model() == "loaded"


# ---- operations


@pytest.mark.rule("beyond/operations")
def test_an_operation_shows_the_mean_of_its_replicas(platform: SimulatedPlatform) -> None:
    outcome = platform.fleet.load("alpha", LoadRequest(2))
    assert outcome.operation
    id = outcome.operation.id
    assert (outcome.operation.status, outcome.operation.progress) == ("pending", 0.0)
    first, second = outcome.assignments
    platform.starting(first.replica, first.worker)
    assert platform.fleet.operation(id).status == "running"  # type: ignore[union-attr]
    assert platform.fleet.replica_progress(first.replica, 0.5, "reading weights")
    half = platform.fleet.operation(id)
    assert half
    assert (half.progress, half.stage, half.finished_at) == (0.25, "reading weights", None)
    platform.starting(second.replica, second.worker)
    platform.up(first.replica, first.worker)
    platform.fleet.replica_progress(second.replica, 0.5, "warming up")
    assert platform.fleet.operation(id).progress == 0.75  # type: ignore[union-attr]
    platform.advance_time(7)
    platform.up(second.replica, second.worker)
    done = platform.fleet.operation(id)
    assert done
    assert (done.status, done.stage, done.progress, done.error) == ("completed", "completed", 1.0, None)
    assert done.finished_at
    assert done.finished_at - done.created_at == pytest.approx(7, abs=0.5)
    assert 86_000 < platform.client.ttl(f"{platform.prefix}operation:{id}") <= 86_400


def test_an_unknown_operation_is_not_found(platform: SimulatedPlatform) -> None:
    assert platform.fleet.operation("load_unknown") is None


@pytest.mark.rule("models/inflight-requests-queue-depth", "models/runtime-inflight")
def test_a_model_row_counts_running_and_waiting_jobs(platform: SimulatedPlatform) -> None:
    platform.load(slots=2)
    for _ in range(5):
        platform.admit()
    row = next(row for row in platform.fleet.rows() if row.name == "alpha")
    assert (row.inflight, row.queue_depth, row.wanted) == (2, 3, True)
    assert [row.name for row in platform.fleet.rows()] == ["alpha", "beta"]


def test_a_load_or_unload_whose_answer_was_lost_counts_as_begun(
    platform: SimulatedPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = platform.fleet.scripts.run

    def twice(name: str, **arguments: Any) -> object:
        if name in ("begin_load", "begin_unload"):
            run(name, **arguments)
        return run(name, **arguments)

    monkeypatch.setattr(platform.fleet.scripts, "run", twice)
    load = platform.fleet.load("alpha")
    assert (load.begun, len(load.assignments)) == (True, 1)
    platform.starting(load.assignments[0].replica)
    platform.up(load.assignments[0].replica)
    unload = platform.fleet.unload("alpha")
    assert unload.begun
    assert unload.operation
    assert unload.operation.kind == "unload"


def test_the_row_of_an_unloading_model_counts_its_draining_replicas(platform: SimulatedPlatform) -> None:
    platform.load(replicas=2)
    platform.fleet.unload("alpha")
    row = platform.fleet.row("alpha")
    assert (row.state, row.replicas, row.loaded_replicas) == ("unloading", 2, 2)


def test_an_unload_fails_what_waits_for_a_model_that_was_lost_before_the_platform_restarted(
    platform: SimulatedPlatform,
) -> None:
    platform.load("alpha", slots=1)
    id = platform.admit()
    waiting = platform.admit()
    platform.run(id)
    platform.fleet.registry.deregister("w1", platform.incarnations["w1"], "shut down")
    assert platform.status(waiting) == "queued"
    platform.fleet.reset_to_configuration()
    assert platform.model() == "unloaded"
    assert platform.fleet.unload("alpha").operation is not None
    assert platform.end(waiting).code == "model_unloading"


def test_the_capacity_of_a_prefix_cache_is_a_field_of_its_replica(
    platform: SimulatedPlatform, client: redis.Redis
) -> None:
    expected: tuple[tuple[int | None, str | None, list[bytes | None]], ...] = (
        (8, "sequences", [b"8", b"sequences"]),
        (None, None, [None, None]),
    )
    for capacity, unit, fields in expected:
        (item,) = platform.fleet.load("alpha").assignments
        platform.starting(item.replica, item.worker)
        engine = EngineReport(cache_capacity=capacity, cache_unit=unit)
        incarnation = platform.incarnations[item.worker]
        assert platform.fleet.replica_up(item.replica, item.worker, incarnation, 2, 4242, engine=engine)
        key = f"{platform.fleet.scripts.prefix}replica:{item.replica}"
        assert client.hmget(key, "cache_capacity", "cache_unit") == fields
        (row,) = platform.fleet.engines()
        assert (row.report.cache_capacity, row.report.cache_unit) == (capacity, unit)
        platform.fleet.unload("alpha")
        platform.stopped(item.replica)


def test_the_context_of_a_model_is_what_an_engine_of_its_latest_load_reported(
    platform: SimulatedPlatform,
) -> None:
    def contexts() -> list[int | None]:
        (summary,) = [one for one in platform.fleet.summaries() if one.name == "alpha"]
        return [platform.fleet.row("alpha").context, summary.context]

    for context in (2048, None):
        (item,) = platform.fleet.load("alpha").assignments
        platform.starting(item.replica, item.worker)
        incarnation = platform.incarnations[item.worker]
        engine = EngineReport(context=context)
        assert platform.fleet.replica_up(item.replica, item.worker, incarnation, 2, 4242, engine=engine)
        assert contexts() == [context, context]
        platform.fleet.unload("alpha")
        platform.stopped(item.replica)
