"""All work ends: deadlines, lost leases, silent and restarted workers, crashed engines."""

from __future__ import annotations

import pytest
import redis

from config.settings import Settings
from fleet.load_request import LoadRequest
from scheduler.errors import Fenced, ModelFailed
from scheduler.job import Status
from streams.events import TextDelta
from tests.support.simulated_platform import SimulatedPlatform

LEASE = 5.0
QUEUE_TIMEOUT = 120.0
TOTAL = 600.0


def lose_lease(platform: SimulatedPlatform, id: str) -> None:
    """Make the lease of a job expire."""
    platform.client.zadd(f"{platform.prefix}leases", {id: 1})


def two_workers(
    client: redis.Redis, settings: Settings, replicas: int = 2, slots: int = 1
) -> tuple[SimulatedPlatform, list[str]]:
    platform = SimulatedPlatform(client, settings)
    platform.register("w1")
    platform.register("w2")
    return platform, platform.load(replicas=replicas, slots=slots)


def recoverable(platform: SimulatedPlatform) -> list[str]:
    return platform.recovery.missing()


# ---- deadlines


def test_a_job_that_waits_too_long_fails_with_queue_timeout(platform: SimulatedPlatform) -> None:
    ids = [platform.admit() for _ in range(3)]
    platform.run(ids[0])
    platform.run(ids[1])
    platform.run_for(QUEUE_TIMEOUT - 1, "w1")
    assert platform.status(ids[2]) == "queued"
    assert platform.run_for(2, "w1") == 1
    end = platform.end(ids[2])
    assert (end.status, end.code) == ("failed", "queue_timeout")
    assert end.queue_ms == pytest.approx(QUEUE_TIMEOUT * 1000, rel=0.02)
    assert end.run_ms == 0
    assert platform.waiting() == []
    assert platform.status(ids[0]) == "running"


def test_a_dispatched_job_that_is_not_claimed_ends_with_its_queue_timeout(
    platform: SimulatedPlatform,
) -> None:
    id, waiting = platform.admit(), platform.admit()
    platform.admit()
    platform.run_for(QUEUE_TIMEOUT + 1, "w1")
    assert platform.end(id).code == "queue_timeout"
    assert platform.end(waiting).code == "queue_timeout"
    assert platform.slots_taken() == 0


def test_a_run_that_takes_too_long_is_ended_and_its_worker_notified(platform: SimulatedPlatform) -> None:
    recorder = platform.record("notify:w1")
    id = platform.admit()
    claim = platform.run(id)
    platform.append_text(claim, 1, "once upon a time")
    platform.run_for(TOTAL - 1, "w1")
    assert platform.status(id) == "running"
    platform.run_for(2, "w1")
    end = platform.end(id)
    assert (end.status, end.code) == ("failed", "deadline_exceeded")
    assert end.run_ms == pytest.approx(TOTAL * 1000, rel=0.01)
    assert recorder.messages() == [("notify:w1", f"cancel {id}")]
    assert platform.append_text(claim, 2, "and on") == {id: "fenced"}


def test_the_wait_does_not_count_as_running(platform: SimulatedPlatform) -> None:
    ids = [platform.admit() for _ in range(3)]
    first = platform.run(ids[0])
    platform.run(ids[1])
    platform.run_for(QUEUE_TIMEOUT - 10, "w1")
    platform.release(first)
    claim = platform.run(ids[2])
    platform.run_for(TOTAL - 10, "w1")
    assert platform.status(ids[2]) == "running"
    platform.release(claim)
    end = platform.end(ids[2])
    assert end.queue_ms == pytest.approx((QUEUE_TIMEOUT - 10) * 1000, rel=0.02)
    assert end.run_ms == pytest.approx((TOTAL - 10) * 1000, rel=0.02)


