"""Who dies leaves nothing open: deadlines, lost leases, silent and restarted workers, crashed engines."""

from __future__ import annotations

import pytest
import redis

from config.settings import Settings
from fleet.load_request import LoadRequest
from scheduler.errors import Fenced, ModelFailed
from scheduler.job import Status
from streams.events import TextDelta
from tests.support.simulated_platform import House

LEASE = 5.0
QUEUE_TIMEOUT = 120.0
TOTAL = 600.0


def lose_lease(house: House, id: str) -> None:
    """As if its last renewal lay further back than the lease allows."""
    house.client.zadd(f"{house.prefix}leases", {id: 1})


def two_workers(
    client: redis.Redis, settings: Settings, replicas: int = 2, slots: int = 1
) -> tuple[House, list[str]]:
    house = House(client, settings)
    house.register("w1")
    house.register("w2")
    return house, house.load(replicas=replicas, slots=slots)


def recoverable(house: House) -> list[str]:
    return house.rescue.missing()


# ---- deadlines


def test_a_job_that_waits_too_long_is_told_so(house: House) -> None:
    ids = [house.admit() for _ in range(3)]
    house.run(ids[0])
    house.run(ids[1])
    house.live(QUEUE_TIMEOUT - 1, "w1")
    assert house.status(ids[2]) == "queued"
    assert house.live(2, "w1") == 1
    end = house.end(ids[2])
    assert (end.status, end.code) == ("failed", "queue_timeout")
    assert end.queue_ms == pytest.approx(QUEUE_TIMEOUT * 1000, rel=0.02)
    assert end.run_ms == 0
    assert house.waiting() == []
    assert house.status(ids[0]) == "running"


def test_a_dispatched_job_that_nobody_claims_ends_when_its_wait_does(house: House) -> None:
    id, waiting = house.admit(), house.admit()
    house.admit()
    house.live(QUEUE_TIMEOUT + 1, "w1")
    assert house.end(id).code == "queue_timeout"
    assert house.end(waiting).code == "queue_timeout"
    assert house.taken() == 0


def test_a_run_that_takes_too_long_is_ended_and_its_worker_told(house: House) -> None:
    ear = house.listen("notify:w1")
    id = house.admit()
    claim = house.run(id)
    house.say(claim, 1, "once upon a time")
    house.live(TOTAL - 1, "w1")
    assert house.status(id) == "running"
    house.live(2, "w1")
    end = house.end(id)
    assert (end.status, end.code) == ("failed", "deadline_exceeded")
    assert end.run_ms == pytest.approx(TOTAL * 1000, rel=0.01)
    assert ear.heard() == [("notify:w1", f"cancel {id}")]
    assert house.say(claim, 2, "and on") == {id: "fenced"}


def test_the_wait_does_not_count_as_running(house: House) -> None:
    ids = [house.admit() for _ in range(3)]
    first = house.run(ids[0])
    house.run(ids[1])
    house.live(QUEUE_TIMEOUT - 10, "w1")
    house.release(first)
    claim = house.run(ids[2])
    house.live(TOTAL - 10, "w1")
    assert house.status(ids[2]) == "running"
    house.release(claim)
    end = house.end(ids[2])
    assert end.queue_ms == pytest.approx((QUEUE_TIMEOUT - 10) * 1000, rel=0.02)
    assert end.run_ms == pytest.approx((TOTAL - 10) * 1000, rel=0.02)


def test_a_cancelled_run_that_reaches_its_deadline_ends_cancelled(house: House) -> None:
    id = house.admit()
    house.run(id)
    house.ledger.cancel(id, "acme")
    house.live(TOTAL + 1, "w1")
    assert house.end(id).status == "cancelled"


def test_the_slot_of_a_timed_out_run_goes_to_the_next(house: House) -> None:
    first, second = house.admit(), house.admit()
    house.run(first)
    house.run(second)
    house.live(TOTAL - QUEUE_TIMEOUT / 2, "w1")
    waiting = house.admit()
    house.bells()
    house.live(QUEUE_TIMEOUT / 2 + 1, "w1")
    assert house.bells() == [waiting]


