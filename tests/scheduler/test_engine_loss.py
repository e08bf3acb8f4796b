"""Crashed engines, and models that are unloading: their jobs are requeued or fail."""

from __future__ import annotations

import pytest
import redis

from config.settings import Settings
from fleet.load_request import LoadRequest
from fleet.worker_reports import RESTART_WINDOW_S
from scheduler.job import Status
from tests.support.faults import recoverable, replicas_of, two_workers
from tests.support.simulated_platform import SimulatedPlatform

LEASE = 5.0


# ---- engines


def test_a_crash_of_the_last_engine_fails_the_waiting_jobs_when_no_restart_follows(
    without_restarts: SimulatedPlatform,
) -> None:
    platform = without_restarts
    (replica,) = replicas_of(platform)
    streaming, silent, waiting = platform.admit(), platform.admit(), platform.admit()
    platform.append_text(platform.run(streaming), 1, "Once")
    platform.run(silent)
    platform.crash(replica)
    row = platform.fleet.row("alpha")
    assert (row.state, row.code, row.last_error) == ("failed", "engine_crashed", "killed by SIGSEGV")
    assert platform.end(streaming).code == "engine_crashed"
    assert platform.end(silent).code == "engine_crashed"
    end = platform.end(waiting)
    assert (end.status, end.code) == ("failed", "model_failed")
    assert "SIGSEGV" not in (platform.end(streaming).message or ""), (
        "tenants do not see the details for operators"
    )
    assert platform.waiting() == []
    assert recoverable(platform) == [], "it waits for an operator"


def restart(platform: SimulatedPlatform, slots: int = 2) -> None:
    """Let the time pass until the restart of the crashed model, and load it."""
    at = platform.fleet.row("alpha").restart_at
    assert at is not None
    platform.advance_time(at - platform.fleet.scripts.now() + 0.001)
    assert recoverable(platform) == ["alpha"]
    platform.finish_load(platform.recovery.reload("alpha"), slots)


def test_jobs_without_output_wait_for_the_restart_of_the_last_engine(platform: SimulatedPlatform) -> None:
    (replica,) = replicas_of(platform)
    streaming, silent, waiting = platform.admit(), platform.admit(), platform.admit()
    platform.append_text(platform.run(streaming), 1, "Once")
    platform.run(silent)
    platform.crash(replica)
    assert platform.end(streaming).code == "engine_crashed"
    assert platform.waiting() == [silent, waiting]
    restart(platform)
    assert [platform.serve_next() for _ in range(2)] == [silent, waiting]


def test_a_job_that_ran_in_two_crashes_ends_and_the_model_serves_the_other_tenants(
    empty_platform: SimulatedPlatform,
) -> None:
    platform = empty_platform
    platform.register()
    platform.load(slots=1)
    poison = platform.admit("umbrella")
    others = [platform.admit("acme") for _ in range(3)]
    served = []
    for _ in range(2):
        while platform.status(poison) != "running":  # the other tenant may be due first
            served.append(platform.serve_next())
        platform.run(poison)
        platform.crash(replicas_of(platform)[0])
        restart(platform, slots=1)
    assert (platform.end(poison).code, platform.field(poison, "attempts")) == ("engine_crashed", "2")
    served += [platform.serve_next() for _ in others[len(served) :]]
    assert served == others
    row = platform.fleet.row("alpha")
    assert (row.state, row.crashes) == ("loaded", 2)
    assert row.crashes < platform.settings.restart.max_restarts, "one request does not use up the restarts"


def crash_with(platform: SimulatedPlatform, id: str) -> None:
    """Let the model's engine crash while this job runs on it, and start the engine again."""
    assert platform.status(id) == "running"
    platform.run(id)
    platform.crash(replicas_of(platform)[0])
    restart(platform)


@pytest.fixture
def suspected(empty_platform: SimulatedPlatform) -> SimulatedPlatform:
    """A request of umbrella ran in two crashes of the model, one of acme in the first; it is loaded again."""
    empty_platform.register()
    empty_platform.load()
    poison, innocent = empty_platform.admit("umbrella"), empty_platform.admit("acme")
    crash_with(empty_platform, poison)
    empty_platform.release(empty_platform.run(innocent))
    crash_with(empty_platform, poison)
    assert empty_platform.end(poison).code == "engine_crashed"
    return empty_platform