def test_a_cancelled_run_that_reaches_its_deadline_ends_cancelled(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    platform.run(id)
    platform.ledger.cancel(id, "acme")
    platform.run_for(TOTAL + 1, "w1")
    assert platform.end(id).status == "cancelled"


def test_the_slot_of_a_timed_out_run_is_used_for_the_next_job(platform: SimulatedPlatform) -> None:
    first, second = platform.admit(), platform.admit()
    platform.run(first)
    platform.run(second)
    platform.run_for(TOTAL - QUEUE_TIMEOUT / 2, "w1")
    waiting = platform.admit()
    platform.wake_ups()
    platform.run_for(QUEUE_TIMEOUT / 2 + 1, "w1")
    assert platform.wake_ups() == [waiting]


def test_one_call_of_expire_ends_at_most_a_hundred_jobs(client: redis.Redis, settings: Settings) -> None:
    platform = SimulatedPlatform(client, settings)
    platform.register()
    platform.load(slots=128)
    ids = [platform.admit() for _ in range(120)]
    platform.run_for(QUEUE_TIMEOUT - 1, "w1")
    platform.advance_time(1.5)
    assert platform.ledger.expire() == 100
    assert platform.ledger.expire() == 20
    assert platform.ledger.expire() == 0
    assert all(platform.end(id).code == "queue_timeout" for id in ids)


# ---- leases


def test_a_lost_lease_requeues_a_job_without_events_once(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    platform.run(id)
    lose_lease(platform, id)
    assert platform.ledger.expire() == 1
    assert platform.status(id) == "dispatched"
    assert platform.wake_ups() == [id, id]
    platform.run(id)
    lose_lease(platform, id)
    platform.ledger.expire()
    end = platform.end(id)
    assert (end.status, end.code) == ("failed", "worker_lost")
    assert platform.field(id, "attempts") == "2"


def test_a_retried_run_has_the_time_that_the_first_one_left(
    platform: SimulatedPlatform,
) -> None:
    id = platform.admit()
    platform.run(id)
    platform.run_for(TOTAL - 20, "w1")
    lose_lease(platform, id)
    platform.ledger.expire()
    platform.run(id)
    platform.run_for(19, "w1")
    assert platform.status(id) == "running"
    platform.run_for(2, "w1")
    assert platform.end(id).code == "deadline_exceeded"


def test_a_lost_lease_fails_a_job_with_events(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    claim = platform.run(id)
    platform.append_text(claim, 1, "Once")
    lose_lease(platform, id)
    platform.ledger.expire()
    assert platform.log(id)[0] == TextDelta("Once")
    assert (platform.end(id).status, platform.end(id).code) == ("failed", "worker_lost")
    assert platform.slots_taken() == 0


def test_a_lost_lease_ends_a_cancelled_job_as_cancelled(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    platform.run(id)
    platform.ledger.cancel(id, "acme")
    lose_lease(platform, id)
    platform.ledger.expire()
    assert platform.end(id).status == "cancelled"


def test_a_dispatched_job_may_be_lost_any_number_of_times_before_its_claim(
    platform: SimulatedPlatform,
) -> None:
    id = platform.admit()
    for _ in range(5):
        lose_lease(platform, id)
        platform.ledger.expire()
    assert platform.status(id) == "dispatched"
    assert platform.field(id, "attempts") == "0"


def test_heartbeats_renew_leases(platform: SimulatedPlatform) -> None:
    running, dispatched = platform.admit(), platform.admit()
    platform.run(running)
    platform.run_for(4 * LEASE, "w1")
    assert platform.status(running) == "running"
    assert platform.status(dispatched) == "dispatched"


def test_a_heartbeat_returns_running_cancelled_and_unclaimed_jobs(
    platform: SimulatedPlatform,
) -> None:
    running, dispatched = platform.admit(), platform.admit()
    platform.run(running)
    platform.ledger.cancel(running, "acme")
    reply = platform.ledger.heartbeat("w1", platform.incarnations["w1"])
    assert reply.running == {running}
    assert reply.cancelled == (running,)
    assert reply.unclaimed == (), "its wake-up message may still be on the way"
    assert list(reply.replicas.values()) == ["up"]
    platform.advance_time(1.1)
    assert platform.ledger.heartbeat("w1", platform.incarnations["w1"]).unclaimed == (dispatched,)


def test_a_worker_cannot_claim_a_job_that_was_dispatched_to_another(
    client: redis.Redis, settings: Settings
) -> None:
    platform, _ = two_workers(client, settings)
    id = platform.admit()
    other = {"w1": "w2", "w2": "w1"}[platform.field(id, "worker")]
    assert platform.claim(id, other) is None
    assert platform.status(id) == "dispatched"


def test_a_repeated_claim_returns_the_same_claim(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    first = platform.ledger.claim("w1", platform.incarnations["w1"], id, "call-1")
    assert platform.ledger.claim("w1", platform.incarnations["w1"], id, "call-1") == first
    assert platform.ledger.claim("w1", platform.incarnations["w1"], id, "call-2") is None
    assert platform.field(id, "attempts") == "1"
    lose_lease(platform, id)
    platform.ledger.expire()
    again = platform.ledger.claim("w1", platform.incarnations["w1"], id, "call-3")
    assert again
    assert first
    assert again.fence > first.fence


# ---- workers


def test_a_silent_worker_is_removed_and_its_model_fails(platform: SimulatedPlatform) -> None:
    streaming, silent, waiting = platform.admit(), platform.admit(), platform.admit()
    platform.append_text(platform.run(streaming), 1, "Once")
    platform.run(silent)
    platform.run_for(LEASE - 1)
    assert platform.model() == "loaded"
    platform.run_for(1.5)
    row = platform.fleet.row("alpha")
    assert (row.state, row.code) == ("failed", "worker_lost")
    assert "w1" in (row.last_error or "")
    assert platform.end(streaming).code == "worker_lost"
    assert platform.status(silent) == platform.status(waiting) == "queued"
    assert platform.slots_taken() == 0
    assert platform.fleet.workers() == []
    with pytest.raises(Fenced):
        platform.ledger.heartbeat("w1", platform.incarnations["w1"])
    with pytest.raises(ModelFailed):
        platform.admit()


def test_waiting_jobs_stay_queued_until_another_worker_loads_the_model(
    platform: SimulatedPlatform,
) -> None:
    running, *waiting = [platform.admit() for _ in range(4)]
    platform.run(running)
    platform.run_for(LEASE + 1)
    assert platform.waiting() == [running, *waiting]
    assert recoverable(platform) == ["alpha"]
    platform.register("w2")
    platform.load(slots=1)
    assert [platform.serve_next("w2") for _ in range(4)] == [running, *waiting]
    assert all(platform.end(id).status == "completed" for id in waiting)


def test_a_requeued_job_waits_no_longer_than_a_new_one(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    platform.run(id)  # its run could have taken ten minutes
    platform.run_for(LEASE + 1)
    assert platform.status(id) == "queued"
    platform.run_for(QUEUE_TIMEOUT - 2)
    assert platform.status(id) == "queued"
    platform.run_for(3)
    assert platform.end(id).code == "queue_timeout"


def test_a_requeue_before_the_claim_does_not_extend_the_wait(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    platform.run_for(QUEUE_TIMEOUT - 10, "w1")
    platform.register("w1")
    platform.run_for(11, "w1")
    assert platform.end(id).code == "queue_timeout"


def test_the_wait_for_another_worker_is_limited(platform: SimulatedPlatform) -> None:
    waiting = [platform.admit() for _ in range(3)][2]
    platform.run_for(QUEUE_TIMEOUT + 1)
    assert platform.end(waiting).code == "queue_timeout"


def test_a_worker_lost_while_it_loads_leaves_no_model_loading(platform: SimulatedPlatform) -> None:
    outcome = platform.fleet.load("beta")
    platform.starting(outcome.assignments[0].replica)
    platform.run_for(LEASE + 1)
    row = platform.fleet.row("beta")
    assert (row.state, row.code) == ("failed", "load_interrupted")
    assert outcome.operation
    operation = platform.fleet.operation(outcome.operation.id)
    assert operation
    assert operation.status == "failed"
    assert sorted(recoverable(platform)) == ["alpha", "beta"]


def test_a_restarted_worker_frees_its_slots_at_once(platform: SimulatedPlatform) -> None:
    streaming, silent = platform.admit(), platform.admit()
    platform.append_text(platform.run(streaming), 1, "Once")
    platform.run(silent)
    platform.register("w1")
    assert platform.end(streaming).code == "worker_lost"
    assert platform.status(silent) == "queued"
    assert platform.slots_taken() == 0
    platform.wake_ups()
    platform.load()
    assert platform.wake_ups() == [silent]


def test_the_restart_of_a_worker_dispatches_its_jobs_to_the_other_replica_in_the_same_call(
    client: redis.Redis, settings: Settings
) -> None:
    platform, _ = two_workers(client, settings)
    first, second, waiting = platform.admit(), platform.admit(), platform.admit()
    mine = next(id for id in (first, second) if platform.field(id, "worker") == "w1")
    other = second if mine == first else first
    platform.run(mine, "w1")
    platform.release(platform.run(other, "w2"))
    assert platform.status(waiting) == "dispatched"
    platform.release(platform.run(waiting, "w2"))
    platform.wake_ups("w2")
    platform.register("w1")
    assert platform.wake_ups("w2") == [mine]
    assert platform.model() == "loaded"
    assert platform.fleet.row("alpha").loaded_replicas == 1


def test_the_jobs_of_a_worker_that_leaves_are_requeued(platform: SimulatedPlatform) -> None:
    silent = platform.admit()
    platform.run(silent)
    platform.ledger.deregister("w1", platform.incarnations["w1"], "shut down")
    assert platform.status(silent) == "queued"
    assert platform.model() == "unloaded"
    assert recoverable(platform) == ["alpha"], "it left, and the model is still wanted"
    platform.register("w2")
    platform.load()
    assert platform.wake_ups("w2") == [silent]


def test_a_draining_worker_gets_no_new_jobs_or_replicas(client: redis.Redis, settings: Settings) -> None:
    platform, _ = two_workers(client, settings, slots=4)
    platform.ledger.drain("w1", platform.incarnations["w1"])
    ids = [platform.admit() for _ in range(4)]
    assert {platform.field(id, "worker") for id in ids} == {"w2"}
    outcome = platform.fleet.load("beta", LoadRequest(2))
    assert {item.worker for item in outcome.assignments} == {"w2"}


def test_a_replica_that_comes_up_on_a_draining_worker_gets_no_jobs(
    client: redis.Redis, settings: Settings
) -> None:
    platform = SimulatedPlatform(client, settings)
    platform.register("w1")
    platform.register("w2")
    outcome = platform.fleet.load("alpha", LoadRequest(2))
    for item in outcome.assignments:
        platform.starting(item.replica, item.worker)
    platform.ledger.drain("w1", platform.incarnations["w1"])
    for item in outcome.assignments:
        platform.up(item.replica, item.worker)
    ids = [platform.admit() for _ in range(2)]
    assert {platform.field(id, "worker") for id in ids} == {"w2"}
    platform.register("w1")
    platform.register("w2")
    platform.load(replicas=2, slots=1)
    assert {platform.field(id, "worker") for id in ids} == {"w1", "w2"}, "a new incarnation does not drain"


def test_a_fenced_worker_can_neither_drain_nor_deregister_its_successor(
    platform: SimulatedPlatform,
) -> None:
    old = platform.incarnations["w1"]
    platform.register("w1")
    platform.load()
    platform.ledger.drain("w1", old)
    platform.ledger.deregister("w1", old, "late goodbye")
    id = platform.admit()
    assert platform.run(id)
    assert platform.model() == "loaded"


def test_fences_grow_even_when_the_counter_was_lost(platform: SimulatedPlatform) -> None:
    first = platform.run(platform.admit())
    platform.client.delete(f"{platform.prefix}fence")
    second = platform.run(platform.admit())
    assert int(second.fence) > int(first.fence)
    platform.client.set(f"{platform.prefix}fence", int(second.fence) + 10**12)
    assert int(platform.register("w2")) == int(second.fence) + 10**12 + 1


# ---- Redis was down


def test_after_redis_was_down_all_leases_are_extended(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    claim = platform.run(id)
    platform.ledger.expire()
    platform.advance_time(60)  # neither heartbeats nor the reaper could run
    assert platform.ledger.expire() == -1
    platform.advance_time(1.9)
    assert platform.ledger.expire() == 0
    platform.ledger.heartbeat("w1", platform.incarnations["w1"])
    assert platform.append_text(claim, 1, "still here") == {}
    assert platform.model() == "loaded"


def test_a_worker_that_stays_silent_after_the_extension_is_removed(platform: SimulatedPlatform) -> None:
    platform.ledger.expire()
    platform.advance_time(60)
    assert platform.ledger.expire() == -1
    platform.run_for(LEASE - 1)
    assert platform.model() == "loaded"
    platform.run_for(1.1)
    assert platform.model() == "failed"


def test_an_extension_never_shortens_a_lease(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    platform.run(id)
    platform.ledger.expire()
    platform.client.zadd(f"{platform.prefix}leases", {id: 1e17})
    platform.advance_time(60)
    assert platform.ledger.expire() == -1
    assert platform.client.zscore(f"{platform.prefix}leases", id) == 1e17


def test_leases_are_not_extended_while_the_reaper_runs(platform: SimulatedPlatform) -> None:
    platform.ledger.expire()
    for _ in range(4):
        platform.advance_time(1.9)
        assert platform.ledger.expire() != -1
    assert platform.model() == "failed"


# ---- repeated calls


def test_a_second_expire_changes_nothing(platform: SimulatedPlatform) -> None:
    streaming, silent, waiting = platform.admit(), platform.admit(), platform.admit()
    platform.append_text(platform.run(streaming), 1, "Once")
    platform.run(silent)
    platform.run_for(LEASE + 1)
    before = dump(platform)
    for _ in range(3):
        assert platform.ledger.expire() == 0
    assert dump(platform) == before
    assert platform.status(waiting) == "queued"


def dump(platform: SimulatedPlatform) -> dict[bytes, object]:
    keys = [key for key in platform.client.keys(f"{platform.prefix}*") if not key.endswith(b"expired_at")]
    return {key: platform.client.dump(key) for key in sorted(keys)}


def test_a_repeated_replica_down_changes_nothing(platform: SimulatedPlatform) -> None:
    (replica,) = [
        key.decode().split("replica:")[1] for key in platform.client.keys(f"{platform.prefix}replica:*")
    ]
    id = platform.admit()
    platform.append_text(platform.run(id), 1, "Once")
    platform.crash(replica)
    before = dump(platform)
    platform.crash(replica)
    assert dump(platform) == before
    assert platform.end(id).code == "engine_crashed"


# ---- engines


def test_a_crashed_engine_fails_the_waiting_jobs_when_it_was_the_last(platform: SimulatedPlatform) -> None:
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
    assert recoverable(platform) == [], "a crashed model is not loaded again by itself"


def replicas_of(platform: SimulatedPlatform, model: str = "alpha") -> list[str]:
    return sorted(name.decode() for name in platform.client.smembers(f"{platform.prefix}replicas:{model}"))


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
    platform.wake_ups("w2")
    platform.release(survivor)
    assert platform.wake_ups("w2") == [victim], "it is older than the one that waits"


def test_a_job_without_events_moves_to_a_replica_with_a_free_slot(
    client: redis.Redis, settings: Settings
) -> None:
    platform, names = two_workers(client, settings, slots=2)
    ids = [platform.admit() for _ in range(2)]
    victim = next(id for id in ids if platform.field(id, "replica") == names[0])
    platform.run(victim, "w1")
    platform.wake_ups("w2")
    platform.crash(names[0], "w1")
    assert platform.wake_ups("w2") == [victim]
    assert platform.field(victim, "replica") == names[1]
    assert platform.run(victim, "w2")


def test_a_release_may_requeue_a_job_once_and_only_without_events(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    lost = {"status": Status.FAILED, "code": "engine_crashed", "retry": True}
    platform.release(platform.run(id), **lost)
    assert platform.status(id) == "dispatched"
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
    silent, unclaimed, waiting = platform.admit(), platform.admit(), platform.admit()
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
        platform.ledger.cancel(unclaimed, "acme")
        platform.stopped(replica)
    assert platform.model() == "unloaded"
    assert platform.waiting() == []
    for id in (silent, unclaimed):
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
    platform.ledger.deregister("w1", platform.incarnations["w1"], "shut down")
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
