"""The choice of the next job: priority, tenant by fair share, admission time."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
import redis

from config.settings import Settings
from scheduler.job import Status
from store.errors import QueueFull
from tests.support.simulated_platform import SimulatedPlatform

MAX_SKIPS = {"normal": 4, "low": 16}


@pytest.fixture
def one_slot(client: redis.Redis, settings: Settings) -> SimulatedPlatform:
    """A platform with one slot and a long queue: there is one claim at a time."""
    platform = SimulatedPlatform(
        client, replace(settings, queue=replace(settings.queue, max_depth=9999, max_depth_per_tenant=999))
    )
    platform.register()
    platform.load(slots=1)
    return platform


def served(platform: SimulatedPlatform, count: int, **release: object) -> list[str]:
    """Serve the next `count` jobs; returns their ids in order."""
    ids = [platform.serve_next(**release) for _ in range(count)]
    return [id for id in ids if id is not None]


def serve_from_full_queues(
    platform: SimulatedPlatform, weights: dict[tuple[str, str], int], count: int, tokens: int | None = None
) -> list[tuple[str, str]]:
    """Serve `count` jobs while each (tenant, priority) always has waiting jobs; returns those of each."""
    owners = {}
    for (tenant, priority), weight in weights.items():
        for _ in range(3):
            owners[platform.admit(tenant, priority, weight=weight)] = (tenant, priority)
    order = []
    for _ in range(count):
        id = platform.serve_next(**({} if tokens is None else {"tokens": tokens}))
        assert id
        order.append(owners[id])
        tenant, priority = owners[id]
        owners[platform.admit(tenant, priority, weight=weights[tenant, priority])] = (tenant, priority)
    return order


# ---- priorities


def test_high_goes_before_normal_and_normal_before_low(one_slot: SimulatedPlatform) -> None:
    one_slot.admit()  # takes the slot
    low, normal, high = (one_slot.admit(priority=priority) for priority in ("low", "normal", "high"))
    assert served(one_slot, 4)[1:] == [high, normal, low]


@pytest.mark.rule("runner/priority")
def test_priority_goes_before_fair_share(one_slot: SimulatedPlatform) -> None:
    one_slot.admit("quiet")
    first = one_slot.admit("busy", "high", cost=10_000)
    second = one_slot.admit("busy", "high", cost=10_000)
    waiting = one_slot.admit("quiet", "normal", cost=1)
    assert served(one_slot, 4)[1:] == [first, second, waiting]


@pytest.mark.parametrize(("priority", "max_skips"), MAX_SKIPS.items())
def test_a_priority_that_was_skipped_the_maximum_number_of_times_goes_next(
    one_slot: SimulatedPlatform, priority: str, max_skips: int
) -> None:
    order = serve_from_full_queues(one_slot, {("a", "high"): 1, ("a", priority): 1}, 3 * (max_skips + 1) + 1)[
        1:
    ]
    priorities = [priority for _, priority in order]
    assert priorities == (["high"] * max_skips + [priority]) * 3


@pytest.mark.rule("runner/priority")
def test_with_jobs_of_all_priorities_none_starves(one_slot: SimulatedPlatform) -> None:
    order = serve_from_full_queues(one_slot, {("a", "high"): 1, ("a", "normal"): 1, ("a", "low"): 1}, 172)
    priorities = [priority for _, priority in order]
    shares = Counter(priorities)
    # low gets one of 17 dispatches; normal gets one of 5 of the others, one later when low goes first
    assert shares["low"] == 10
    assert shares["high"] > 3 * shares["normal"]
    for priority, max_skips in MAX_SKIPS.items():
        gaps = [len(run) for run in "".join("x" if one == priority else "." for one in priorities).split("x")]
        assert max(gaps) <= max_skips + 1, priority


def test_the_skips_of_a_priority_are_reset_when_it_is_served(one_slot: SimulatedPlatform) -> None:
    one_slot.admit()
    low = one_slot.admit(priority="low")
    highs = [one_slot.admit(priority="high") for _ in range(20)]
    assert served(one_slot, 22)[1:] == [*highs[:16], low, *highs[16:]]
    # the low priority was served: its next job starts without skips
    one_slot.admit()
    low = one_slot.admit(priority="low")
    highs = [one_slot.admit(priority="high") for _ in range(17)]
    assert served(one_slot, 19)[1:] == [*highs[:16], low, *highs[16:]]


def test_the_skips_of_a_priority_are_reset_when_its_queue_is_empty(one_slot: SimulatedPlatform) -> None:
    one_slot.admit()
    low = one_slot.admit(priority="low")
    highs = [one_slot.admit(priority="high") for _ in range(40)]
    assert served(one_slot, 16)[1:] == highs[:15]
    one_slot.ledger.cancel(low, "acme")  # one dispatch before it would have been served
    late = one_slot.admit(priority="low")
    order = served(one_slot, 18)
    assert order.index(late) == 17, "skipped 16 times itself, and then served"


# ---- tenants


def test_the_tenant_that_was_served_least_is_next(one_slot: SimulatedPlatform) -> None:
    one_slot.admit("x")
    heavy, light = one_slot.admit("heavy", cost=500), one_slot.admit("light", cost=100)
    again = one_slot.admit("heavy", cost=500), one_slot.admit("light", cost=100)
    assert served(one_slot, 5)[1:3] == [heavy, light]
    one_slot.admit("x")
    third = one_slot.admit("light", cost=100)
    assert one_slot.status(again[1]) == "completed"
    assert one_slot.status(third) in {"queued", "running"}


def test_a_busy_tenant_does_not_starve_a_quiet_one(one_slot: SimulatedPlatform) -> None:
    flood = [one_slot.admit("busy") for _ in range(100)]
    assert served(one_slot, 10) == flood[:10]
    quiet = one_slot.admit("quiet")
    assert quiet in served(one_slot, 2), "after the job that runs already, the quiet tenant's"


def test_shares_follow_weights_of_one_to_three(one_slot: SimulatedPlatform) -> None:
    order = serve_from_full_queues(one_slot, {("one", "normal"): 1, ("three", "normal"): 3}, 400)
    shares = Counter(tenant for tenant, _ in order)
    assert shares["three"] / shares["one"] == pytest.approx(3, rel=0.03)


def test_shares_are_even_at_equal_weights(one_slot: SimulatedPlatform) -> None:
    names = [f"t{number}" for number in range(8)]
    order = serve_from_full_queues(one_slot, {(name, "normal"): 1 for name in names}, 400)
    shares = [Counter(tenant for tenant, _ in order)[name] for name in names]
    jain = sum(shares) ** 2 / (len(shares) * sum(share**2 for share in shares))
    assert jain >= 0.95
    assert max(shares) - min(shares) <= 2


def test_shares_follow_weights_within_every_priority(one_slot: SimulatedPlatform) -> None:
    weights = {("one", "high"): 1, ("three", "high"): 3, ("one", "low"): 1, ("three", "low"): 3}
    order = serve_from_full_queues(one_slot, weights, 400)
    shares = Counter(tenant for tenant, _ in order)
    assert shares["three"] / shares["one"] == pytest.approx(3, rel=0.05)


def test_true_usage_settles_the_estimate(one_slot: SimulatedPlatform) -> None:
    """Both tenants have the same estimates; one really uses three times as many tokens as the other."""
    owners = {one_slot.admit(tenant): tenant for tenant in ("terse", "verbose") for _ in range(3)}
    used: Counter[str] = Counter()
    for _ in range(200):
        claim = one_slot.next_claim()
        assert claim
        tenant = owners[claim.id]
        tokens = 300 if tenant == "verbose" else 100
        used[tenant] += tokens
        owners[one_slot.admit(tenant)] = tenant
        one_slot.release(claim, tokens=tokens)
    assert used["verbose"] / used["terse"] == pytest.approx(1, rel=0.05)


def test_true_usage_is_shared_by_weight(one_slot: SimulatedPlatform) -> None:
    weights = {"one": 1, "three": 3}
    owners = {one_slot.admit(tenant, weight=weights[tenant]): tenant for tenant in weights for _ in range(3)}
    counts: Counter[str] = Counter()
    for _ in range(200):
        claim = one_slot.next_claim()
        assert claim
        tenant = owners[claim.id]
        counts[tenant] += 1
        owners[one_slot.admit(tenant, weight=weights[tenant])] = tenant
        one_slot.release(claim, tokens=2000)  # eight times the estimate
    assert counts["three"] / counts["one"] == pytest.approx(3, rel=0.06)


def test_a_long_answer_is_charged_its_true_usage_and_no_more(client: redis.Redis, settings: Settings) -> None:
    """Usage is settled on the tenant's own account, not on top of the service of other tenants."""
    platform = SimulatedPlatform(
        client, replace(settings, queue=replace(settings.queue, max_depth=999, max_depth_per_tenant=999))
    )
    platform.register()
    platform.load(slots=2)
    platform.admit("slow", cost=100)
    (slow,) = platform.claims()
    platform.claimed()
    for _ in range(100):
        platform.admit("quick", cost=100)
    for _ in range(50):
        platform.serve_next(tokens=100)  # quick was served 5000 tokens by now
    platform.release(slow, tokens=3000)
    account = platform.client.hget(f"{platform.prefix}served:alpha", "slow")
    assert float(account or 0) == 3000  # type: ignore[arg-type]
    next_one = platform.admit("slow", cost=100)
    assert next_one in [platform.serve_next(tokens=100) for _ in range(3)]