def test_a_hundred_and_more_close_in_two_calls(client: redis.Redis, settings: Settings) -> None:
    house = House(client, settings)
    house.register()
    house.load(slots=128)
    ids = [house.admit() for _ in range(120)]
    house.live(QUEUE_TIMEOUT - 1, "w1")
    house.pass_time(1.5)
    assert house.ledger.expire() == 100
    assert house.ledger.expire() == 20
    assert house.ledger.expire() == 0
    assert all(house.end(id).code == "queue_timeout" for id in ids)


# ---- leases


def test_a_lost_lease_sends_a_job_that_said_nothing_back_into_line_once(house: House) -> None:
    id = house.admit()
    house.run(id)
    lose_lease(house, id)
    assert house.ledger.expire() == 1
    assert house.status(id) == "dispatched"
    assert house.bells() == [id, id]
    house.run(id)
    lose_lease(house, id)
    house.ledger.expire()
    end = house.end(id)
    assert (end.status, end.code) == ("failed", "worker_lost")
    assert house.field(id, "attempts") == "2"


def test_a_run_that_is_tried_again_has_what_the_first_one_left_of_the_time(house: House) -> None:
    id = house.admit()
    house.run(id)
    house.live(TOTAL - 20, "w1")
    lose_lease(house, id)
    house.ledger.expire()
    house.run(id)
    house.live(19, "w1")
    assert house.status(id) == "running"
    house.live(2, "w1")
    assert house.end(id).code == "deadline_exceeded"


def test_a_lost_lease_ends_a_job_that_has_spoken(house: House) -> None:
    id = house.admit()
    claim = house.run(id)
    house.say(claim, 1, "Once")
    lose_lease(house, id)
    house.ledger.expire()
    assert house.log(id)[0] == TextDelta("Once")
    assert (house.end(id).status, house.end(id).code) == ("failed", "worker_lost")
    assert house.taken() == 0


def test_a_lost_lease_ends_a_cancelled_job_as_cancelled(house: House) -> None:
    id = house.admit()
    house.run(id)
    house.ledger.cancel(id, "acme")
    lose_lease(house, id)
    house.ledger.expire()
    assert house.end(id).status == "cancelled"


def test_a_dispatched_job_may_be_lost_any_number_of_times_before_it_was_claimed(house: House) -> None:
    id = house.admit()
    for _ in range(5):
        lose_lease(house, id)
        house.ledger.expire()
    assert house.status(id) == "dispatched"
    assert house.field(id, "attempts") == "0"


def test_heartbeats_keep_leases(house: House) -> None:
    running, dispatched = house.admit(), house.admit()
    house.run(running)
    house.live(4 * LEASE, "w1")
    assert house.status(running) == "running"
    assert house.status(dispatched) == "dispatched"


def test_a_heartbeat_tells_what_runs_what_was_cancelled_and_what_was_not_heard(house: House) -> None:
    running, dispatched = house.admit(), house.admit()
    house.run(running)
    house.ledger.cancel(running, "acme")
    pulse = house.ledger.heartbeat("w1", house.incarnations["w1"])
    assert pulse.running == {running}
    assert pulse.cancelled == (running,)
    assert pulse.unheard == (), "its bell may still be on the way"
    assert list(pulse.replicas.values()) == ["up"]
    house.pass_time(1.1)
    assert house.ledger.heartbeat("w1", house.incarnations["w1"]).unheard == (dispatched,)


def test_the_claim_of_a_job_that_moved_on_takes_nothing(client: redis.Redis, settings: Settings) -> None:
    house, _ = two_workers(client, settings)
    id = house.admit()
    other = {"w1": "w2", "w2": "w1"}[house.field(id, "worker")]
    assert house.claim(id, other) is None
    assert house.status(id) == "dispatched"


