"""Which tenant gets a slot: its share, the bound on its running jobs, and the reserve."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
import redis

from config.limits import Limits, limits_of
from config.settings import QueueSettings, Settings, Tenant
from scheduler.job import Claim
from store.errors import QueueFull
from tests.support.simulated_platform import SimulatedPlatform

LONG_QUEUE = QueueSettings(max_depth=100_000, max_depth_per_tenant=10_000)


def bound(max_running: int | None = None) -> Limits:
    return replace(limits_of(Tenant("any"), Settings(queue=LONG_QUEUE)), max_running=max_running)


def make(client: redis.Redis, settings: Settings, slots: int, **queue: Any) -> SimulatedPlatform:
    platform = SimulatedPlatform(client, replace(settings, queue=replace(LONG_QUEUE, **queue)))
    platform.register()
    platform.load(slots=slots)
    return platform


@pytest.fixture
def eight_slots(client: redis.Redis, settings: Settings) -> SimulatedPlatform:
    return make(client, settings, 8)


def running(platform: SimulatedPlatform, *ids: str) -> list[str]:
    return [id for id in ids if platform.status(id) == "running"]


# ---- shares of the slots


def test_a_tenant_may_hold_every_free_slot_while_no_other_waits(eight_slots: SimulatedPlatform) -> None:
    ids = [eight_slots.admit("flood") for _ in range(8)]
    assert running(eight_slots, *ids) == ids


def test_a_tenant_with_long_jobs_gets_no_more_than_its_share_back(eight_slots: SimulatedPlatform) -> None:
    """Each job is charged as a short one; the long jobs end one by one, and none is stopped."""
    for _ in range(8 + 40):
        eight_slots.admit("long", cost=1)
    for _ in range(40):
        eight_slots.admit("other", cost=1000)
    claims = list(eight_slots.claims())
    eight_slots.claimed()
    for count, claim in enumerate(claims, 1):
        eight_slots.release(claim, tokens=1)
        tenants = Counter(eight_slots.field(one.id, "tenant") for one in eight_slots.claims())
        assert tenants["other"] == min(count, 4) + max(0, (count - 8) // 2), tenants
    assert tenants == {"other": 4, "long": 4}


def test_a_share_of_the_slots_follows_the_weight(eight_slots: SimulatedPlatform) -> None:
    for _ in range(8):
        eight_slots.admit("first")
    claims = list(eight_slots.claims())
    eight_slots.claimed()
    for _ in range(20):
        eight_slots.admit("light", weight=1, cost=1)
        eight_slots.admit("heavy", weight=3, cost=10_000)
    for claim in claims:
        eight_slots.release(claim)
    tenants = Counter(eight_slots.field(claim.id, "tenant") for claim in eight_slots.claims())
    assert tenants == {"light": 2, "heavy": 6}


def test_a_slot_goes_to_a_high_request_although_another_tenant_fills_slots_and_queue(
    client: redis.Redis, settings: Settings
) -> None:
    """55 long jobs of one tenant: its running work goes on, and the next slot is the other's."""
    platform = SimulatedPlatform(client, settings)
    platform.register()
    platform.load(slots=8)
    for _ in range(55):
        platform.admit("flood")
    claims = platform.claims()
    first = claims.pop(0)
    high = platform.admit("quiet", "high")
    platform.run_for(100, "w1")
    platform.release(first)
    assert platform.status(high) == "running"
    assert len(platform.waiting()) == 47
    platform.admit("flood")
    with pytest.raises(QueueFull):
        platform.admit("flood")
    assert platform.status(platform.admit("quiet", "low")) == "queued", (
        "its places are not taken by the other"
    )


def test_the_level_of_idle_tenants_is_that_of_the_least_served(
    client: redis.Redis, settings: Settings
) -> None:
    """A tenant that was served more goes first since it runs nothing; no tenant starts at its level."""
    platform = make(client, settings, 2)
    before, _ = platform.admit("before", cost=1), platform.admit("flood", cost=100)
    served = f"{platform.prefix}served:alpha"
    platform.client.hset(served, "greedy", 10**6)
    waiting = [platform.admit(tenant, cost=100) for tenant in ("flood", "greedy")]
    platform.release(platform.run(before))
    assert running(platform, *waiting) == waiting[1:]
    assert float(platform.client.hget(served, "@floor") or 0) < 1000  # type: ignore[arg-type]


