"""A load of a loaded model with missing replicas restores them, while the others serve."""

from __future__ import annotations

from dataclasses import replace

import pytest
import redis

from config.settings import RestartSettings, Settings
from fleet.errors import InsufficientMemory, InvalidLoadRequest, StateConflict
from fleet.load_request import LoadOutcome, LoadRequest
from fleet.operation import Operation
from fleet.states import OperationStatus
from governance.authorization import PLATFORM
from tests.support.faults import replicas_of
from tests.support.simulated_platform import SimulatedPlatform

pytestmark = pytest.mark.rule("beyond/a-load-restores")


@pytest.fixture
def two_lost(platform: SimulatedPlatform) -> SimulatedPlatform:
    """Alpha was loaded on w1, w2 and w3, and the engines on w1 and w2 crashed."""
    platform.register("w3")
    first, second, _ = platform.load(replicas=3)
    platform.crash(first, "w1")
    platform.crash(second, "w2")
    return platform


@pytest.fixture
def pair(platform: SimulatedPlatform) -> SimulatedPlatform:
    """Alpha was loaded on w1 and w2, one slot each, and the engine on w2 crashed."""
    platform.load(slots=1, replicas=2)
    (lost,) = platform.ledger.heartbeat("w2", platform.incarnations["w2"]).replicas
    platform.crash(lost, "w2")
    return platform


def operation_of(platform: SimulatedPlatform, outcome: LoadOutcome) -> Operation:
    assert outcome.operation
    operation = platform.fleet.operation(outcome.operation.id)
    assert operation
    return operation


def test_a_load_restores_the_missing_replica_and_the_other_serves_meanwhile(pair: SimulatedPlatform) -> None:
    first, second = pair.admit(), pair.admit()
    outcome = pair.fleet.load("alpha")
    assert (outcome.kind, outcome.begun, len(outcome.assignments)) == ("load", True, 1)
    assert operation_of(pair, outcome).status is OperationStatus.PENDING
    assert pair.fleet.row("alpha").operation_id == operation_of(pair, outcome).id
    assert (pair.model(), pair.status(first), pair.status(second)) == ("loaded", "running", "queued")
    (item,) = outcome.assignments
    pair.starting(item.replica, item.worker)
    assert pair.fleet.replica_progress(item.replica, 0.5, "reading weights")
    operation = operation_of(pair, outcome)
    assert (operation.status, operation.progress, operation.stage) == ("running", 0.5, "reading weights")
    pair.up(item.replica, item.worker, 1)
    row = pair.fleet.row("alpha")
    assert (row.state, row.loaded_replicas, row.last_error) == ("loaded", 2, None)
    operation = operation_of(pair, outcome)
    assert (operation.status, operation.progress, operation.replicas) == ("completed", 1.0, 1)
    assert pair.status(second) == "running", "the new slot is given to the job that waits"


def test_a_load_may_name_the_current_number_of_replicas(pair: SimulatedPlatform) -> None:
    with pytest.raises(InvalidLoadRequest, match="alpha is loaded"):
        pair.fleet.load("alpha", LoadRequest(1))
    assert pair.fleet.load("alpha", LoadRequest(2)).begun


def test_a_second_load_returns_the_operation_under_way(pair: SimulatedPlatform) -> None:
    outcome = pair.fleet.load("alpha")
    again = pair.fleet.load("alpha")
    assert (again.begun, again.assignments) == (False, ())
    assert operation_of(pair, again).id == operation_of(pair, outcome).id


def test_a_load_of_a_complete_model_changes_nothing(platform: SimulatedPlatform) -> None:
    platform.load(replicas=2)
    outcome = platform.fleet.load("alpha")
    assert (outcome.begun, outcome.assignments) == (False, ())


def restore(pair: SimulatedPlatform, operation: str, *places: str) -> list[bytes]:
    answer: list[bytes] = pair.fleet.scripts.run(
        "restore_replicas",
        model="alpha",
        operation=operation,
        lease_us=5_000_000,
        need_mib="",
        authorization=PLATFORM.argument(),
        grows_from="",
        reason="",
        places=places,
    )
    return answer


def test_a_repeated_call_of_restore_replicas_assigns_once(pair: SimulatedPlatform) -> None:
    for _ in range(2):
        assert restore(pair, "load_again", "alpha#again.0", "w2") == [b"ok"]
    assert len(pair.fleet.row("alpha").workers) == 2