def test_a_claim_whose_answer_was_lost_is_repeated_and_claims_the_same(house: House) -> None:
    id = house.admit()
    first = house.ledger.claim("w1", house.incarnations["w1"], id, "call-1")
    assert house.ledger.claim("w1", house.incarnations["w1"], id, "call-1") == first
    assert house.ledger.claim("w1", house.incarnations["w1"], id, "call-2") is None
    assert house.field(id, "attempts") == "1"
    lose_lease(house, id)
    house.ledger.expire()
    again = house.ledger.claim("w1", house.incarnations["w1"], id, "call-3")
    assert again
    assert first
    assert again.fence > first.fence


# ---- workers


def test_a_silent_worker_is_given_up_and_its_model_fails(house: House) -> None:
    said, silent, waiting = house.admit(), house.admit(), house.admit()
    house.say(house.run(said), 1, "Once")
    house.run(silent)
    house.live(LEASE - 1)
    assert house.model() == "loaded"
    house.live(1.5)
    row = house.fleet.row("alpha")
    assert (row.state, row.code) == ("failed", "worker_lost")
    assert "w1" in (row.last_error or "")
    assert house.end(said).code == "worker_lost"
    assert house.status(silent) == house.status(waiting) == "queued"
    assert house.taken() == 0
    assert house.fleet.workers() == []
    with pytest.raises(Fenced):
        house.ledger.heartbeat("w1", house.incarnations["w1"])
    with pytest.raises(ModelFailed):
        house.admit()


def test_who_waits_stays_in_line_and_is_served_when_another_worker_takes_over(house: House) -> None:
    running, *waiting = [house.admit() for _ in range(4)]
    house.run(running)
    house.live(LEASE + 1)
    assert house.waiting() == [running, *waiting]
    assert recoverable(house) == ["alpha"]
    house.register("w2")
    house.load(slots=1)
    assert [house.serve("w2") for _ in range(4)] == [running, *waiting]
    assert all(house.end(id).status == "completed" for id in waiting)


def test_a_job_that_comes_back_waits_no_longer_than_any_other(house: House) -> None:
    id = house.admit()
    house.run(id)  # it might have run for ten minutes
    house.live(LEASE + 1)
    assert house.status(id) == "queued"
    house.live(QUEUE_TIMEOUT - 2)
    assert house.status(id) == "queued"
    house.live(3)
    assert house.end(id).code == "queue_timeout"


def test_coming_back_before_the_claim_does_not_lengthen_the_wait(house: House) -> None:
    id = house.admit()
    house.live(QUEUE_TIMEOUT - 10, "w1")
    house.register("w1")
    house.live(11, "w1")
    assert house.end(id).code == "queue_timeout"


def test_the_wait_for_another_worker_is_bounded(house: House) -> None:
    waiting = [house.admit() for _ in range(3)][2]
    house.live(QUEUE_TIMEOUT + 1)
    assert house.end(waiting).code == "queue_timeout"


def test_a_worker_lost_while_it_loads_leaves_no_model_loading(house: House) -> None:
    change = house.fleet.load("beta")
    house.starting(change.assignments[0].replica)
    house.live(LEASE + 1)
    row = house.fleet.row("beta")
    assert (row.state, row.code) == ("failed", "load_interrupted")
    assert change.operation
    operation = house.fleet.operation(change.operation.id)
    assert operation
    assert operation.status == "failed"
    assert sorted(recoverable(house)) == ["alpha", "beta"]


def test_a_restarted_worker_frees_its_slots_at_once(house: House) -> None:
    said, silent = house.admit(), house.admit()
    house.say(house.run(said), 1, "Once")
    house.run(silent)
    house.register("w1")
    assert house.end(said).code == "worker_lost"
    assert house.status(silent) == "queued"
    assert house.taken() == 0
    house.bells()
    house.load()
    assert house.bells() == [silent]


