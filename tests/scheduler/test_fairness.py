"""Priority picks the priority, fairness picks the tenant, order picks the job, room picks the replica."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
import redis

from config.settings import Settings
from fleet.load_request import LoadRequest
from scheduler.errors import QueueFull
from scheduler.job import Status
from tests.support.simulated_platform import SimulatedPlatform

PATIENCE = {"normal": 4, "low": 16}


@pytest.fixture
def counter(client: redis.Redis, settings: Settings) -> SimulatedPlatform:
    """A house with one slot and a long line: who is served next is one bell."""
    platform = SimulatedPlatform(
        client, replace(settings, queue=replace(settings.queue, max_depth=9999, max_depth_per_tenant=999))
    )
    platform.register()
    platform.load(slots=1)
    return platform


def served(platform: SimulatedPlatform, turns: int, **release: object) -> list[str]:
    """The jobs of the next turns, in order."""
    ids = [platform.serve_next(**release) for _ in range(turns)]
    return [id for id in ids if id is not None]


def keep_waiting(
    platform: SimulatedPlatform, lines: dict[tuple[str, str], int], turns: int, tokens: int | None = None
) -> list[str]:
    """Serve some turns while each (tenant, priority) always has jobs in line; whose turn each was."""
    whose = {}
    for (tenant, priority), weight in lines.items():
        for _ in range(3):
            whose[platform.admit(tenant, priority, weight=weight)] = (tenant, priority)
    turned = []
    for _ in range(turns):
        id = platform.serve_next(**({} if tokens is None else {"tokens": tokens}))
        assert id
        turned.append(whose[id])
        tenant, priority = whose[id]
        whose[platform.admit(tenant, priority, weight=lines[tenant, priority])] = (tenant, priority)
    return turned


# ---- priorities


def test_high_goes_before_normal_and_normal_before_low(counter: SimulatedPlatform) -> None:
    counter.admit()  # takes the slot
    low, normal, high = (counter.admit(priority=priority) for priority in ("low", "normal", "high"))
    assert served(counter, 4)[1:] == [high, normal, low]


def test_a_priority_goes_before_the_tenant_who_was_served_least(counter: SimulatedPlatform) -> None:
    counter.admit("quiet")
    first = counter.admit("busy", "high", cost=10_000)
    second = counter.admit("busy", "high", cost=10_000)
    waiting = counter.admit("quiet", "normal", cost=1)
    assert served(counter, 4)[1:] == [first, second, waiting]


@pytest.mark.parametrize(("priority", "patience"), PATIENCE.items())
def test_a_priority_that_was_passed_over_as_often_as_its_patience_has_the_next_turn(
    counter: SimulatedPlatform, priority: str, patience: int
) -> None:
    turns = keep_waiting(counter, {("a", "high"): 1, ("a", priority): 1}, 3 * (patience + 1) + 1)[1:]
    priorities = [priority for _, priority in turns]
    assert priorities == (["high"] * patience + [priority]) * 3


def test_with_all_priorities_waiting_none_starves(counter: SimulatedPlatform) -> None:
    turns = keep_waiting(counter, {("a", "high"): 1, ("a", "normal"): 1, ("a", "low"): 1}, 172)
    priorities = [priority for _, priority in turns]
    shares = Counter(priorities)
    # one turn in 17 is low's; of the others one in 5 is normal's, a turn later when low's falls on it
    assert shares["low"] == 10
    assert shares["high"] > 3 * shares["normal"]
    for priority, patience in PATIENCE.items():
        gaps = [len(run) for run in "".join("x" if one == priority else "." for one in priorities).split("x")]
        assert max(gaps) <= patience + 1, priority


def test_a_priority_that_is_alone_loses_its_impatience(counter: SimulatedPlatform) -> None:
    counter.admit()
    low = counter.admit(priority="low")
    highs = [counter.admit(priority="high") for _ in range(20)]
    assert served(counter, 22)[1:] == [*highs[:16], low, *highs[16:]]
    # that low turn is over: the next low job is as patient as the first
    counter.admit()
    low = counter.admit(priority="low")
    highs = [counter.admit(priority="high") for _ in range(17)]
    assert served(counter, 19)[1:] == [*highs[:16], low, *highs[16:]]


def test_a_priority_that_left_the_line_unserved_takes_no_impatience_along(counter: SimulatedPlatform) -> None:
    counter.admit()
    low = counter.admit(priority="low")
    highs = [counter.admit(priority="high") for _ in range(40)]
    assert served(counter, 16)[1:] == highs[:15]
    counter.ledger.cancel(low, "acme")  # one turn before it would have been served
    late = counter.admit(priority="low")
    turns = served(counter, 18)
    assert turns.index(late) == 17, "passed over 16 times of its own, and served in the next turn"


# ---- tenants


def test_the_tenant_who_was_served_least_is_next(counter: SimulatedPlatform) -> None:
    counter.admit("x")
    heavy, light = counter.admit("heavy", cost=500), counter.admit("light", cost=100)
    again = counter.admit("heavy", cost=500), counter.admit("light", cost=100)
    assert served(counter, 5)[1:3] == [heavy, light]
    counter.admit("x")
    third = counter.admit("light", cost=100)
    assert counter.status(again[1]) == "completed"
    assert counter.status(third) in {"queued", "dispatched"}


def test_a_busy_tenant_does_not_starve_a_quiet_one(counter: SimulatedPlatform) -> None:
    flood = [counter.admit("busy") for _ in range(100)]
    assert served(counter, 10) == flood[:10]
    quiet = counter.admit("quiet")
    assert quiet in served(counter, 2), "the one that is dispatched already, then the quiet one"


def test_shares_follow_weights_of_one_to_three(counter: SimulatedPlatform) -> None:
    turns = keep_waiting(counter, {("one", "normal"): 1, ("three", "normal"): 3}, 400)
    shares = Counter(tenant for tenant, _ in turns)
    assert shares["three"] / shares["one"] == pytest.approx(3, rel=0.03)


def test_shares_are_even_at_equal_weights(counter: SimulatedPlatform) -> None:
    names = [f"t{number}" for number in range(8)]
    turns = keep_waiting(counter, {(name, "normal"): 1 for name in names}, 400)
    shares = [Counter(tenant for tenant, _ in turns)[name] for name in names]
    jain = sum(shares) ** 2 / (len(shares) * sum(share**2 for share in shares))
    assert jain >= 0.95
    assert max(shares) - min(shares) <= 2


def test_shares_follow_weights_within_every_priority(counter: SimulatedPlatform) -> None:
    lines = {("one", "high"): 1, ("three", "high"): 3, ("one", "low"): 1, ("three", "low"): 3}
    turns = keep_waiting(counter, lines, 400)
    shares = Counter(tenant for tenant, _ in turns)
    assert shares["three"] / shares["one"] == pytest.approx(3, rel=0.05)


def test_true_usage_settles_the_estimate(counter: SimulatedPlatform) -> None:
    """Both are estimated alike; what one truly uses is three times the other's."""
    whose = {counter.admit(tenant): tenant for tenant in ("terse", "verbose") for _ in range(3)}
    used: Counter[str] = Counter()
    for _ in range(200):
        id = counter.next_wake_up()
        assert id
        tenant = whose[id]
        tokens = 300 if tenant == "verbose" else 100
        used[tenant] += tokens
        whose[counter.admit(tenant)] = tenant
        counter.release(counter.run(id), tokens=tokens)
    assert used["verbose"] / used["terse"] == pytest.approx(1, rel=0.05)


