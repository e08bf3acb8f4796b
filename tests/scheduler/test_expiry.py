"""Expiry: deadlines, lost leases, Redis outages, repeated calls."""

from __future__ import annotations

import pytest
import redis

from config.settings import Settings
from scheduler.job import AppendRequest, Claim, Status
from streams.events import PromptProgress, TextDelta, Usage
from tests.support.faults import lose_lease
from tests.support.simulated_platform import SimulatedPlatform
from tests.support.waiting import scaled

LEASE = 5.0
QUEUE_TIMEOUT = 120.0
TOTAL = 600.0
STOP = 5.0
"""So long a worker has to end a run whose time is over."""


# ---- deadlines


@pytest.mark.rule("runner/env/QUEUE_TIMEOUT_MS")
def test_a_job_that_waits_too_long_fails_with_queue_timeout(platform: SimulatedPlatform) -> None:
    ids = [platform.admit() for _ in range(3)]
    platform.run(ids[0])
    platform.run(ids[1])
    platform.run_for(QUEUE_TIMEOUT - scaled(1), "w1")  # the calls of the test take time as well
    assert platform.status(ids[2]) == "queued"
    assert platform.run_for(scaled(2), "w1") == 1
    end = platform.end(ids[2])
    assert (end.status, end.code) == ("failed", "queue_timeout")
    assert end.queue_ms == pytest.approx(QUEUE_TIMEOUT * 1000, rel=0.02)
    assert end.run_ms == 0
    assert platform.waiting() == []
    assert platform.status(ids[0]) == "running"


def test_a_run_that_takes_too_long_is_ended_and_its_worker_notified(platform: SimulatedPlatform) -> None:
    recorder = platform.record("notify:w1")
    id = platform.admit()
    claim = platform.run(id)
    platform.append_text(claim, 1, "once upon a time")
    platform.run_for(TOTAL - scaled(1), "w1")
    assert platform.status(id) == "running"
    platform.run_for(scaled(2), "w1")
    assert platform.append_text(claim, 2, "and on") == {id: "cancel"}
    assert recorder.messages() == [("notify:w1", f"cancel {id}")]
    assert platform.status(id) == "running", "its worker may report what it has used"
    platform.run_for(STOP, "w1")
    end = platform.end(id)
    assert (end.status, end.code, end.usage) == ("failed", "deadline_exceeded", None)
    assert end.run_ms == pytest.approx((TOTAL + STOP) * 1000, rel=0.01)
    assert platform.append_text(claim, 2, "and on") == {id: "fenced"}


@pytest.mark.parametrize("status", [Status.CANCELLED, Status.FAILED, Status.COMPLETED])
def test_a_run_that_is_stopped_at_its_time_limit_counts_what_it_has_used(
    platform: SimulatedPlatform, status: Status
) -> None:
    id = platform.admit(time_limit_ms=4000)
    claim = platform.run(id)
    platform.append_text(claim, 1, "once upon a time")
    platform.run_for(5, "w1")
    usage = b'{"input_tokens":300,"output_tokens":4}'
    platform.release(claim, status, usage=usage, tokens=304)
    end = platform.end(id)
    completed = status is Status.COMPLETED  # its last token came before the message to stop
    assert (end.status, end.code) == (("completed", None) if completed else ("failed", "deadline_exceeded"))
    assert end.usage == Usage(300, 4)
    platform.expire()
    counters = platform.client.hgetall(f"{platform.prefix}counters")
    assert counters[b"input_tokens alpha acme"] == b"300"  # type: ignore[index]


def test_no_run_counts_for_more_than_its_time_limit_when_the_clock_is_set_forward(
    platform: SimulatedPlatform,
) -> None:
    claim = platform.run(platform.admit())
    platform.advance_time(86_400)
    platform.release(claim)
    assert platform.end(claim.id).run_ms == pytest.approx((TOTAL + 10) * 1000, rel=0.01)


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
    platform.run_for(TOTAL + STOP + 1, "w1")
    assert platform.end(id).status == "cancelled"