def test_a_restart_hands_over_to_the_other_replica_in_the_same_call(
    client: redis.Redis, settings: Settings
) -> None:
    house, _ = two_workers(client, settings)
    first, second, waiting = house.admit(), house.admit(), house.admit()
    mine = next(id for id in (first, second) if house.field(id, "worker") == "w1")
    other = second if mine == first else first
    house.run(mine, "w1")
    house.release(house.run(other, "w2"))
    assert house.status(waiting) == "dispatched"
    house.release(house.run(waiting, "w2"))
    house.bells("w2")
    house.register("w1")
    assert house.bells("w2") == [mine]
    assert house.model() == "loaded"
    assert house.fleet.row("alpha").loaded_replicas == 1


def test_a_worker_that_leaves_gives_back_what_it_held(house: House) -> None:
    silent = house.admit()
    house.run(silent)
    house.ledger.deregister("w1", house.incarnations["w1"], "shut down")
    assert house.status(silent) == "queued"
    assert house.model() == "unloaded"
    assert recoverable(house) == ["alpha"], "it left, and the model is still wanted"
    house.register("w2")
    house.load()
    assert house.bells("w2") == [silent]


def test_nothing_more_is_dispatched_to_a_worker_that_drains(client: redis.Redis, settings: Settings) -> None:
    house, _ = two_workers(client, settings, slots=4)
    house.ledger.drain("w1", house.incarnations["w1"])
    ids = [house.admit() for _ in range(4)]
    assert {house.field(id, "worker") for id in ids} == {"w2"}
    change = house.fleet.load("beta", LoadRequest(2))
    assert {item.worker for item in change.assignments} == {"w2"}


def test_a_replica_that_comes_up_on_a_draining_worker_gets_no_work(
    client: redis.Redis, settings: Settings
) -> None:
    house = House(client, settings)
    house.register("w1")
    house.register("w2")
    change = house.fleet.load("alpha", LoadRequest(2))
    for item in change.assignments:
        house.starting(item.replica, item.worker)
    house.ledger.drain("w1", house.incarnations["w1"])
    for item in change.assignments:
        house.up(item.replica, item.worker)
    ids = [house.admit() for _ in range(2)]
    assert {house.field(id, "worker") for id in ids} == {"w2"}
    house.register("w1")
    house.register("w2")
    house.load(replicas=2, slots=1)
    assert {house.field(id, "worker") for id in ids} == {"w1", "w2"}, "a new life drains no more"


def test_a_worker_that_was_fenced_can_neither_drain_nor_leave_for_its_successor(house: House) -> None:
    old = house.incarnations["w1"]
    house.register("w1")
    house.load()
    house.ledger.drain("w1", old)
    house.ledger.deregister("w1", old, "late goodbye")
    id = house.admit()
    assert house.run(id)
    assert house.model() == "loaded"


def test_fences_grow_even_when_the_counter_was_lost(house: House) -> None:
    first = house.run(house.admit())
    house.client.delete(f"{house.prefix}fence")
    second = house.run(house.admit())
    assert int(second.fence) > int(first.fence)
    house.client.set(f"{house.prefix}fence", int(second.fence) + 10**12)
    assert int(house.register("w2")) == int(second.fence) + 10**12 + 1


# ---- Redis was away


def test_after_redis_was_away_everybody_gets_one_more_term(house: House) -> None:
    id = house.admit()
    claim = house.run(id)
    house.ledger.expire()
    house.pass_time(60)  # no worker could heartbeat, no reaper could look
    assert house.ledger.expire() == -1
    house.pass_time(1.9)
    assert house.ledger.expire() == 0
    house.ledger.heartbeat("w1", house.incarnations["w1"])
    assert house.say(claim, 1, "still here") == {}
    assert house.model() == "loaded"


def test_who_stays_silent_in_that_term_is_given_up(house: House) -> None:
    house.ledger.expire()
    house.pass_time(60)
    assert house.ledger.expire() == -1
    house.live(LEASE - 1)
    assert house.model() == "loaded"
    house.live(1.1)
    assert house.model() == "failed"