def test_a_restore_is_refused_when_other_replicas_are_missing_than_it_restores(
    pair: SimulatedPlatform,
) -> None:
    assert restore(pair, "load_late", "alpha#late.0", "w1", "alpha#late.1", "w2") == [b"over"]
    pair.finish_unload(pair.fleet.unload("alpha"))
    assert restore(pair, "load_late", "alpha#late.0", "w1") == [b"over"]


def test_a_restore_without_memory_is_refused_with_the_numbers(pair: SimulatedPlatform) -> None:
    pair.fleet.report_artifacts({"alpha": 60})
    for worker in ("w1", "w2"):
        pair.report_memory(worker, 30)
    with pytest.raises(InsufficientMemory, match="needs about 60 MiB"):
        pair.fleet.load("alpha")
    assert (pair.model(), pair.fleet.row("alpha").loaded_replicas) == ("loaded", 1)


def test_a_restore_replaces_replicas_that_were_lost_with_their_workers_too(
    platform: SimulatedPlatform,
) -> None:
    platform.load(replicas=2)
    platform.register("w2")
    outcome = platform.fleet.load("alpha")
    assert (len(outcome.assignments), platform.fleet.row("alpha").lost) == (1, 0)
    assert platform.recovery.replace_lost() == []


def test_a_replica_that_does_not_start_fails_the_restore_and_the_others_serve(
    two_lost: SimulatedPlatform,
) -> None:
    platform = two_lost
    outcome = platform.fleet.load("alpha")
    failing, other = outcome.assignments
    for item in outcome.assignments:
        platform.starting(item.replica, item.worker)
    platform.crash(failing.replica, failing.worker, code="load_failed")
    operation = operation_of(platform, outcome)
    assert (operation.status, operation.code, operation.error) == (
        "failed",
        "load_failed",
        "killed by SIGSEGV",
    )
    assert platform.up(other.replica, other.worker), "it may serve, although the operation has failed"
    row = platform.fleet.row("alpha")
    assert (row.state, row.loaded_replicas, row.code) == ("loaded", 2, "load_failed")


def test_a_restore_that_has_failed_stays_failed_when_another_replica_of_it_starts(
    two_lost: SimulatedPlatform,
) -> None:
    outcome = two_lost.fleet.load("alpha")
    failing, other = outcome.assignments
    two_lost.register(failing.worker)
    assert operation_of(two_lost, outcome).status == "failed", "its worker was restarted"
    two_lost.starting(other.replica, other.worker)
    assert operation_of(two_lost, outcome).status == "failed"
    assert two_lost.up(other.replica, other.worker), "it may serve, although the operation has failed"


def test_a_restore_of_two_replicas_ends_when_both_are_up(two_lost: SimulatedPlatform) -> None:
    platform = two_lost
    outcome = platform.fleet.load("alpha")
    for item, status in zip(outcome.assignments, ("running", "completed"), strict=True):
        platform.starting(item.replica, item.worker)
        platform.up(item.replica, item.worker)
        assert operation_of(platform, outcome).status == status