def test_the_slot_of_a_timed_out_run_is_used_for_the_next_job(platform: SimulatedPlatform) -> None:
    first, second = platform.admit(), platform.admit()
    platform.run(first)
    platform.run(second)
    platform.run_for(TOTAL - QUEUE_TIMEOUT / 2, "w1")
    waiting = platform.admit()
    platform.claimed()
    platform.run_for(QUEUE_TIMEOUT / 2 + STOP + 1, "w1")
    assert platform.claimed() == [waiting]


def test_one_call_of_expire_ends_at_most_a_hundred_jobs(client: redis.Redis, settings: Settings) -> None:
    platform = SimulatedPlatform(client, settings)
    platform.register()
    platform.load(slots=128)
    ids = [platform.admit() for _ in range(120)]
    platform.client.zadd(f"{platform.prefix}deadlines", dict.fromkeys(ids, 1))
    assert platform.expire() == 0, "their workers are asked to stop them"
    platform.client.zadd(f"{platform.prefix}deadlines", dict.fromkeys(ids, 1))
    assert platform.fleet.registry.expire().ended == 100
    assert platform.fleet.registry.expire().ended == 20
    assert platform.fleet.registry.expire().ended == 0
    assert all(platform.end(id).code == "deadline_exceeded" for id in ids)


# ---- leases