def test_a_request_has_no_second_try_when_another_one_of_its_tenant_ran_in_two_crashes(
    suspected: SimulatedPlatform,
) -> None:
    poison, other = suspected.admit("umbrella"), suspected.admit("acme")
    suspected.run(other)
    crash_with(suspected, poison)
    assert (suspected.end(poison).code, suspected.field(poison, "attempts")) == ("engine_crashed", "1")
    assert suspected.status(other) == "running", "other tenants' requests are tried again"
    assert suspected.fleet.row("alpha").crashes == 3


def test_no_tenant_is_suspected_when_requests_of_two_ran_in_both_crashes(
    empty_platform: SimulatedPlatform,
) -> None:
    platform = empty_platform
    platform.register()
    platform.load()
    for _ in range(2):
        poison, innocent = platform.admit("umbrella"), platform.admit("acme")
        for attempt in ("1", "2"):
            assert platform.field(innocent, "attempts") == attempt, "it is tried again"
            platform.run(innocent)
            crash_with(platform, poison)
        assert platform.end(innocent).code == "engine_crashed"


@pytest.mark.parametrize("forgotten_by", ["window", "operator"])
def test_a_suspected_tenant_has_second_tries_again_after_the_window_or_a_load_by_an_operator(
    suspected: SimulatedPlatform, forgotten_by: str
) -> None:
    if forgotten_by == "window":
        suspected.run_for(RESTART_WINDOW_S, "w1", every=4.0)
    else:
        suspected.finish_unload(suspected.fleet.unload("alpha"))
        suspected.load()
    innocent = suspected.admit("umbrella")
    crash_with(suspected, innocent)
    assert suspected.status(innocent) == "running"


def test_a_request_of_a_suspected_tenant_is_tried_again_when_its_worker_is_lost(
    suspected: SimulatedPlatform,
) -> None:
    id = suspected.admit("umbrella")
    suspected.run(id)
    suspected.register()
    assert suspected.status(id) == "queued"


def test_a_job_that_ran_in_two_crashes_ends_when_another_replica_serves(
    client: redis.Redis, settings: Settings
) -> None:
    platform, names = two_workers(client, settings)
    poison = platform.admit("umbrella")
    for _ in range(2):
        worker = "w1" if platform.field(poison, "replica") == names[0] else "w2"
        platform.run(poison, worker)
        platform.crash(platform.field(poison, "replica"), worker)
    assert (platform.end(poison).code, platform.field(poison, "attempts")) == ("engine_crashed", "2")
    platform.advance_time(2)
    assert recoverable(platform) == ["alpha"], "both engines crashed, and are started again"


def test_a_crashed_engine_fails_no_waiting_job_when_the_model_has_another_replica(
    client: redis.Redis, settings: Settings
) -> None:
    platform, names = two_workers(client, settings)
    first, second, waiting = platform.admit(), platform.admit(), platform.admit()
    victim = first if platform.field(first, "replica") == names[0] else second
    other = second if victim == first else first
    platform.run(victim, "w1")
    survivor = platform.run(other, "w2")
    platform.crash(names[0], "w1")
    assert platform.model() == "loaded"
    assert platform.fleet.row("alpha").last_error == "killed by SIGSEGV"
    assert set(platform.waiting()) == {victim, waiting}
    platform.claimed("w2")
    platform.release(survivor)
    assert platform.claimed("w2") == [victim], "it is older than the one that waits"


def test_a_job_without_events_moves_to_a_replica_with_a_free_slot(
    client: redis.Redis, settings: Settings
) -> None:
    platform, names = two_workers(client, settings, slots=2)
    ids = [platform.admit() for _ in range(2)]
    victim = next(id for id in ids if platform.field(id, "replica") == names[0])
    platform.run(victim, "w1")
    platform.claimed("w2")
    platform.crash(names[0], "w1")
    assert platform.claimed("w2") == [victim]
    assert platform.field(victim, "replica") == names[1]


