"""What may be done with a model in which state, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fleet.errors import InvalidLoadRequest, StateConflict
from fleet.load_request import LoadOutcome, LoadRequest
from fleet.states import ModelState, OperationStatus, ReplicaState
from scheduler.errors import UnknownModel
from tests.support.simulated_platform import House

# ---- how a model comes into each state


def unloaded(house: House) -> None:
    pass


def unloaded_by_hand(house: House) -> None:
    for replica in house.load():
        house.fleet.unload("alpha")
        house.stopped(replica)


def loading(house: House) -> None:
    change = house.fleet.load("alpha")
    house.starting(change.assignments[0].replica, change.assignments[0].worker)


def loaded(house: House) -> None:
    house.load()


def unloading(house: House) -> None:
    house.load()
    house.fleet.unload("alpha")


def failed(house: House) -> None:
    house.crash(house.load()[0])


def failed_and_leaving(house: House) -> None:
    """One of two did not come up; the other has not stopped yet."""
    change = house.fleet.load("alpha", LoadRequest(2))
    for item in change.assignments:
        house.starting(item.replica, item.worker)
    house.crash(change.assignments[0].replica, change.assignments[0].worker, code="load_failed")


def begins(house: House, change: LoadOutcome, kind: str) -> None:
    assert change.operation
    assert change.operation.kind == kind
    assert change.operation.id == house.fleet.row("alpha").operation_id
    assert change.assignments


def does_nothing(house: House, change: LoadOutcome, _kind: str) -> None:
    assert change.assignments == ()
    assert change.operation is None or change.operation.id == house.fleet.row("alpha").operation_id


Check = Callable[[House, LoadOutcome, str], None]

LOADS = [
    (unloaded, begins, "loading"),
    (unloaded_by_hand, begins, "loading"),
    (loading, does_nothing, "loading"),
    (loaded, does_nothing, "loaded"),
    (unloading, "model_unloading", "unloading"),
    (failed, begins, "loading"),
    (failed_and_leaving, "model_unloading", "failed"),
]
UNLOADS = [
    (unloaded, does_nothing, "unloaded"),
    (unloaded_by_hand, does_nothing, "unloaded"),
    (loading, "model_loading", "loading"),
    (loaded, begins, "unloading"),
    (unloading, does_nothing, "unloading"),
    (failed, does_nothing, "unloaded"),
    (failed_and_leaving, begins, "unloading"),
]


def named(value: object) -> str:
    return getattr(value, "__name__", str(value))


@pytest.mark.rule("state/runtime-state", "state/unloaded", "models/runtime-state-is-loaded", "load/rules-3")
@pytest.mark.parametrize(("arrange", "outcome", "after"), LOADS, ids=named)
def test_a_load_in_every_state(
    house: House, arrange: Callable[[House], None], outcome: Check | str, after: str
) -> None:
    arrange(house)
    attempt(house, house.fleet.load, outcome, "load")
    assert house.model() == after


@pytest.mark.rule("state/runtime-state", "state/loaded", "docs/out-of-scope")
@pytest.mark.parametrize(("arrange", "outcome", "after"), UNLOADS, ids=named)
def test_an_unload_in_every_state(
    house: House, arrange: Callable[[House], None], outcome: Check | str, after: str
) -> None:
    arrange(house)
    attempt(house, house.fleet.unload, outcome, "unload")
    assert house.model() == after


def attempt(house: House, change: Callable[[str], LoadOutcome], outcome: Check | str, kind: str) -> None:
    if isinstance(outcome, str):
        with pytest.raises(StateConflict) as refusal:
            change("alpha")
        assert refusal.value.code == outcome
    else:
        outcome(house, change("alpha"), kind)


@pytest.mark.rule("state/runtime-state")
def test_only_some_states_are_at_rest() -> None:
    assert {state for state in ModelState if state.is_terminal} == {"unloaded", "loaded", "failed"}
    assert {state for state in OperationStatus if state.is_terminal} == {"completed", "failed"}
    assert {str(state) for state in ReplicaState} == {"assigned", "starting", "up", "stopping"}


# ---- what a load asks for


def test_a_model_that_is_not_configured_is_unknown(house: House) -> None:
    for call in (house.fleet.load, house.fleet.unload, house.fleet.row):
        with pytest.raises(UnknownModel):
            call("gamma")


@pytest.mark.rule("models/replicas-replica-max")
@pytest.mark.parametrize("count", [0, -1, 5])
def test_the_number_of_replicas_is_bounded(house: House, count: int) -> None:
    with pytest.raises(InvalidLoadRequest) as refusal:
        house.fleet.load("alpha", LoadRequest(count))
    assert refusal.value.param == "replicas"
    assert house.model() == "unloaded"


# ---- all or nothing


@pytest.mark.rule("models/loaded-replicas")
def test_a_model_is_loaded_when_the_last_of_its_replicas_is_up(house: House) -> None:
    change = house.fleet.load("alpha", LoadRequest(2))
    first, second = change.assignments
    for item in (first, second):
        assert house.starting(item.replica, item.worker) == "alpha"
    assert house.up(first.replica, first.worker)
    assert house.model() == "loading"
    assert house.fleet.row("alpha").loaded_replicas == 0
    assert house.up(second.replica, second.worker)
    row = house.fleet.row("alpha")
    assert (row.state, row.loaded_replicas, row.replicas) == ("loaded", 2, 2)
    assert row.loaded_at
    assert len({house.admit() for _ in range(4)}) == house.taken() == 4


@pytest.mark.rule("state/failed", "load/notes-2")
@pytest.mark.parametrize("other", ["assigned", "starting", "up"])
def test_one_replica_fails_and_the_others_are_told_to_stop(house: House, other: str) -> None:
    change = house.fleet.load("alpha", LoadRequest(2))
    failing, left = change.assignments
    house.starting(failing.replica, failing.worker)
    if other != "assigned":
        house.starting(left.replica, left.worker)
    if other == "up":
        house.up(left.replica, left.worker)
    house.crash(failing.replica, failing.worker, code="load_failed")
    row = house.fleet.row("alpha")
    assert (row.state, row.code, row.last_error) == ("failed", "load_failed", "killed by SIGSEGV")
    pulse = house.ledger.heartbeat(left.worker, house.incarnations[left.worker])
    assert pulse.replicas == {left.replica: "stopping"}
    assert house.starting(left.replica, left.worker) is None
    assert not house.up(left.replica, left.worker)
    assert not house.fleet.replica_progress(left.replica, 0.9, "reading")
    house.stopped(left.replica, left.worker)
    assert house.ledger.heartbeat(left.worker, house.incarnations[left.worker]).replicas == {}
    assert house.model() == "failed"
    assert house.load(replicas=2)


@pytest.mark.rule("models/last-error", "load/rules-3")
def test_a_failed_load_says_why_in_its_operation(house: House) -> None:
    change = house.fleet.load("alpha")
    item = change.assignments[0]
    house.starting(item.replica, item.worker)
    house.crash(item.replica, item.worker, code="load_failed")
    assert change.operation
    operation = house.fleet.operation(change.operation.id)
    assert operation
    assert (operation.status, operation.error) == ("failed", "killed by SIGSEGV")
    assert operation.finished_at


@pytest.mark.rule("state/failed")
def test_a_new_load_forgets_why_the_last_one_failed(house: House) -> None:
    failed(house)
    house.load()
    row = house.fleet.row("alpha")
    assert (row.state, row.code, row.last_error) == ("loaded", None, None)


@pytest.mark.rule("models/loaded-replicas")
def test_a_model_that_loses_one_of_two_stays_loaded(house: House) -> None:
    first, second = house.load(replicas=2)
    house.crash(first, "w1")
    row = house.fleet.row("alpha")
    assert (row.state, row.loaded_replicas, row.last_error) == ("loaded", 1, "killed by SIGSEGV")
    house.crash(second, "w2")
    assert house.model() == "failed"


# ---- unloading


@pytest.mark.rule("state/unloading", "unload/in-flight-requests")
def test_an_unload_stops_admissions_tells_who_waits_and_lets_what_runs_finish(house: House) -> None:
    from scheduler.errors import ModelUnloading

    (replica,) = house.load(slots=1)
    running, waiting = house.admit(), house.admit()
    claim = house.run(running)
    change = house.fleet.unload("alpha")
    assert [(item.replica, item.worker) for item in change.assignments] == [(replica, "w1")]
    with pytest.raises(ModelUnloading):
        house.admit()
    assert house.end(waiting).code == "model_unloading"
    assert house.say(claim, 1, "to the end") == {}
    assert house.ledger.held(replica) == 1
    house.release(claim)
    assert house.ledger.held(replica) == 0
    assert house.end(running).status == "completed"
    house.stopped(replica)
    assert house.model() == "unloaded"
    assert change.operation
    operation = house.fleet.operation(change.operation.id)
    assert operation
    assert (operation.status, operation.progress) == ("completed", 1.0)


@pytest.mark.rule("unload/scheduler-alignment")
def test_what_was_dispatched_before_the_unload_may_still_be_claimed(house: House) -> None:
    house.load()
    id = house.admit()
    house.fleet.unload("alpha")
    house.release(house.run(id))
    assert house.end(id).status == "completed"


def test_what_still_holds_a_slot_when_the_engine_stops_fails(house: House) -> None:
    (replica,) = house.load()
    id = house.admit()
    house.say(house.run(id), 1, "Once")
    house.fleet.unload("alpha")
    house.stopped(replica)
    assert house.end(id).status == "failed"
    assert house.model() == "unloaded"


@pytest.mark.rule("unload/rules-2")
def test_a_model_is_unloaded_when_its_last_replica_is_down(house: House) -> None:
    first, second = house.load(replicas=2)
    house.fleet.unload("alpha")
    house.stopped(second, "w2")
    assert house.model() == "unloading"
    house.crash(first, "w1")
    assert house.model() == "unloaded"


# ---- the same again


def test_bells_that_ring_twice_start_nothing_twice(house: House) -> None:
    change = house.fleet.load("alpha")
    item = change.assignments[0]
    assert house.starting(item.replica, item.worker) == "alpha"
    assert house.starting(item.replica, item.worker) is None


def test_a_worker_that_asks_again_after_a_lost_answer_gets_the_same(house: House) -> None:
    change = house.fleet.load("alpha")
    item = change.assignments[0]
    life = house.incarnations[item.worker]
    for _ in range(2):
        assert house.fleet.replica_starting(item.replica, item.worker, life, "call-1").model == "alpha"  # type: ignore[union-attr]
    for _ in range(2):
        assert house.fleet.replica_up(item.replica, item.worker, life, 2, 4242)
    assert house.model() == "loaded"
    house.stopped(item.replica, item.worker)
    assert not house.up(item.replica, item.worker)


def test_another_worker_cannot_take_up_a_replica(house: House) -> None:
    change = house.fleet.load("alpha")
    item = change.assignments[0]
    other = {"w1": "w2", "w2": "w1"}[item.worker]
    assert house.starting(item.replica, other) is None
    house.starting(item.replica, item.worker)
    house.up(item.replica, item.worker)
    assert house.model() == "loaded"


# ---- operations


@pytest.mark.rule("beyond/operations")
def test_an_operation_shows_the_mean_of_its_replicas(house: House) -> None:
    change = house.fleet.load("alpha", LoadRequest(2))
    assert change.operation
    id = change.operation.id
    assert (change.operation.status, change.operation.progress) == ("pending", 0.0)
    first, second = change.assignments
    house.starting(first.replica, first.worker)
    assert house.fleet.operation(id).status == "running"  # type: ignore[union-attr]
    assert house.fleet.replica_progress(first.replica, 0.5, "reading weights")
    half = house.fleet.operation(id)
    assert half
    assert (half.progress, half.stage, half.finished_at) == (0.25, "reading weights", None)
    house.starting(second.replica, second.worker)
    house.up(first.replica, first.worker)
    house.fleet.replica_progress(second.replica, 0.5, "warming up")
    assert house.fleet.operation(id).progress == 0.75  # type: ignore[union-attr]
    house.pass_time(7)
    house.up(second.replica, second.worker)
    done = house.fleet.operation(id)
    assert done
    assert (done.status, done.stage, done.progress, done.error) == ("completed", "completed", 1.0, None)
    assert done.finished_at
    assert done.finished_at - done.created_at == pytest.approx(7, abs=0.5)
    assert 86_000 < house.client.ttl(f"{house.prefix}operation:{id}") <= 86_400


def test_an_operation_that_nobody_knows_is_none(house: House) -> None:
    assert house.fleet.operation("load_unheard_of") is None


@pytest.mark.rule("models/inflight-requests-queue-depth", "models/runtime-inflight")
def test_a_row_tells_what_runs_and_what_waits(house: House) -> None:
    house.load(slots=2)
    for _ in range(5):
        house.admit()
    row = next(row for row in house.fleet.rows() if row.name == "alpha")
    assert (row.inflight, row.queue_depth, row.wanted) == (2, 3, True)
    assert [row.name for row in house.fleet.rows()] == ["alpha", "beta"]


def test_a_load_or_unload_whose_answer_was_lost_is_still_its_own(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = house.fleet.scripts.run

    def twice(name: str, *arguments: object) -> object:
        if name in ("begin_load", "begin_unload"):
            run(name, *arguments)  # type: ignore[arg-type]
        return run(name, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(house.fleet.scripts, "run", twice)
    load = house.fleet.load("alpha")
    assert (load.begun, len(load.assignments)) == (True, 1)
    house.starting(load.assignments[0].replica)
    house.up(load.assignments[0].replica)
    unload = house.fleet.unload("alpha")
    assert unload.begun
    assert unload.operation
    assert unload.operation.kind == "unload"


def test_a_row_of_an_unloading_model_still_shows_what_drains(house: House) -> None:
    house.load(replicas=2)
    house.fleet.unload("alpha")
    row = house.fleet.row("alpha")
    assert (row.state, row.replicas, row.loaded_replicas) == ("unloading", 2, 2)