def test_a_job_that_runs_at_once_is_charged_and_settled_by_weight(platform: SimulatedPlatform) -> None:
    def served_tokens() -> float:
        return float(platform.client.hget(f"{platform.prefix}served:alpha", "acme") or 0)  # type: ignore[arg-type]

    id = platform.admit(cost=400, weight=4)
    assert served_tokens() == 100
    platform.release(platform.run(id), tokens=1000)
    assert served_tokens() == 250


def test_an_idle_tenant_whose_job_runs_at_once_starts_at_the_level_of_the_others(
    one_slot: SimulatedPlatform,
) -> None:
    for _ in range(5):
        one_slot.admit("busy", cost=100)
    served(one_slot, 5)  # the fifth began at 400
    one_slot.admit("idle", cost=100)
    assert float(one_slot.client.hget(f"{one_slot.prefix}served:alpha", "idle") or 0) == 500  # type: ignore[arg-type]


def test_an_unknown_true_usage_leaves_the_estimate(one_slot: SimulatedPlatform) -> None:
    order = serve_from_full_queues(one_slot, {("a", "normal"): 1, ("b", "normal"): 1}, 40, tokens=None)
    assert Counter(tenant for tenant, _ in order) == {"a": 20, "b": 20}


def test_a_job_that_never_ran_is_not_charged(one_slot: SimulatedPlatform) -> None:
    one_slot.admit("other")
    first = one_slot.admit("shy", cost=10_000)
    assert served(one_slot, 1)
    one_slot.ledger.cancel(first, "shy")
    one_slot.release(one_slot.run(first), Status.CANCELLED, tokens=0)
    one_slot.admit("other")
    others = [one_slot.admit("other") for _ in range(3)]
    again = one_slot.admit("shy")
    assert again in served(one_slot, 3), f"{again} waits for {others}"