def test_a_release_may_requeue_a_job_once_and_only_without_events(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    lost = {"status": Status.FAILED, "code": "engine_crashed", "retry": True}
    platform.release(platform.run(id), **lost)
    assert platform.status(id) == "running"
    platform.release(platform.run(id), **lost)
    assert platform.end(id).code == "engine_crashed"
    with_events = platform.admit()
    claim = platform.run(with_events)
    platform.append_text(claim, 1, "Once")
    platform.release(claim, **lost)
    assert platform.end(with_events).code == "engine_crashed"


def test_a_cancelled_job_is_not_requeued(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    claim = platform.run(id)
    platform.ledger.cancel(id, "acme")
    platform.release(claim, Status.FAILED, code="engine_crashed", retry=True)
    end = platform.end(id)
    assert (end.status, end.code) == ("cancelled", "cancelled")


def test_a_job_that_completes_before_its_cancel_arrives_is_completed(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    claim = platform.run(id)
    platform.ledger.cancel(id, "acme")
    platform.release(claim, Status.COMPLETED, finish_reason="stop")
    assert platform.end(id).status == "completed"


# ---- a model that is unloading requeues no jobs


@pytest.mark.parametrize("fault", ["crash", "restart", "silence", "retry"])
def test_no_job_waits_for_a_model_that_was_unloaded(platform: SimulatedPlatform, fault: str) -> None:
    (replica,) = replicas_of(platform)
    silent, unstarted, waiting = platform.admit(), platform.admit(), platform.admit()
    claim = platform.run(silent)
    platform.fleet.unload("alpha")
    assert platform.end(waiting).code == "model_unloading"
    if fault == "crash":
        platform.crash(replica)
    elif fault == "restart":
        platform.register("w1")
    elif fault == "silence":
        platform.run_for(LEASE + 1)
    else:
        platform.release(claim, Status.FAILED, code="engine_crashed", retry=True)
        platform.ledger.cancel(unstarted, "acme")
        platform.stopped(replica)
    assert platform.model() == "unloaded"
    assert platform.waiting() == []
    for id in (silent, unstarted):
        assert platform.end(id).status in {"failed", "cancelled"}


def test_unloading_a_lost_model_fails_its_waiting_jobs(platform: SimulatedPlatform) -> None:
    ids = [platform.admit() for _ in range(3)]
    platform.run_for(LEASE + 1)
    assert platform.waiting() == ids
    platform.fleet.unload("alpha")
    assert [platform.end(id).code for id in ids] == ["model_unloading"] * 3
    assert recoverable(platform) == []


def test_unloading_a_model_whose_worker_left_fails_its_waiting_jobs(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    platform.fleet.registry.deregister("w1", platform.incarnations["w1"], "shut down")
    assert platform.waiting() == [id]
    platform.fleet.unload("alpha")
    assert platform.end(id).code == "model_unloading"
    assert recoverable(platform) == []


def test_waiting_jobs_stay_queued_when_the_recovery_load_is_interrupted_too(
    client: redis.Redis, settings: Settings
) -> None:
    platform = SimulatedPlatform(client, settings)
    platform.register("w1")
    platform.load()
    id = platform.admit()
    platform.run_for(LEASE + 1)
    platform.register("w2")
    platform.register("w3")
    outcome = platform.fleet.load("alpha", LoadRequest(2))
    left, right = outcome.assignments
    platform.starting(left.replica, left.worker)
    platform.starting(right.replica, right.worker)
    platform.register(left.worker)  # it was restarted in the middle of the load
    assert platform.model() == "failed"
    assert not platform.up(right.replica, right.worker)
    platform.crash(right.replica, right.worker, code="load_cancelled")
    assert platform.status(id) == "queued"
    assert recoverable(platform) == ["alpha"]


def test_waiting_jobs_fail_when_the_recovery_load_fails(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    platform.run_for(LEASE + 1)
    platform.register("w2")
    outcome = platform.fleet.load("alpha")
    platform.starting(outcome.assignments[0].replica, "w2")
    platform.crash(outcome.assignments[0].replica, "w2", code="load_failed")
    assert platform.end(id).code == "model_failed"