def simulate(
    platform: SimulatedPlatform, weights: dict[str, float], jobs: int, lengths: dict[str, float] | None = None
) -> Counter[str]:
    """Serve jobs of random length of tenants that always wait; the tokens of each tenant."""
    chance, used = random.Random(1), Counter[str]()
    owners, busy, now = dict[str, str](), list[tuple[float, int, Claim, int]](), 0.0

    def ask(tenant: str) -> None:
        owners[platform.admit(tenant, weight=weights[tenant], cost=100)] = tenant

    while len(platform.waiting()) == 0:
        platform.admit("before")  # the tenants find no free slot
    before = list(platform.claims())
    platform.claimed()
    for tenant in weights:
        for _ in range(10):
            ask(tenant)
    for claim in before:
        platform.release(claim)
    platform.ledger.cancel(platform.waiting()[0], "before")
    for number in range(jobs):
        for claim in platform.claims():
            tenant = owners.get(claim.id, "before")
            tokens = int(chance.uniform(50, 150) * (lengths or {}).get(tenant, 1.0))
            busy.append((now + tokens, number, claim, tokens))
            if tenant != "before":
                ask(tenant)
        platform.claimed()
        busy.sort(key=lambda one: one[:2])
        now, _, claim, tokens = busy.pop(0)
        used[owners.get(claim.id, "before")] += tokens
        platform.release(claim, tokens=tokens)
    del used["before"]
    return used


def test_twenty_equal_tenants_get_equal_shares(eight_slots: SimulatedPlatform) -> None:
    used = simulate(eight_slots, {f"t{number}": 1.0 for number in range(20)}, 700)
    shares = list(used.values())
    assert sum(shares) ** 2 / (20 * sum(share**2 for share in shares)) >= 0.95
    assert len(shares) == 20


@pytest.mark.parametrize("slots", [1, 7, 8])
def test_tokens_follow_weights_of_one_to_two_to_four(
    client: redis.Redis, settings: Settings, slots: int
) -> None:
    weights = {"one": 1.0, "two": 2.0, "four": 4.0}
    used = simulate(make(client, settings, slots), weights, 800, {"one": 3.0, "four": 0.5})
    total = used.total()
    for tenant, weight in weights.items():
        assert used[tenant] / total == pytest.approx(weight / 7, rel=0.05), used


def test_a_quiet_tenant_waits_at_most_one_service_time_of_a_slot_beside_a_flood(
    eight_slots: SimulatedPlatform,
) -> None:
    """The flood always has 30 jobs that wait; the quiet tenant sends one at a time."""
    chance, now, waits = random.Random(3), 0.0, list[float]()
    busy: list[tuple[float, Any]] = []
    asked: dict[str, float] = {}
    for _ in range(38):
        eight_slots.admit("flood")
    next_at = 3.7
    while len(waits) < 60:
        for claim in eight_slots.claims():
            busy.append((now + chance.uniform(0.5, 1.0), claim))
            if claim.id in asked:
                waits.append(now - asked.pop(claim.id))
            else:
                eight_slots.admit("flood")
        eight_slots.claimed()
        busy.sort(key=lambda one: one[0])
        if next_at < busy[0][0]:
            now, next_at = next_at, next_at + chance.uniform(0.1, 3.0)
            asked[eight_slots.admit("quiet")] = now
        else:
            now, claim = busy.pop(0)
            eight_slots.release(claim)
    assert sorted(waits)[57] <= 1.0 / 8 * 2, "a slot is freed every eighth of a service time"
    assert max(waits) <= 1.0