def test_one_more_term_never_shortens_a_lease(house: House) -> None:
    id = house.admit()
    house.run(id)
    house.ledger.expire()
    house.client.zadd(f"{house.prefix}leases", {id: 1e17})
    house.pass_time(60)
    assert house.ledger.expire() == -1
    assert house.client.zscore(f"{house.prefix}leases", id) == 1e17


def test_a_house_in_which_somebody_looks_gives_no_grace(house: House) -> None:
    house.ledger.expire()
    for _ in range(4):
        house.pass_time(1.9)
        assert house.ledger.expire() != -1
    assert house.model() == "failed"


# ---- every step may be done twice


def test_expire_does_nothing_the_second_time(house: House) -> None:
    said, silent, waiting = house.admit(), house.admit(), house.admit()
    house.say(house.run(said), 1, "Once")
    house.run(silent)
    house.live(LEASE + 1)
    before = dump(house)
    for _ in range(3):
        assert house.ledger.expire() == 0
    assert dump(house) == before
    assert house.status(waiting) == "queued"


def dump(house: House) -> dict[bytes, object]:
    keys = [key for key in house.client.keys(f"{house.prefix}*") if not key.endswith(b"expired_at")]
    return {key: house.client.dump(key) for key in sorted(keys)}


def test_the_end_of_a_replica_can_be_told_twice(house: House) -> None:
    (replica,) = [key.decode().split("replica:")[1] for key in house.client.keys(f"{house.prefix}replica:*")]
    id = house.admit()
    house.say(house.run(id), 1, "Once")
    house.crash(replica)
    before = dump(house)
    house.crash(replica)
    assert dump(house) == before
    assert house.end(id).code == "engine_crashed"


# ---- engines


def test_a_crashed_engine_evicts_who_waits_when_the_model_has_no_other(house: House) -> None:
    (replica,) = replicas_of(house)
    said, silent, waiting = house.admit(), house.admit(), house.admit()
    house.say(house.run(said), 1, "Once")
    house.run(silent)
    house.crash(replica)
    row = house.fleet.row("alpha")
    assert (row.state, row.code, row.last_error) == ("failed", "engine_crashed", "killed by SIGSEGV")
    assert house.end(said).code == "engine_crashed"
    assert house.end(silent).code == "engine_crashed"
    end = house.end(waiting)
    assert (end.status, end.code) == ("failed", "model_failed")
    assert "SIGSEGV" not in (house.end(said).message or ""), "what operators see is not for tenants"
    assert house.waiting() == []
    assert recoverable(house) == [], "nobody loads it again by itself"


def replicas_of(house: House, model: str = "alpha") -> list[str]:
    return sorted(name.decode() for name in house.client.smembers(f"{house.prefix}replicas:{model}"))


def test_a_crashed_engine_evicts_nobody_when_the_model_has_another(
    client: redis.Redis, settings: Settings
) -> None:
    house, names = two_workers(client, settings)
    first, second, waiting = house.admit(), house.admit(), house.admit()
    victim = first if house.field(first, "replica") == names[0] else second
    other = second if victim == first else first
    house.run(victim, "w1")
    survivor = house.run(other, "w2")
    house.crash(names[0], "w1")
    assert house.model() == "loaded"
    assert house.fleet.row("alpha").last_error == "killed by SIGSEGV"
    assert set(house.waiting()) == {victim, waiting}
    house.bells("w2")
    house.release(survivor)
    assert house.bells("w2") == [victim], "it is older than the one that waits"


def test_a_job_without_output_moves_to_a_replica_with_room(client: redis.Redis, settings: Settings) -> None:
    house, names = two_workers(client, settings, slots=2)
    ids = [house.admit() for _ in range(2)]
    victim = next(id for id in ids if house.field(id, "replica") == names[0])
    house.run(victim, "w1")
    house.bells("w2")
    house.crash(names[0], "w1")
    assert house.bells("w2") == [victim]
    assert house.field(victim, "replica") == names[1]
    assert house.run(victim, "w2")


