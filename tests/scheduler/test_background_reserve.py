"""Background jobs leave slots of a model to requests that clients wait for, and to other tenants."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import redis

from config.settings import Settings
from scheduler.job import QUEUE_PRIORITIES, Job
from tests.scheduler.test_slots import make, running
from tests.support.simulated_platform import SimulatedPlatform

KINDS: list[dict[str, Any]] = [
    {"priority": "low"},
    {"priority": "low", "background": True},
    {"priority": "normal", "background": True},
    {"priority": "high", "background": True},
]


@pytest.fixture
def four_slots(client: redis.Redis, settings: Settings) -> SimulatedPlatform:
    return make(client, settings, 4)


def end(platform: SimulatedPlatform, *ids: str) -> None:
    for id in ids:
        platform.release(platform.run(id, platform.field(id, "worker")))


@pytest.mark.parametrize("slots", [2, 3, 4, 8])
@pytest.mark.parametrize("kind", KINDS)
def test_the_background_jobs_of_a_tenant_leave_the_last_slot_to_the_request_of_another(
    client: redis.Redis, settings: Settings, kind: dict[str, Any], slots: int
) -> None:
    platform = make(client, settings, slots)
    flood = [platform.admit("flood", **kind) for _ in range(slots + 3)]
    assert running(platform, *flood) == flood[: slots - 1]
    first = platform.admit("victim")
    assert running(platform, first), "although jobs of the flood wait"
    waits = platform.admit("victim")
    end(platform, first)
    assert running(platform, waits), "the slot goes to a request that waits"
    end(platform, waits)
    assert running(platform, *flood) == flood[: slots - 1], "and is kept when none waits"


def test_background_jobs_of_all_kinds_together_leave_the_last_slot(four_slots: SimulatedPlatform) -> None:
    flood = [four_slots.admit("flood", **kind) for kind in KINDS * 2]
    assert len(running(four_slots, *flood)) == 3
    assert running(four_slots, four_slots.admit("victim"))


def test_background_jobs_leave_a_slot_free_beside_requests(four_slots: SimulatedPlatform) -> None:
    """They do not take the last free slot, whichever jobs hold the others."""
    request = four_slots.admit("victim")
    flood = [four_slots.admit("flood", background=True) for _ in range(5)]
    assert running(four_slots, *flood) == flood[:2]
    assert running(four_slots, four_slots.admit("victim"))
    end(four_slots, flood[0])
    assert running(four_slots, *flood) == flood[1:2], "the only free slot is kept"
    end(four_slots, request)
    assert running(four_slots, *flood) == flood[1:3], "one of two free slots is kept"


def test_a_request_of_the_same_tenant_takes_the_slot_that_is_kept(four_slots: SimulatedPlatform) -> None:
    flood = [four_slots.admit("flood", background=True) for _ in range(5)]
    assert running(four_slots, four_slots.admit("flood"), *flood[3:]) != []
    assert running(four_slots, *flood) == flood[:3]


def test_a_background_job_of_a_tenant_that_runs_nothing_takes_the_slot_that_is_kept(
    four_slots: SimulatedPlatform,
) -> None:
    flood = [four_slots.admit("flood", background=True) for _ in range(5)]
    first, second = (four_slots.admit("other", background=True) for _ in range(2))
    assert running(four_slots, first, second) == [first]
    end(four_slots, first)
    assert running(four_slots, second, *flood) == [second, *flood[:3]]
    end(four_slots, flood[0])
    assert running(four_slots, second, *flood) == [second, *flood[1:3]], (
        "three background jobs are all that run"
    )


def test_a_model_with_one_slot_keeps_none(client: redis.Redis, settings: Settings) -> None:
    platform = make(client, settings, 1)
    first, second = (platform.admit("flood", background=True) for _ in range(2))
    request = platform.admit("victim")
    assert running(platform, first, second, request) == [first]
    end(platform, first)
    assert running(platform, second, request) == [request], "a request goes before a background job"
    end(platform, request)
    assert running(platform, second)


def test_without_a_reserve_background_jobs_take_all_slots(client: redis.Redis, settings: Settings) -> None:
    platform = make(client, settings, 4, background_reserve=0)
    flood = [platform.admit("flood", **kind) for kind in KINDS]
    assert running(platform, *flood) == flood


def test_a_larger_reserve_keeps_more_slots(client: redis.Redis, settings: Settings) -> None:
    platform = make(client, settings, 4, background_reserve=2)
    flood = [platform.admit("flood", background=True) for _ in range(4)]
    assert running(platform, *flood) == flood[:2]
    end(platform, *flood[:2])
    assert running(platform, *flood[2:]) == flood[2:]


def test_a_reserve_of_more_slots_than_the_model_has_lets_one_background_job_run(
    client: redis.Redis, settings: Settings
) -> None:
    platform = make(client, settings, 2, background_reserve=9)
    flood = [platform.admit("flood", background=True) for _ in range(2)]
    assert running(platform, *flood) == flood[:1]


def test_a_setting_that_is_lowered_lets_waiting_background_jobs_run(
    client: redis.Redis, settings: Settings
) -> None:
    platform = make(client, settings, 4)
    flood = [platform.admit("flood", background=True) for _ in range(5)]
    queue = replace(platform.settings.queue, background_reserve=0)
    lowered = SimulatedPlatform(client, replace(platform.settings, queue=queue))
    flood.append(lowered.admit("flood", background=True))
    platform.expire()
    assert running(platform, *flood) == flood[:4]


@pytest.mark.parametrize("reserve", [1, 9])
@pytest.mark.parametrize("kind", KINDS)
def test_requests_that_take_every_slot_do_not_starve_background_jobs(
    client: redis.Redis, settings: Settings, kind: dict[str, Any], reserve: int
) -> None:
    """Also not those of the tenant that makes these requests, nor with a reserve of all slots."""
    platform = make(client, settings, 2, background_reserve=reserve)
    for _ in range(2):
        platform.admit("busy", "high")
    background = platform.admit("busy", **kind)
    for _ in range(60):
        platform.admit("busy", "high")
    dispatches = 0
    while platform.status(background) == "queued":
        claim = platform.next_claim()
        assert claim is not None
        platform.release(claim)
        dispatches += 1
    assert dispatches <= 18


def test_a_background_priority_that_is_due_takes_no_more_slots_than_it_may_hold(
    client: redis.Redis, settings: Settings
) -> None:
    platform = make(client, settings, 2)
    flood = [platform.admit("flood", background=True) for _ in range(3)]
    requests = [platform.admit("victim") for _ in range(20)]
    for id in requests:
        assert running(platform, id)
        assert running(platform, *flood) == flood[:1]
        end(platform, id)
    assert running(platform, *flood) == flood[:1]


def test_requests_go_before_background_jobs_of_their_priority(
    client: redis.Redis, settings: Settings
) -> None:
    platform = make(client, settings, 1)
    platform.admit("busy")
    ids = {}
    for priority in ("low", "normal", "high"):
        for background in (True, False):
            ids[platform.admit("acme", priority, background=background)] = priority, background
    served = []
    for _ in range(len(ids) + 1):
        claim = platform.next_claim()
        assert claim is not None
        platform.release(claim)
        served.append(ids.get(claim.id))
    assert served[1:5] == [("high", False), ("high", True), ("normal", False), ("normal", True)]
    assert served[5:] == [("low", True), ("low", False)], "by their admission"


def test_slots_that_come_up_are_given_to_background_jobs_but_for_the_last_one(
    client: redis.Redis, settings: Settings
) -> None:
    platform = make(client, settings, 1)
    for worker in ("w1", "w2"):
        platform.register(worker)
    platform.load("beta", slots=2, replicas=2)
    flood = [platform.admit("flood", model="beta", background=True) for _ in range(6)]
    assert running(platform, *flood) == flood[:3]
    platform.crash(platform.field(flood[0], "replica"), worker=platform.field(flood[0], "worker"))
    left = running(platform, *flood)
    if len(left) == 2:  # they ran before the crash
        end(platform, left.pop())
    assert len(left) == len(running(platform, *flood)) == 1, "one of the two slots that are left is kept"


def test_background_runs_from_before_an_update_are_not_counted_below_zero(
    four_slots: SimulatedPlatform,
) -> None:
    ids, served = [four_slots.admit("flood", "low") for _ in range(2)], f"{four_slots.prefix}served:alpha"
    four_slots.client.hdel(served, "@background")
    end(four_slots, *ids)
    assert four_slots.client.hget(served, "@background") == b"0"


def test_the_priorities_of_a_queue_are_those_of_jobs() -> None:
    job = Job("id", "tenant", "model", "test", b"{}", b"{}")
    assert QUEUE_PRIORITIES.index(job.queue_priority) == 2
    named = [
        Job("id", "tenant", "model", "test", b"{}", b"{}", priority=priority, background=background)
        for priority in ("high", "normal", "low")
        for background in (False, True)
    ]
    assert tuple(dict.fromkeys(one.queue_priority for one in named)) == QUEUE_PRIORITIES