def test_a_lost_lease_requeues_a_job_without_events_once(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    platform.run(id)
    lose_lease(platform, id)
    assert platform.fleet.registry.expire().ended == 1
    assert platform.status(id) == "running"
    platform.run(id)
    lose_lease(platform, id)
    platform.fleet.registry.expire()
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
    platform.fleet.registry.expire()
    platform.run(id)
    platform.run_for(20 - scaled(1), "w1")
    assert platform.status(id) == "running"
    platform.run_for(scaled(2) + STOP, "w1")
    assert platform.end(id).code == "deadline_exceeded"


def test_a_retried_job_waits_no_longer_than_its_run_could_have_taken(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    platform.run(id)
    platform.run_for(platform.settings.limits.request_timeout_s - 10, "w1")
    platform.register("w1")
    assert platform.status(id) == "queued"
    platform.run_for(11)
    assert platform.end(id).code == "deadline_exceeded"


def test_a_lost_lease_fails_a_job_with_events(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    claim = platform.run(id)
    platform.append_text(claim, 1, "Once")
    lose_lease(platform, id)
    platform.fleet.registry.expire()
    assert platform.log(id)[0] == TextDelta("Once")
    assert (platform.end(id).status, platform.end(id).code) == ("failed", "worker_lost")
    assert platform.slots_taken() == 0


HALF, ALL = PromptProgress(8, 0, 4, 100), PromptProgress(8, 0, 8, 200)


def append(platform: SimulatedPlatform, claim: Claim, *events: PromptProgress) -> None:
    encoded = tuple(event.encode() for event in events)
    request = AppendRequest(claim.id, claim.replica, claim.fence, claim.last + 1, encoded)
    assert platform.step(claim, [request], []).stopped == {}


def test_a_lost_lease_requeues_a_job_that_has_only_read_its_prompt_once(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    append(platform, platform.run(id), HALF)
    lose_lease(platform, id)
    platform.fleet.registry.expire()
    assert platform.status(id) == "running"
    claim = platform.run(id)
    assert claim.last == 1
    append(platform, claim, HALF, ALL)
    lose_lease(platform, id)
    platform.fleet.registry.expire()
    assert platform.log(id)[:3] == [HALF, HALF, ALL]
    assert (platform.end(id).status, platform.end(id).code) == ("failed", "worker_lost")
    assert platform.field(id, "attempts") == "2"


def test_a_lost_lease_fails_a_job_with_output_after_its_prompt(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    claim = platform.run(id)
    append(platform, claim, HALF, ALL)
    platform.append_text(claim, 3, "Once")
    lose_lease(platform, id)
    platform.fleet.registry.expire()
    assert platform.log(id)[:3] == [HALF, ALL, TextDelta("Once")]
    assert (platform.end(id).status, platform.end(id).code) == ("failed", "worker_lost")


def test_a_job_that_waits_again_after_its_prompt_ends_behind_its_log(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    append(platform, platform.run(id), HALF)
    platform.register("w1")
    assert platform.status(id) == "queued"
    platform.ledger.cancel(id, "acme")
    assert platform.log(id)[0] == HALF
    assert platform.end(id).status == "cancelled"


def test_a_lost_lease_ends_a_cancelled_job_as_cancelled(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    platform.run(id)
    platform.ledger.cancel(id, "acme")
    lose_lease(platform, id)
    platform.fleet.registry.expire()
    assert platform.end(id).status == "cancelled"


def test_heartbeats_renew_leases(platform: SimulatedPlatform) -> None:
    started, in_the_list = platform.admit(), platform.admit()
    platform.run(started)
    platform.run_for(4 * LEASE, "w1")
    assert platform.status(started) == "running"
    assert platform.status(in_the_list) == "running"


def test_a_heartbeat_returns_running_and_cancelled_jobs(platform: SimulatedPlatform) -> None:
    first, second = platform.admit(), platform.admit()
    claim = platform.run(first)
    platform.ledger.cancel(first, "acme")
    reply = platform.ledger.heartbeat("w1", platform.incarnations["w1"])
    assert reply.running == {first, second}
    assert reply.cancelled == (first,)
    assert list(reply.replicas.values()) == ["up"]
    platform.release(claim, Status.CANCELLED)
    reply = platform.ledger.heartbeat("w1", platform.incarnations["w1"])
    assert (reply.running, reply.cancelled) == ({second}, ())


def test_a_heartbeat_renews_thousands_of_leases(client: redis.Redis, settings: Settings) -> None:
    platform = SimulatedPlatform(client, settings)
    platform.register()
    platform.load(slots=2500)
    ids = {platform.admit() for _ in range(2500)}
    platform.run_for(4 * LEASE, "w1")
    reply = platform.ledger.heartbeat("w1", platform.incarnations["w1"])
    assert reply.running == ids
    assert {platform.status(id) for id in ids} == {"running"}


# ---- Redis was down


def test_after_redis_was_down_all_leases_are_extended(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    claim = platform.run(id)
    platform.fleet.registry.expire()
    platform.advance_time(60)  # neither heartbeats nor the reaper could run
    assert platform.fleet.registry.expire().ended == -1
    platform.advance_time(1.9)
    assert platform.fleet.registry.expire().ended == 0
    platform.ledger.heartbeat("w1", platform.incarnations["w1"])
    assert platform.append_text(claim, 1, "still here") == {}
    assert platform.model() == "loaded"


def test_a_worker_that_stays_silent_after_the_extension_is_removed(platform: SimulatedPlatform) -> None:
    platform.fleet.registry.expire()
    platform.advance_time(60)
    assert platform.fleet.registry.expire().ended == -1
    platform.run_for(LEASE - 1)
    assert platform.model() == "loaded"
    platform.run_for(1.1)
    assert platform.model() == "failed"


def test_an_extension_never_shortens_a_lease(platform: SimulatedPlatform) -> None:
    id = platform.admit()
    platform.run(id)
    platform.fleet.registry.expire()
    platform.client.zadd(f"{platform.prefix}leases", {id: 1e17})
    platform.advance_time(60)
    assert platform.fleet.registry.expire().ended == -1
    assert platform.client.zscore(f"{platform.prefix}leases", id) == 1e17


def test_leases_are_not_extended_while_the_reaper_runs(platform: SimulatedPlatform) -> None:
    platform.fleet.registry.expire()
    for _ in range(4):
        platform.advance_time(1.9)
        assert platform.fleet.registry.expire().ended != -1
    assert platform.model() == "failed"


# ---- repeated calls


def test_a_second_expire_changes_nothing(platform: SimulatedPlatform) -> None:
    streaming, silent, waiting = platform.admit(), platform.admit(), platform.admit()
    platform.append_text(platform.run(streaming), 1, "Once")
    platform.run(silent)
    platform.run_for(LEASE + 1)
    before = dump(platform)
    for _ in range(3):
        assert platform.fleet.registry.expire().ended == 0
    assert dump(platform) == before
    assert platform.status(waiting) == "queued"


def dump(platform: SimulatedPlatform) -> dict[bytes, object]:
    keys = [
        key
        for key in platform.client.keys(f"{platform.prefix}*")
        if not key.endswith((b"expired_at", b"looked_at"))
    ]
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