def test_many_tenants_are_compared_in_groups(client: redis.Redis, settings: Settings) -> None:
    """The first 60 tenants may not take a slot; the 61st may."""
    platform = make(client, settings, 61)
    for number in range(60):
        platform.admit(f"t{number:02}", limits=bound(1), cost=1)
        platform.admit(f"t{number:02}", limits=bound(1), cost=1)
    last = [platform.admit("last", limits=bound(2), cost=10**6) for _ in range(2)]
    assert running(platform, *last) == last[:1]
    platform.release(platform.run(last[0]))
    assert running(platform, last[1])


# ---- the bound on running jobs


def test_a_tenant_at_its_bound_waits_and_others_run(eight_slots: SimulatedPlatform) -> None:
    ids = [eight_slots.admit("bounded", "high", limits=bound(2)) for _ in range(4)]
    assert running(eight_slots, *ids) == ids[:2]
    others = [eight_slots.admit("other") for _ in range(6)]
    assert running(eight_slots, *others) == others, "although a job of a higher priority waits"
    eight_slots.release(eight_slots.run(ids[0]))
    assert running(eight_slots, *ids) == ids[1:3]


def test_a_bound_holds_for_all_models_together(eight_slots: SimulatedPlatform) -> None:
    eight_slots.load("beta", slots=4)
    here = eight_slots.admit("bounded", limits=bound(1))
    there = [eight_slots.admit("bounded", limits=bound(1), model="beta") for _ in range(2)]
    assert running(eight_slots, here, *there) == [here]
    assert running(eight_slots, eight_slots.admit("other", model="beta"))
    eight_slots.release(eight_slots.run(here))
    assert running(eight_slots, *there) == there[:1], "the end of a job on one model dispatches for the other"
    eight_slots.release(eight_slots.run(there[0]))
    assert running(eight_slots, *there) == there[1:]
    assert not eight_slots.client.exists(f"{eight_slots.prefix}held:bounded")


def test_a_job_that_came_to_its_bound_while_it_waited_runs_later(eight_slots: SimulatedPlatform) -> None:
    """It waits for a slot at first, and for the end of a job of its tenant when the slot is free."""
    eight_slots.load("beta", slots=1)
    other = eight_slots.admit("other", model="beta")
    waits = eight_slots.admit("bounded", limits=bound(1), model="beta")
    here = eight_slots.admit("bounded", limits=bound(1))
    eight_slots.release(eight_slots.run(other))
    assert running(eight_slots, waits, here) == [here]
    eight_slots.release(eight_slots.run(here))
    assert running(eight_slots, waits)


def test_a_job_that_is_admitted_at_its_bound_runs_later(eight_slots: SimulatedPlatform) -> None:
    eight_slots.load("beta", slots=1)
    here, there = (eight_slots.admit("bounded", limits=bound(1), model=model) for model in ("alpha", "beta"))
    assert running(eight_slots, here, there) == [here]
    eight_slots.release(eight_slots.run(here))
    assert running(eight_slots, there)


def test_a_bounded_job_that_is_queued_again_counts_once(eight_slots: SimulatedPlatform) -> None:
    ids = [eight_slots.admit("bounded", limits=bound(1)) for _ in range(2)]
    for _ in range(2):
        eight_slots.release(eight_slots.run(ids[0]), code="engine_error", retry=True)
        if eight_slots.status(ids[0]) != "running":
            break
    assert eight_slots.client.hget(f"{eight_slots.prefix}running", "bounded") == b"1"
    assert len(running(eight_slots, *ids)) == 1


def test_a_new_bound_counts_the_jobs_of_the_model_that_run_already(eight_slots: SimulatedPlatform) -> None:
    ids = [eight_slots.admit("tenant") for _ in range(3)]
    late = eight_slots.admit("tenant", limits=bound(2))
    assert eight_slots.status(late) == "queued"
    for id in ids[:2]:
        eight_slots.release(eight_slots.run(id))
    assert running(eight_slots, late)


def test_a_bound_that_is_raised_lets_waiting_jobs_run(eight_slots: SimulatedPlatform) -> None:
    ids = [eight_slots.admit("tenant", limits=bound(1)) for _ in range(2)]
    late = eight_slots.admit("tenant", limits=bound())
    eight_slots.expire()
    assert running(eight_slots, *ids, late) == [*ids, late]