def test_true_usage_is_shared_by_weight(counter: SimulatedPlatform) -> None:
    weights = {"one": 1, "three": 3}
    whose = {counter.admit(tenant, weight=weights[tenant]): tenant for tenant in weights for _ in range(3)}
    turns: Counter[str] = Counter()
    for _ in range(200):
        id = counter.next_wake_up()
        assert id
        tenant = whose[id]
        turns[tenant] += 1
        whose[counter.admit(tenant, weight=weights[tenant])] = tenant
        counter.release(counter.run(id), tokens=2000)  # eight times what was estimated
    assert turns["three"] / turns["one"] == pytest.approx(3, rel=0.06)


def test_a_long_answer_counts_as_what_it_was_and_no_more(client: redis.Redis, settings: Settings) -> None:
    """One that took long is settled on its tenant's own account, not on top of what others had meanwhile."""
    platform = SimulatedPlatform(
        client, replace(settings, queue=replace(settings.queue, max_depth=999, max_depth_per_tenant=999))
    )
    platform.register()
    platform.load(slots=2)
    platform.admit("slow", cost=100)
    slow = platform.run(platform.next_wake_up() or "")
    for _ in range(100):
        platform.admit("quick", cost=100)
    for _ in range(50):
        platform.serve_next(tokens=100)  # quick has 5000 by now
    platform.release(slow, tokens=3000)
    next_one = platform.admit("slow", cost=100)
    assert next_one in [platform.serve_next(tokens=100) for _ in range(3)]