def test_an_idle_tenant_saves_no_credit(one_slot: SimulatedPlatform) -> None:
    one_slot.admit("idle")
    for _ in range(50):
        one_slot.admit("busy")
    served(one_slot, 41)
    late = [one_slot.admit("idle") for _ in range(20)]
    order = served(one_slot, 10)
    share = sum(id in late for id in order)
    assert 4 <= share <= 6, "every other dispatch from now on, and no compensation for the forty before"


def test_a_second_job_does_not_move_the_first_one_back(one_slot: SimulatedPlatform) -> None:
    """While high priority jobs run, the low-priority tenants stay in order."""
    one_slot.admit("x", "high")
    first = one_slot.admit("a", "low")
    second = one_slot.admit("b", "low")
    for _ in range(6):
        one_slot.admit("x", "high")
    served(one_slot, 4)
    third = one_slot.admit("a", "low")
    lows = [id for id in served(one_slot, 6) if one_slot.field(id, "priority") == "low"]
    assert lows == [first, second, third]


# ---- order of admission


def test_the_jobs_of_a_tenant_are_served_in_order_of_admission(one_slot: SimulatedPlatform) -> None:
    ids = [one_slot.admit() for _ in range(30)]
    assert served(one_slot, 30) == ids


def test_a_requeued_job_is_first_again(one_slot: SimulatedPlatform) -> None:
    first, second, third = (one_slot.admit() for _ in range(3))
    one_slot.release(one_slot.run(first), Status.FAILED, code="engine_crashed", retry=True)
    assert one_slot.serve_next() == first, "it gets its slot again: it is the oldest"
    assert served(one_slot, 2) == [second, third]