def test_a_bound_that_is_raised_lets_waiting_jobs_run_although_they_fill_the_queue(
    client: redis.Redis, settings: Settings
) -> None:
    platform = make(client, settings, 8, max_depth=3)
    ids = [platform.admit("tenant", limits=bound(1)) for _ in range(4)]
    with pytest.raises(QueueFull):
        platform.admit("tenant", limits=bound())
    platform.expire()
    assert running(platform, *ids) == ids


def test_the_places_of_a_tenant_at_its_bound_do_not_shut_others_out(
    client: redis.Redis, settings: Settings
) -> None:
    platform = make(client, settings, 8, max_depth=5)
    for _ in range(6):
        platform.admit("bounded", limits=bound(1))
    assert running(platform, platform.admit("other")), "the queue is full, and slots are free"
    with pytest.raises(QueueFull):
        platform.admit("bounded", limits=bound(1))


def test_runs_and_slots_from_before_an_update_are_not_counted_below_zero(
    eight_slots: SimulatedPlatform,
) -> None:
    ids, served = [eight_slots.admit("tenant") for _ in range(3)], f"{eight_slots.prefix}served:alpha"
    eight_slots.client.delete(served)
    for id in ids:
        eight_slots.release(eight_slots.run(id))
    eight_slots.fleet.registry.deregister("w1", eight_slots.incarnations["w1"], "goodbye")
    fields = {
        name: eight_slots.client.hget(served, name) for name in ("@running", "tenant:running", "@slots")
    }
    assert set(fields.values()) == {b"0"}, fields


# ---- the reserve


def test_the_reserve_is_kept_for_tenants_that_run_nothing(client: redis.Redis, settings: Settings) -> None:
    platform = make(client, settings, 8, reserve_one_in=4)
    ids = [platform.admit("flood", "high") for _ in range(9)]
    assert running(platform, *ids) == ids[:6]
    quiet = [platform.admit(name, "low") for name in ("quiet", "silent")]
    assert running(platform, *quiet) == quiet
    platform.release(platform.run(quiet[0]))
    assert running(platform, *ids) == ids[:6], "a slot of the reserve is free again, and kept"
    platform.release(platform.run(ids[0]))
    assert running(platform, *ids) == ids[1:6], "the reserve is two free slots"
    platform.release(platform.run(ids[1]))
    assert running(platform, *ids) == ids[2:7]


def test_a_model_with_few_slots_has_no_reserve(client: redis.Redis, settings: Settings) -> None:
    platform = make(client, settings, 3, reserve_one_in=4)
    ids = [platform.admit("flood") for _ in range(4)]
    assert running(platform, *ids) == ids[:3]


def test_the_reserve_is_of_all_replicas_that_are_up(client: redis.Redis, settings: Settings) -> None:
    platform = SimulatedPlatform(client, replace(settings, queue=replace(LONG_QUEUE, reserve_one_in=3)))
    platform.register()
    replicas = platform.load(slots=1, replicas=4)
    ids = [platform.admit("flood") for _ in range(5)]
    assert running(platform, *ids) == ids[:3], "one of four slots is kept"
    idle = next(one for one in replicas if not platform.client.exists(f"{platform.prefix}slots:{one}"))
    platform.crash(idle)
    platform.release(platform.run(ids[0]))
    assert running(platform, *ids) == ids[1:3], "one of three slots is kept"


def test_a_slot_of_the_reserve_goes_to_a_tenant_that_waits_and_runs_nothing(
    client: redis.Redis, settings: Settings
) -> None:
    platform = make(client, settings, 4, reserve_one_in=4)
    flood = [platform.admit("flood", "high") for _ in range(5)]
    first, second = platform.admit("first", "low"), platform.admit("second", "low")
    assert running(platform, *flood, first, second) == [*flood[:3], first]
    platform.release(platform.run(first))
    assert running(platform, *flood, second) == [*flood[:3], second]