def test_an_unknown_true_usage_leaves_the_estimate(counter: SimulatedPlatform) -> None:
    turns = keep_waiting(counter, {("a", "normal"): 1, ("b", "normal"): 1}, 40, tokens=None)
    assert Counter(tenant for tenant, _ in turns) == {"a": 20, "b": 20}


def test_a_job_that_never_ran_is_not_charged(counter: SimulatedPlatform) -> None:
    counter.admit("other")
    first = counter.admit("shy", cost=10_000)
    assert served(counter, 1)
    assert counter.status(first) == "dispatched"
    counter.ledger.cancel(first, "shy")
    counter.wake_ups()
    counter.admit("other")
    others = [counter.admit("other") for _ in range(3)]
    again = counter.admit("shy")
    assert again in served(counter, 3), f"{again} waits for {others}"


def test_who_was_idle_saves_no_credit(counter: SimulatedPlatform) -> None:
    counter.admit("idle")
    for _ in range(50):
        counter.admit("busy")
    served(counter, 41)
    late = [counter.admit("idle") for _ in range(20)]
    turns = served(counter, 10)
    share = sum(id in late for id in turns)
    assert 4 <= share <= 6, "from now on every other turn, and not the forty that it did not ask for"


def test_a_second_job_does_not_send_the_first_one_back(counter: SimulatedPlatform) -> None:
    """While the high priority runs, the tenants of the low one keep their places among themselves."""
    counter.admit("x", "high")
    first = counter.admit("a", "low")
    second = counter.admit("b", "low")
    for _ in range(6):
        counter.admit("x", "high")
    served(counter, 4)
    third = counter.admit("a", "low")
    lows = [id for id in served(counter, 6) if counter.field(id, "priority") == "low"]
    assert lows == [first, second, third]


# ---- order


def test_a_tenants_jobs_are_served_in_the_order_they_came(counter: SimulatedPlatform) -> None:
    ids = [counter.admit() for _ in range(30)]
    assert served(counter, 30) == ids


def test_a_job_that_comes_back_is_in_front_again(counter: SimulatedPlatform) -> None:
    first, second, third = (counter.admit() for _ in range(3))
    claim = counter.run(counter.next_wake_up() or "")
    counter.release(claim, Status.FAILED, code="engine_crashed", retry=True)
    assert counter.next_wake_up() == first, "its slot was given to itself again: it is the oldest"
    counter.release(counter.run(first))
    assert served(counter, 2) == [second, third]


def test_coming_back_costs_the_tenant_nothing(counter: SimulatedPlatform) -> None:
    counter.admit("a-unlucky", cost=1000)
    for tenant in ("a-unlucky", "b-other", "a-unlucky", "b-other"):
        counter.admit(tenant, cost=1000)
    first = counter.run(counter.next_wake_up() or "")
    counter.release(first, Status.FAILED, code="engine_crashed", retry=True)
    tenants = [counter.field(id, "tenant") for id in served(counter, 5)]
    assert tenants == ["a-unlucky", "b-other", "a-unlucky", "b-other", "a-unlucky"]


# ---- replicas


def platform_of(
    client: redis.Redis, settings: Settings, replicas: int, slots: int
) -> tuple[SimulatedPlatform, list[str]]:
    platform = SimulatedPlatform(client, settings)
    for number in range(replicas):
        platform.register(f"w{number + 1}")
    return platform, platform.load(replicas=replicas, slots=slots)