def test_a_release_may_send_a_job_back_once_and_only_before_it_spoke(house: House) -> None:
    id = house.admit()
    lost = {"status": Status.FAILED, "code": "engine_crashed", "retry": True}
    house.release(house.run(id), **lost)
    assert house.status(id) == "dispatched"
    house.release(house.run(id), **lost)
    assert house.end(id).code == "engine_crashed"
    spoke = house.admit()
    claim = house.run(spoke)
    house.say(claim, 1, "Once")
    house.release(claim, **lost)
    assert house.end(spoke).code == "engine_crashed"


def test_a_cancelled_job_is_not_sent_back(house: House) -> None:
    id = house.admit()
    claim = house.run(id)
    house.ledger.cancel(id, "acme")
    house.release(claim, Status.FAILED, code="engine_crashed", retry=True)
    end = house.end(id)
    assert (end.status, end.code) == ("cancelled", "cancelled")


def test_what_was_completed_before_its_cancel_arrived_stays_completed(house: House) -> None:
    id = house.admit()
    claim = house.run(id)
    house.ledger.cancel(id, "acme")
    house.release(claim, Status.COMPLETED, finish_reason="stop")
    assert house.end(id).status == "completed"


# ---- a model on its way out takes nobody back


@pytest.mark.parametrize("fault", ["crash", "restart", "silence", "retry"])
def test_nobody_waits_for_a_model_that_was_unloaded(house: House, fault: str) -> None:
    (replica,) = replicas_of(house)
    silent, unheard, waiting = house.admit(), house.admit(), house.admit()
    claim = house.run(silent)
    house.fleet.unload("alpha")
    assert house.end(waiting).code == "model_unloading"
    if fault == "crash":
        house.crash(replica)
    elif fault == "restart":
        house.register("w1")
    elif fault == "silence":
        house.live(LEASE + 1)
    else:
        house.release(claim, Status.FAILED, code="engine_crashed", retry=True)
        house.ledger.cancel(unheard, "acme")
        house.stopped(replica)
    assert house.model() == "unloaded"
    assert house.waiting() == []
    for id in (silent, unheard):
        assert house.end(id).status in {"failed", "cancelled"}


def test_unloading_a_model_that_was_lost_tells_those_who_wait(house: House) -> None:
    ids = [house.admit() for _ in range(3)]
    house.live(LEASE + 1)
    assert house.waiting() == ids
    house.fleet.unload("alpha")
    assert [house.end(id).code for id in ids] == ["model_unloading"] * 3
    assert recoverable(house) == []


def test_unloading_a_model_whose_worker_left_tells_those_who_wait(house: House) -> None:
    id = house.admit()
    house.ledger.deregister("w1", house.incarnations["w1"], "shut down")
    assert house.waiting() == [id]
    house.fleet.unload("alpha")
    assert house.end(id).code == "model_unloading"
    assert recoverable(house) == []


def test_who_waits_for_a_takeover_keeps_waiting_when_that_load_is_interrupted_too(
    client: redis.Redis, settings: Settings
) -> None:
    house = House(client, settings)
    house.register("w1")
    house.load()
    id = house.admit()
    house.live(LEASE + 1)
    house.register("w2")
    house.register("w3")
    change = house.fleet.load("alpha", LoadRequest(2))
    left, right = change.assignments
    house.starting(left.replica, left.worker)
    house.starting(right.replica, right.worker)
    house.register(left.worker)  # it was restarted in the middle of the load
    assert house.model() == "failed"
    assert not house.up(right.replica, right.worker)
    house.crash(right.replica, right.worker, code="load_cancelled")
    assert house.status(id) == "queued"
    assert recoverable(house) == ["alpha"]


def test_who_waits_for_a_takeover_is_told_when_that_load_fails(house: House) -> None:
    id = house.admit()
    house.live(LEASE + 1)
    house.register("w2")
    change = house.fleet.load("alpha")
    house.starting(change.assignments[0].replica, "w2")
    house.crash(change.assignments[0].replica, "w2", code="load_failed")
    assert house.end(id).code == "model_failed"
