"""Work on many jobs goes on in steps: a call ends at most so many, and `expire` continues with the others."""

from __future__ import annotations

import pytest
import redis

from config.settings import Settings
from fleet.reaper import Reaper
from fleet.worker_registry import Expired
from store.errors import ModelNotLoaded, ModelUnloading
from tests.support.faults import replicas_of, two_workers
from tests.support.simulated_platform import SimulatedPlatform
from tests.support.small_steps import make_steps_small
from tests.support.waiting import wait_until

LEASE = 5.0
STEP = 2


@pytest.fixture
def platform(client: redis.Redis, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> SimulatedPlatform:
    """One worker, model alpha loaded with six slots; each call of a script ends or dispatches two jobs."""
    make_steps_small(monkeypatch, STEP)
    platform = SimulatedPlatform(client, settings)
    platform.register()
    platform.load(slots=6)
    return platform


def ended(platform: SimulatedPlatform, ids: list[str]) -> int:
    return sum(platform.status(id) in {"failed", "cancelled", "completed"} for id in ids)


def unfinished(platform: SimulatedPlatform) -> int:
    return platform.client.zcard(f"{platform.prefix}unfinished")


def admit(platform: SimulatedPlatform, count: int) -> list[str]:
    return [platform.admit() for _ in range(count)]


def run_all(platform: SimulatedPlatform, ids: list[str]) -> None:
    for number, id in enumerate(ids):
        platform.append_text(platform.run(id), 1, f"text {number}")


# ---- the queue of a model that will not be served


def test_an_unload_fails_the_waiting_jobs_in_steps(platform: SimulatedPlatform) -> None:
    admit(platform, 6)
    waiting = admit(platform, 7)
    platform.fleet.unload("alpha")
    assert ended(platform, waiting) == STEP
    for done in (4, 6, 7):
        assert unfinished(platform)
        platform.fleet.registry.expire()
        assert ended(platform, waiting) == done
    assert not unfinished(platform)
    assert {platform.end(id).code for id in waiting} == {"model_unloading"}


def test_a_request_is_refused_while_the_queue_of_an_unloaded_model_is_being_failed(
    platform: SimulatedPlatform,
) -> None:
    admit(platform, 13)
    outcome = platform.fleet.unload("alpha")
    with pytest.raises(ModelUnloading):
        platform.admit()
    platform.finish_unload(outcome)
    with pytest.raises(ModelNotLoaded):
        platform.admit()


def test_a_model_that_is_loaded_again_serves_the_waiting_jobs_that_had_not_failed_yet(
    platform: SimulatedPlatform,
) -> None:
    admit(platform, 6)
    waiting = admit(platform, 5)
    platform.finish_unload(platform.fleet.unload("alpha"))
    failed = ended(platform, waiting)
    assert STEP <= failed < 5
    platform.load(slots=6)
    platform.expire()
    assert ended(platform, waiting) == failed
    assert [platform.status(id) for id in waiting[failed:]] == ["running"] * (5 - failed)


def test_a_crash_of_the_last_engine_fails_the_waiting_jobs_in_steps(
    without_restarts: SimulatedPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_steps_small(monkeypatch, STEP)
    platform = SimulatedPlatform(without_restarts.client, without_restarts.settings)
    platform.register()
    platform.load(slots=6)
    ids = admit(platform, 6)
    run_all(platform, ids)
    waiting = admit(platform, 4)
    (replica,) = replicas_of(platform)
    platform.crash(replica)
    assert ended(platform, ids + waiting) <= 2 * STEP
    platform.expire()
    assert {platform.end(id).code for id in ids} == {"engine_crashed"}
    assert {platform.end(id).code for id in waiting} == {"model_failed"}
    assert (platform.slots_taken(), unfinished(platform)) == (0, 0)


# ---- the jobs of a replica that is gone


def test_the_jobs_of_a_lost_worker_end_in_steps(platform: SimulatedPlatform) -> None:
    ids = admit(platform, 6)
    run_all(platform, ids)
    platform.register()
    assert ended(platform, ids) == STEP
    assert platform.slots_taken() == 6 - STEP
    platform.expire()
    assert {platform.end(id).code for id in ids} == {"worker_lost"}
    assert (platform.slots_taken(), unfinished(platform)) == (0, 0)


def test_the_slots_of_a_lost_replica_are_not_used_while_its_jobs_are_being_ended(
    client: redis.Redis, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_steps_small(monkeypatch, STEP)
    platform, replicas = two_workers(client, settings, slots=4)
    ids = admit(platform, 8)
    run_all_anywhere(platform, ids)
    waiting = admit(platform, 3)
    lost = {id for id in ids if platform.field(id, "worker") == "w1"}
    platform.register("w1")
    while unfinished(platform):
        assert all(platform.status(id) == "queued" for id in waiting)
        platform.fleet.registry.expire()
    assert {id for id in ids if platform.status(id) == "failed"} == lost
    assert platform.model() == "loaded"
    assert replicas


def run_all_anywhere(platform: SimulatedPlatform, ids: list[str]) -> None:
    for id in ids:
        platform.append_text(platform.run(id, platform.field(id, "worker")), 1, "text")


def test_jobs_of_a_lost_replica_without_events_are_queued_again_in_steps(
    client: redis.Redis, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_steps_small(monkeypatch, STEP)
    platform, _ = two_workers(client, settings, slots=16)
    ids = admit(platform, 14)
    lost = [id for id in ids if platform.field(id, "worker") == "w1"]
    platform.register("w1")
    while unfinished(platform):
        platform.fleet.registry.expire()
        assert not platform.waiting(), "the other replica has free slots"
    assert {platform.status(id) for id in ids} == {"running"}
    assert {platform.field(id, "worker") for id in lost} == {"w2"}


def test_a_repeated_report_of_a_crash_dispatches_the_jobs_that_it_queues_again(
    client: redis.Redis, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_steps_small(monkeypatch, STEP)
    platform, replicas = two_workers(client, settings, slots=16)
    ids = admit(platform, 12)
    lost = [id for id in ids if platform.field(id, "worker") == "w1"]
    crashed = next(name for name in replicas if platform.field(lost[0], "replica") == name)
    for moved in (2, 4, 6):
        platform.crash(crashed)
        assert sum(platform.field(id, "worker") == "w2" for id in lost) == moved
        assert not platform.waiting(), "the other replica has free slots"
    platform.expire()
    assert {platform.status(id) for id in ids} == {"running"}


def test_a_worker_that_leaves_with_many_jobs_is_removed_at_once(platform: SimulatedPlatform) -> None:
    ids = admit(platform, 6)
    run_all(platform, ids)
    platform.fleet.registry.deregister("w1", platform.incarnations["w1"], "shut down")
    assert platform.fleet.workers() == []
    assert platform.fleet.row("alpha").workers == ()
    platform.expire()
    assert ended(platform, ids) == 6


def test_a_restarted_worker_gets_no_cancels_of_its_former_jobs(platform: SimulatedPlatform) -> None:
    ids = admit(platform, 6)
    for id in ids:
        platform.ledger.cancel(id, "acme")
    platform.register("w1")
    assert ended(platform, ids) < 6
    assert platform.ledger.heartbeat("w1", platform.incarnations["w1"]).cancelled == ()
    platform.expire()
    assert {platform.end(id).status for id in ids} == {"cancelled"}


# ---- expire, dispatch


def test_one_call_of_expire_ends_so_many_jobs_in_all(platform: SimulatedPlatform) -> None:
    running, waiting = admit(platform, 6), admit(platform, 4)
    run_all(platform, running)
    platform.run_for(0.5, "w1")
    platform.client.zadd(f"{platform.prefix}leases", dict.fromkeys(running[:4], 1))
    for id in running[4:]:
        platform.client.hset(f"{platform.prefix}job:{id}", "late", "1")
    platform.client.zadd(f"{platform.prefix}deadlines", dict.fromkeys(running[4:], 1))
    replies = []
    while not replies or replies[-1].more:
        replies.append(platform.fleet.registry.expire())
    assert [reply.ended for reply in replies] == [STEP] * 3 + [0]
    assert ended(platform, running) == 6
    assert {platform.status(id) for id in waiting} == {"running"}


def test_jobs_that_wait_for_a_load_are_dispatched_in_steps(platform: SimulatedPlatform) -> None:
    platform.fleet.registry.deregister("w1", platform.incarnations["w1"], "shut down")
    platform.register()
    outcome = platform.fleet.load("alpha")
    ids = [f"resp_{number}" for number in range(5)]
    platform.client.hset(f"{platform.prefix}model:alpha", "state", "loaded")
    for id in ids:
        platform.admit(id=id)
    platform.client.hset(f"{platform.prefix}model:alpha", "state", "loading")
    platform.finish_load(outcome, slots=6)
    assert len(platform.waiting()) == 5 - STEP
    assert platform.fleet.registry.expire() == Expired(0, more=True)
    assert platform.fleet.registry.expire() == Expired(0, more=False)
    assert platform.waiting() == []


def test_the_reaper_continues_without_waiting_for_its_next_turn(platform: SimulatedPlatform) -> None:
    waiting = admit(platform, 40)[6:]
    platform.fleet.unload("alpha")
    reaper = Reaper(platform.fleet.registry)
    reaper.start()
    try:
        wait_until(lambda: ended(platform, waiting) == len(waiting))
    finally:
        reaper.stop()


# ---- of many processes one runs it


def make_overdue(platform: SimulatedPlatform) -> None:
    """One call of `expire` ends a job: its worker has not stopped it within the time for this."""
    (id,) = admit(platform, 1)
    platform.client.hset(f"{platform.prefix}job:{id}", "late", "1")
    platform.client.zadd(f"{platform.prefix}deadlines", {id: 1})


def test_expire_does_nothing_when_another_process_ran_it_just_before(platform: SimulatedPlatform) -> None:
    platform.fleet.registry.expire()
    make_overdue(platform)
    assert platform.fleet.registry.expire(1_000_000) == Expired(0, more=False)
    platform.advance_time(1)
    assert platform.fleet.registry.expire(1_000_000).ended == 1


def test_calls_that_come_too_early_do_not_delay_the_next_run(platform: SimulatedPlatform) -> None:
    platform.fleet.registry.expire()
    make_overdue(platform)
    runs = 0
    for _ in range(20):
        platform.advance_time(0.05)
        runs += platform.fleet.registry.expire(250_000).ended
    assert runs == 1


def test_a_clock_that_was_set_back_does_not_stop_expire(platform: SimulatedPlatform) -> None:
    platform.fleet.registry.expire()
    platform.advance_time(3600)
    assert platform.fleet.registry.expire().ended == -1
    platform.advance_time(-3600)
    make_overdue(platform)
    assert platform.fleet.registry.expire(250_000).ended == 1


def test_a_gap_between_runs_is_found_although_other_calls_came_too_early(
    platform: SimulatedPlatform,
) -> None:
    platform.fleet.registry.expire()
    platform.advance_time(0.1)
    platform.fleet.registry.expire(250_000)
    platform.advance_time(1.95)
    assert platform.fleet.registry.expire(250_000).ended == -1
