"""A load under way is cancelled: by an unload of its model, or by its operation's id."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fleet.errors import StateConflict
from fleet.load_request import LoadOutcome, LoadRequest
from fleet.operation import Operation
from fleet.state_changes import StateChanges
from tests.fleet.races import run_concurrently
from tests.support.simulated_platform import SimulatedPlatform

pytestmark = pytest.mark.rule("beyond/a-load-is-cancelled")

LEASE = 5.0


def operation(platform: SimulatedPlatform, outcome: LoadOutcome) -> Operation:
    assert outcome.operation
    found = platform.fleet.operation(outcome.operation.id)
    assert found
    return found


def begin_starting(platform: SimulatedPlatform, replicas: int = 1) -> LoadOutcome:
    """Begin a load whose workers start the engines."""
    outcome = platform.fleet.load("alpha", LoadRequest(replicas))
    for item in outcome.assignments:
        platform.starting(item.replica, item.worker)
    return outcome


def cancel_started(platform: SimulatedPlatform, outcome: LoadOutcome) -> None:
    """Report the end of each engine, as a worker that has killed it."""
    for item in outcome.assignments:
        platform.crash(item.replica, item.worker, code="load_cancelled")


def states(platform: SimulatedPlatform) -> list[str]:
    changes = StateChanges(platform.client, platform.settings.redis.prefix)
    return [change.state for change in changes.read("0-0")]


# ---- engines that start


def test_an_unload_cancels_the_load_and_ends_when_the_engines_are_gone(platform: SimulatedPlatform) -> None:
    load = begin_starting(platform, replicas=2)
    unload = platform.fleet.unload("alpha")

    assert (unload.kind, unload.begun, set(unload.assignments)) == ("unload", True, set(load.assignments))
    ended = operation(platform, load)
    assert (ended.status, ended.code, ended.stage) == ("cancelled", "load_cancelled", "cancelled")
    assert ended.error == "the load was cancelled"
    assert ended.finished_at
    under_way = operation(platform, unload)
    assert (under_way.status, under_way.stage) == ("running", "cancelling the load")
    assert (platform.model(), platform.fleet.row("alpha").operation_id) == ("unloading", under_way.id)

    cancel_started(platform, unload)
    row = platform.fleet.row("alpha")
    assert (row.state, row.wanted, row.workers, row.last_error) == ("unloaded", False, (), None)
    assert operation(platform, unload).status == "completed"
    assert platform.recovery.missing() == [], "an operator has cancelled it"


def test_an_engine_that_comes_up_after_the_cancellation_has_to_stop(platform: SimulatedPlatform) -> None:
    (item,) = begin_starting(platform).assignments
    platform.fleet.unload("alpha")
    assert not platform.fleet.replica_progress(item.replica, 0.5, "reading weights"), "so the worker stops it"
    assert not platform.up(item.replica, item.worker)
    assert platform.model() == "unloading"


def test_the_progress_of_a_cancelled_engine_does_not_show_in_the_unload(platform: SimulatedPlatform) -> None:
    (item,) = begin_starting(platform).assignments
    unload = platform.fleet.unload("alpha")
    platform.fleet.replica_progress(item.replica, 0.5, "reading weights")
    assert (operation(platform, unload).progress, operation(platform, unload).stage) == (
        0,
        "cancelling the load",
    )


def test_a_replica_that_is_up_already_stops_with_the_others(platform: SimulatedPlatform) -> None:
    first, second = begin_starting(platform, replicas=2).assignments
    platform.up(first.replica, first.worker)
    platform.fleet.unload("alpha")
    platform.stopped(first.replica, first.worker)
    assert platform.model() == "unloading"
    platform.crash(second.replica, second.worker, code="load_cancelled")
    assert platform.model() == "unloaded"


def test_a_worker_whose_message_was_lost_sees_it_in_its_next_heartbeat(platform: SimulatedPlatform) -> None:
    (item,) = begin_starting(platform).assignments
    platform.fleet.unload("alpha")
    reply = platform.ledger.heartbeat(item.worker, platform.incarnations[item.worker])
    assert reply.replicas == {item.replica: "stopping"}


def test_the_cancellation_ends_with_a_worker_that_is_lost_meanwhile(platform: SimulatedPlatform) -> None:
    unload = begin_starting(platform) and platform.fleet.unload("alpha")
    platform.run_for(LEASE + 1)
    assert (platform.model(), operation(platform, unload).status) == ("unloaded", "completed")


def test_a_cancelled_load_changes_no_expected_duration(platform: SimulatedPlatform) -> None:
    begin_starting(platform)
    platform.advance_time(50)
    unload = platform.fleet.unload("alpha")
    platform.advance_time(20)
    cancel_started(platform, unload)
    assert operation(platform, platform.fleet.load("alpha")).eta_s is None
    for replica in platform.client.smembers(f"{platform.prefix}replicas:alpha"):
        platform.starting(replica.decode())
        platform.up(replica.decode())
    assert operation(platform, platform.fleet.unload("alpha")).eta_s is None


def test_the_memory_of_a_cancelled_load_is_no_longer_promised(platform: SimulatedPlatform) -> None:
    platform.fleet.report_artifacts({"alpha": 60})
    platform.report_memory("w1", 100)
    platform.report_memory("w2", 100)
    begin_starting(platform, replicas=2)
    assert [worker.promised_mib for worker in platform.fleet.workers()] == [60, 60]
    cancel_started(platform, platform.fleet.unload("alpha"))
    assert [worker.promised_mib for worker in platform.fleet.workers()] == [0, 0]
    assert begin_starting(platform, replicas=2).begun


def test_a_job_that_waits_for_a_model_that_is_loaded_again_fails(platform: SimulatedPlatform) -> None:
    platform.load()
    id = platform.admit()
    platform.run_for(LEASE + 1)  # its worker is lost: the job is queued again
    platform.register("w2")
    outcome = platform.recovery.reload("alpha")
    platform.starting(outcome.assignments[0].replica, "w2")
    assert platform.status(id) == "queued"
    platform.fleet.unload("alpha")
    assert platform.end(id).code == "model_unloading"


# ---- engines that no worker has begun to start


def test_a_load_that_no_worker_has_begun_ends_at_once(platform: SimulatedPlatform) -> None:
    load = platform.fleet.load("alpha", LoadRequest(2))
    unload = platform.fleet.unload("alpha")
    assert (unload.begun, unload.assignments, platform.model()) == (True, (), "unloaded")
    assert (operation(platform, load).status, operation(platform, unload).status) == (
        "cancelled",
        "completed",
    )
    assert states(platform) == ["loading", "unloaded"]
    for item in load.assignments:
        assert platform.starting(item.replica, item.worker) is None, "the message comes too late"
    assert platform.client.smembers(f"{platform.prefix}loading_replicas") == set()


def test_only_the_engines_that_start_are_waited_for(platform: SimulatedPlatform) -> None:
    first, _ = platform.fleet.load("alpha", LoadRequest(2)).assignments
    platform.starting(first.replica, first.worker)
    unload = platform.fleet.unload("alpha")
    assert (unload.assignments, operation(platform, unload).replicas) == ((first,), 1)
    platform.crash(first.replica, first.worker, code="load_cancelled")
    assert platform.model() == "unloaded"


# ---- by the operation's id


@pytest.mark.parametrize("begin", [begin_starting, lambda platform: platform.fleet.load("alpha")])
def test_a_load_is_cancelled_by_its_operation(
    platform: SimulatedPlatform, begin: Callable[[SimulatedPlatform], LoadOutcome]
) -> None:
    load = begin(platform)
    cancelled = platform.fleet.cancel_load(operation(platform, load))
    assert (cancelled.kind, cancelled.begun) == ("unload", True)
    assert operation(platform, load).status == "cancelled"
    cancel_started(platform, cancelled)
    assert platform.model() == "unloaded"


def test_cancelling_twice_changes_nothing(platform: SimulatedPlatform) -> None:
    load = begin_starting(platform)
    unload = platform.fleet.cancel_load(operation(platform, load))
    again = platform.fleet.cancel_load(operation(platform, load))
    assert (again.begun, again.assignments) == (False, ())
    assert operation(platform, again).id == operation(platform, unload).id


def test_an_operation_that_has_ended_or_unloads_is_not_cancelled(platform: SimulatedPlatform) -> None:
    load = platform.fleet.load("alpha")
    before = operation(platform, load)
    platform.finish_load(load)
    with pytest.raises(StateConflict, match=f"{before.id} is completed") as refusal:
        platform.fleet.cancel_load(before)
    assert refusal.value.code == "operation_not_cancellable"
    unload = platform.fleet.unload("alpha")
    with pytest.raises(StateConflict, match="is an unload: only a load or a download under way"):
        platform.fleet.cancel_load(operation(platform, unload))
    assert platform.model() == "unloading"


def test_an_earlier_operation_does_not_cancel_a_later_load(platform: SimulatedPlatform) -> None:
    earlier = operation(platform, begin_starting(platform))
    cancel_started(platform, platform.fleet.unload("alpha"))
    begin_starting(platform)
    assert not platform.fleet.cancel_load(earlier).begun
    assert platform.model() == "loading"


def test_of_concurrent_cancellations_one_begins_and_all_have_the_same_operation(
    platform: SimulatedPlatform,
) -> None:
    load = operation(platform, begin_starting(platform))
    outcomes, problems = run_concurrently(
        *[lambda: SimulatedPlatform(platform.client, platform.settings).fleet.cancel_load(load)] * 4
    )
    assert problems == []
    assert sum(outcome.begun for outcome in outcomes) == 1
    assert len({operation(platform, outcome).id for outcome in outcomes}) == 1


# ---- an eviction cancels no load


def test_a_model_that_began_to_load_is_not_evicted(platform: SimulatedPlatform) -> None:
    begin_starting(platform)
    with pytest.raises(StateConflict) as refusal:
        platform.fleet.evict("alpha")
    assert (refusal.value.code, platform.model()) == ("model_loading", "loading")