def test_a_requeue_costs_the_tenant_nothing(one_slot: SimulatedPlatform) -> None:
    one_slot.admit("a-unlucky", cost=1000)
    for tenant in ("a-unlucky", "b-other", "a-unlucky", "b-other"):
        one_slot.admit(tenant, cost=1000)
    first = one_slot.next_claim()
    assert first
    one_slot.release(first, Status.FAILED, code="engine_crashed", retry=True)
    tenants = [one_slot.field(id, "tenant") for id in served(one_slot, 5)]
    assert tenants == ["a-unlucky", "b-other", "a-unlucky", "b-other", "a-unlucky"]


# ---- limits


def test_a_model_without_a_queue_accepts_as_many_jobs_as_it_has_slots(
    client: redis.Redis, settings: Settings
) -> None:
    platform = SimulatedPlatform(client, replace(settings, queue=replace(settings.queue, max_depth=0)))
    platform.register()
    platform.load(slots=2)
    platform.admit()
    platform.admit()
    with pytest.raises(QueueFull):
        platform.admit()


def test_two_models_have_two_queues(platform: SimulatedPlatform) -> None:
    platform.load("beta", slots=1)
    for _ in range(3):
        platform.admit(model="alpha")
    waiting = [platform.admit(model="beta") for _ in range(2)][1]
    assert platform.waiting("beta") == [waiting]
    assert len(platform.waiting("alpha")) == 1


def test_a_refusal_contains_the_average_wait(client: redis.Redis, settings: Settings) -> None:
    platform = SimulatedPlatform(client, replace(settings, queue=replace(settings.queue, max_depth=1)))
    platform.register()
    platform.load(slots=1)
    platform.admit()
    platform.admit()
    platform.advance_time(20)
    platform.serve_next()
    platform.serve_next()
    platform.admit()
    platform.admit()
    with pytest.raises(QueueFull) as refusal:
        platform.admit()
    # 0, 20 s and 0: each new job counts one fifth
    assert refusal.value.details["avgWaitMs"] == pytest.approx(0.8 * (0.2 * 20_000), rel=0.01)


def test_tokens_of_reused_prefixes_count_less_for_fair_share(one_slot: SimulatedPlatform) -> None:
    owners = {}
    for tenant in ("chats", "papers"):
        for _ in range(30):
            owners[one_slot.admit(tenant, cost=1000)] = tenant
    order = []
    while len(order) < 33:
        claim = one_slot.next_claim("w1")
        assert claim is not None
        order.append(owners[claim.id])
        # 1,000 tokens each, of which the chats have 900 in the cache
        one_slot.release(claim, tokens=1000, work=190 if owners[claim.id] == "chats" else None)
    counts = Counter(order)
    assert counts["chats"] > 4 * counts["papers"]