@pytest.mark.parametrize("replicas", [2, 3, 4])
def test_idle_replicas_are_used_in_turn(client: redis.Redis, settings: Settings, replicas: int) -> None:
    platform, names = platform_of(client, settings, replicas, slots=2)
    used: Counter[str] = Counter()
    for _ in range(3 * replicas):
        id = platform.admit()
        used[platform.field(id, "replica")] += 1
        platform.release(platform.run(id, platform.field(id, "worker")))
    assert used == dict.fromkeys(names, 3)


def test_the_least_loaded_replica_is_next(client: redis.Redis, settings: Settings) -> None:
    platform, names = platform_of(client, settings, 3, slots=2)
    ids = [platform.admit() for _ in range(6)]
    assert Counter(platform.field(id, "replica") for id in ids[:3]) == dict.fromkeys(names, 1)
    assert Counter(platform.field(id, "replica") for id in ids) == dict.fromkeys(names, 2)
    freed = platform.field(ids[4], "replica")
    platform.release(platform.run(ids[4], platform.field(ids[4], "worker")))
    assert platform.field(platform.admit(), "replica") == freed


def test_a_replica_with_more_room_is_filled_up_first(client: redis.Redis, settings: Settings) -> None:
    platform, _ = platform_of(client, settings, 2, slots=4)
    ids = [platform.admit() for _ in range(6)]
    emptied = platform.field(ids[0], "replica")
    for id in ids:
        if platform.field(id, "replica") == emptied:
            platform.release(platform.run(id, platform.field(id, "worker")))
    assert [platform.field(platform.admit(), "replica") for _ in range(3)] == [emptied] * 3


def test_every_slot_is_used(client: redis.Redis, settings: Settings) -> None:
    platform, names = platform_of(client, settings, 1, slots=128)
    ids = [platform.admit() for _ in range(129)]
    assert platform.client.scard(f"{platform.prefix}slots:{names[0]}") == 128
    assert platform.waiting() == ids[128:]


def test_load_is_measured_by_the_share_of_taken_slots(client: redis.Redis, settings: Settings) -> None:
    platform = SimulatedPlatform(client, settings)
    platform.register("w1")
    platform.register("w2")
    change = platform.fleet.load("alpha", LoadRequest(2))
    for item, slots in zip(change.assignments, (1, 4), strict=True):
        platform.starting(item.replica, item.worker)
        platform.up(item.replica, item.worker, slots)
    ids = [platform.admit() for _ in range(5)]
    shares = Counter(platform.field(id, "replica") for id in ids)
    assert shares == {change.assignments[0].replica: 1, change.assignments[1].replica: 4}


def test_no_replica_takes_more_than_its_slots(client: redis.Redis, settings: Settings) -> None:
    platform, names = platform_of(client, settings, 2, slots=3)
    for _ in range(20):
        platform.admit()
    for name in names:
        assert platform.client.scard(f"{platform.prefix}slots:{name}") == 3
    assert len(platform.waiting()) == 14


# ---- bounds


def test_a_model_without_a_line_takes_what_it_has_room_for(client: redis.Redis, settings: Settings) -> None:
    platform = SimulatedPlatform(client, replace(settings, queue=replace(settings.queue, max_depth=0)))
    platform.register()
    platform.load(slots=2)
    platform.admit()
    platform.admit()
    with pytest.raises(QueueFull):
        platform.admit()


def test_two_models_have_two_lines(platform: SimulatedPlatform) -> None:
    platform.load("beta", slots=1)
    for _ in range(3):
        platform.admit(model="alpha")
    waiting = [platform.admit(model="beta") for _ in range(2)][1]
    assert platform.waiting("beta") == [waiting]
    assert len(platform.waiting("alpha")) == 1


def test_the_average_wait_is_what_a_refusal_tells(client: redis.Redis, settings: Settings) -> None:
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
    assert refusal.value.details["avgWaitMs"] == pytest.approx(20_000, rel=0.01)
    assert refusal.value.retry_after_s in {20, 21}