def test_a_restore_chooses_again_when_the_chosen_worker_has_left(
    pair: SimulatedPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = pair.fleet.workers()
    pair.fleet.registry.deregister("w2", pair.incarnations["w2"], "shut down")
    current = pair.fleet.workers
    answers = iter([[worker for worker in seen if worker.name == "w2"]])
    monkeypatch.setattr(pair.fleet, "workers", lambda name: next(answers, None) or current(name))
    assert [item.worker for item in pair.fleet.load("alpha").assignments] == ["w1"]


@pytest.mark.parametrize("fault", ["restart", "unload", "shutdown of all"])
def test_a_restore_ends_when_its_replicas_do(pair: SimulatedPlatform, fault: str) -> None:
    outcome = pair.fleet.load("alpha")
    (item,) = outcome.assignments
    pair.starting(item.replica, item.worker)
    if fault == "restart":
        pair.register(item.worker)
    elif fault == "unload":
        pair.fleet.unload("alpha")
    else:
        for worker in ("w1", "w2"):
            pair.fleet.registry.deregister(worker, pair.incarnations[worker], "shut down")
    operation = operation_of(pair, outcome)
    ended = ("cancelled", "load_cancelled") if fault == "unload" else ("failed", "load_interrupted")
    assert (operation.status, operation.code) == ended


@pytest.mark.parametrize("begun", [False, True])
def test_a_restore_is_cancelled_and_the_model_stays_loaded(pair: SimulatedPlatform, begun: bool) -> None:
    outcome = pair.fleet.load("alpha")
    (item,) = outcome.assignments
    if begun:
        pair.starting(item.replica, item.worker)
    cancelled = pair.fleet.cancel_load(operation_of(pair, outcome))
    assert (cancelled.kind, cancelled.begun, cancelled.assignments) == ("unload", False, (item,))
    ended = operation_of(pair, outcome)
    assert (ended.status, ended.code) == ("cancelled", "load_cancelled")
    assert not pair.fleet.replica_progress(item.replica, 0.5, "reading weights"), "so the worker stops it"
    assert not pair.up(item.replica, item.worker)
    pair.crash(item.replica, item.worker, code="load_cancelled")
    row = pair.fleet.row("alpha")
    assert (row.state, row.loaded_replicas, len(row.workers)) == ("loaded", 1, 1)
    assert row.restart_at is None
    assert not pair.fleet.cancel_load(ended).assignments, "it is cancelled already"
    assert pair.fleet.load("alpha").begun, "it can be restored again"


@pytest.mark.parametrize("restarts", [True, False])
def test_a_model_fails_when_the_restore_of_its_last_replica_is_cancelled(
    client: redis.Redis, settings: Settings, restarts: bool
) -> None:
    limits = RestartSettings(max_restarts=3 if restarts else 0)
    platform = SimulatedPlatform(client, replace(settings, restart=limits))
    platform.register("w2")
    platform.load(slots=1, replicas=2)
    first, last = replicas_of(platform)
    platform.crash(first, worker_of(platform, first))
    outcome = platform.fleet.load("alpha")
    platform.crash(last, worker_of(platform, last))
    waiting = platform.admit()
    assert platform.model() == "loaded"
    platform.fleet.cancel_load(operation_of(platform, outcome))

    row = platform.fleet.row("alpha")
    assert (row.state, row.code, len(row.workers)) == ("failed", "engine_crashed", 0)
    assert (row.restart_at is not None) == restarts
    assert platform.status(waiting) == ("queued" if restarts else "failed")
    assert operation_of(platform, outcome).status is OperationStatus.CANCELLED


def worker_of(platform: SimulatedPlatform, replica: str) -> str:
    worker: bytes = platform.client.hget(f"{platform.prefix}replica:{replica}", "worker")  # type: ignore[assignment]
    return worker.decode()


def test_a_cancelled_restore_leaves_the_replicas_that_are_up(platform: SimulatedPlatform) -> None:
    platform.load(replicas=3)
    for replica in replicas_of(platform)[1:]:
        platform.crash(replica, worker_of(platform, replica))
    outcome = platform.fleet.load("alpha")
    up, late = outcome.assignments
    platform.starting(up.replica, up.worker)
    platform.up(up.replica, up.worker)
    assert platform.fleet.cancel_load(operation_of(platform, outcome)).assignments == (late,)
    assert platform.fleet.row("alpha").loaded_replicas == 2


def test_a_restore_that_has_ended_is_not_cancelled(pair: SimulatedPlatform) -> None:
    outcome = pair.fleet.load("alpha")
    pair.finish_load(outcome)
    with pytest.raises(StateConflict, match="is completed"):
        pair.fleet.cancel_load(operation_of(pair, outcome))
    assert pair.fleet.row("alpha").loaded_replicas == 2


def test_no_second_restore_begins_before_the_first_has_ended(platform: SimulatedPlatform) -> None:
    first, second = platform.load(replicas=2)
    platform.crash(second, "w2")
    outcome = platform.fleet.load("alpha")
    platform.register("w3")
    for item in outcome.assignments:
        platform.starting(item.replica, item.worker)
    platform.crash(first, "w1")
    again = platform.fleet.load("alpha")
    assert (again.begun, operation_of(platform, again).id) == (False, operation_of(platform, outcome).id)
    assert len(replicas_of(platform)) == 1
