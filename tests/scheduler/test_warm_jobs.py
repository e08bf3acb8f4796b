"""A freed slot is given to a job whose prompt its replica has in its cache, within the bounds of fairness."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
import redis

from config.settings import QueueSettings, Settings
from generation.prefix_keys import PrefixKey
from scheduler.job import Status
from scheduler.queue_choice import Cause, cause_of, reason_in_words
from tests.support.simulated_platform import SimulatedPlatform
from tests.support.stopped_platform import StoppedPlatform

DEFICIT = 32_000
CACHED = 3_000
"""The tokens of the prompt that a replica has computed."""


@pytest.fixture
def platform(client: redis.Redis, settings: Settings) -> StoppedPlatform:
    """Two replicas with three slots each."""
    queue = QueueSettings(max_depth=1000, max_depth_per_tenant=1000)
    platform = StoppedPlatform(client, replace(settings, queue=queue))
    for number in (1, 2):
        platform.register(f"w{number}")
    platform.load(replicas=2, slots=3)
    return platform


def keys(chat: int) -> list[PrefixKey]:
    return [(bytes([chat]) * 8, CACHED)]


def admit(platform: SimulatedPlatform, tenant: str, chat: int | None = None, **more: object) -> str:
    fields = {"locality": "fair", "cost": 4_000, **more}
    return platform.admit(tenant, prefix_keys=[] if chat is None else keys(chat), **fields)  # type: ignore[arg-type]


def end(platform: SimulatedPlatform, id: str, **more: object) -> str:
    """End a running job; returns its replica."""
    replica = platform.field(id, "replica")
    platform.release(platform.run(id, platform.field(id, "worker")), **more)
    return replica


def warm_up(platform: SimulatedPlatform, chat: int, tenant: str = "warm") -> str:
    """Run a turn of a chat; returns its replica."""
    return end(platform, admit(platform, tenant, chat, cost=1), tokens=1)


def fill(platform: SimulatedPlatform) -> dict[str, list[str]]:
    """Take all slots for a tenant; returns its jobs by replica."""
    running: dict[str, list[str]] = {}
    for _ in range(6):
        id = admit(platform, "busy", cost=1)
        running.setdefault(platform.field(id, "replica"), []).append(id)
    return running


def dispatched_by(platform: SimulatedPlatform, replica: str, running: dict[str, list[str]]) -> str:
    """End a job of a replica; returns the job that gets the slot."""
    waiting = set(platform.waiting())
    end(platform, running[replica].pop(), tokens=4_000)
    (id,) = waiting - set(platform.waiting())
    assert platform.field(id, "replica") == replica
    running[replica].append(id)
    return id


def other(running: dict[str, list[str]], replica: str) -> str:
    (name,) = set(running) - {replica}
    return name


def members(platform: SimulatedPlatform) -> dict[str, list[str]]:
    """The listed jobs by replica."""
    start = f"{platform.prefix}warm:"
    found = platform.client.scan_iter(f"{start}*")
    return {
        key.decode().removeprefix(start).rpartition(":")[0]: [
            member.decode().split(" ")[0]
            for member in platform.client.zrange(key, 0, -1)  # type: ignore[union-attr]
        ]
        for key in found
    }


@pytest.mark.parametrize("locality", ["tenant", "fair"])
def test_a_freed_slot_goes_to_the_job_of_the_tenant_whose_prompt_the_replica_has(
    platform: SimulatedPlatform, locality: str
) -> None:
    replica = warm_up(platform, 1)
    running = fill(platform)
    cold = admit(platform, "warm", locality=locality)
    warm = admit(platform, "warm", 1, locality=locality)
    assert members(platform) == {replica: [warm]}
    assert dispatched_by(platform, replica, running) == warm
    assert members(platform) == {}
    assert platform.waiting() == [cold]


def test_a_slot_of_another_replica_goes_to_the_first_job(platform: SimulatedPlatform) -> None:
    replica = warm_up(platform, 1)
    running = fill(platform)
    cold, warm = admit(platform, "warm"), admit(platform, "warm", 1)
    assert dispatched_by(platform, other(running, replica), running) == cold
    assert platform.waiting() == [warm]


def test_without_locality_the_first_job_takes_the_slot(platform: SimulatedPlatform) -> None:
    replica = warm_up(platform, 1)
    running = fill(platform)
    cold = admit(platform, "warm", locality="off")
    admit(platform, "warm", 1, locality="off")
    assert dispatched_by(platform, replica, running) == cold


@pytest.mark.parametrize(
    ("locality", "ahead", "goes_first"),
    [("fair", DEFICIT - 5_000, True), ("fair", DEFICIT + 5_000, False), ("tenant", 0, False)],
)
def test_the_job_of_another_tenant_goes_first_only_within_the_deficit(
    platform: SimulatedPlatform, locality: str, ahead: int, goes_first: bool
) -> None:
    replica = warm_up(platform, 1)
    running = fill(platform)
    cold = admit(platform, "poor", locality=locality)
    warm = admit(platform, "warm", 1, locality=locality)
    score = platform.client.zscore(f"{platform.prefix}fair_share:alpha:normal", "poor")
    platform.client.zadd(f"{platform.prefix}fair_share:alpha:normal", {"warm": float(score) + ahead + 1})  # type: ignore[arg-type]
    assert dispatched_by(platform, replica, running) == (warm if goes_first else cold)


def test_only_jobs_of_the_tenant_that_goes_next_do_so_for_a_model_with_that_policy(
    platform: SimulatedPlatform,
) -> None:
    replica = warm_up(platform, 1)
    running = fill(platform)
    end(platform, running[other(running, replica)].pop())
    admit(platform, "warm")  # it runs: its tenant has its share
    cold = admit(platform, "poor", locality="tenant", cost=1)
    admit(platform, "warm", 1, locality="tenant")
    platform.client.zadd(f"{platform.prefix}fair_share:alpha:normal", {"warm": -10})
    assert dispatched_by(platform, replica, running) == cold


def test_a_tenant_with_many_more_running_jobs_does_not_go_first(platform: SimulatedPlatform) -> None:
    replica = warm_up(platform, 1, "busy")
    running = fill(platform)
    cold, warm = admit(platform, "poor"), admit(platform, "busy", 1)
    assert dispatched_by(platform, replica, running) == cold
    assert platform.waiting() == [warm]
    assert dispatched_by(platform, replica, running) == warm


@pytest.mark.parametrize(("more", "goes_first"), [(4, True), (5, False)])
def test_a_tenant_goes_first_with_fewer_than_four_running_jobs_more_than_its_share(
    platform: SimulatedPlatform, more: int, goes_first: bool
) -> None:
    replica = warm_up(platform, 1, "busy")
    running = fill(platform)
    for _ in range(5 - more):  # another tenant runs this one
        end(platform, running[other(running, replica)].pop())
        admit(platform, "third", cost=1)
    cold, warm = admit(platform, "poor"), admit(platform, "busy", 1)
    assert dispatched_by(platform, replica, running) == (warm if goes_first else cold)


def test_a_job_of_another_priority_does_not_go_first(platform: SimulatedPlatform) -> None:
    replica = warm_up(platform, 1)
    running = fill(platform)
    urgent = admit(platform, "poor", priority="high")
    admit(platform, "warm", 1)
    assert dispatched_by(platform, replica, running) == urgent


def test_a_tenant_that_may_take_no_slot_does_not_go_first(platform: SimulatedPlatform) -> None:
    replica = warm_up(platform, 1)
    running = fill(platform)
    cold, warm = admit(platform, "poor"), admit(platform, "warm", 1)
    platform.client.hset(f"{platform.prefix}served:alpha", "warm:limits", "1 1")
    platform.client.hset(f"{platform.prefix}running", "warm", 1)
    assert dispatched_by(platform, replica, running) == cold
    assert platform.waiting() == [warm]


@pytest.mark.parametrize(("seconds", "goes_first"), [(0.5, True), (2, False)])
def test_a_first_job_that_has_waited_long_takes_the_slot(
    platform: SimulatedPlatform, seconds: float, goes_first: bool
) -> None:
    replica = warm_up(platform, 1)
    running = fill(platform)
    cold, warm = admit(platform, "poor"), admit(platform, "warm", 1)
    platform.advance_time(seconds)
    assert dispatched_by(platform, replica, running) == (warm if goes_first else cold)


def test_a_long_prompt_goes_before_a_short_one_that_came_little_earlier(platform: SimulatedPlatform) -> None:
    def turn(chat: int, tokens: int) -> list[PrefixKey]:
        return [(bytes([chat]) * 8, tokens)]

    replica = end(
        platform, platform.admit("warm", prefix_keys=[*turn(1, 600), *turn(2, 6_000)], cost=1), tokens=1
    )
    running = fill(platform)
    more = {"locality": "fair", "cost": 100}
    short = platform.admit("warm", prefix_keys=turn(1, 600), **more)
    platform.advance_time(0.1)
    long = platform.admit("warm", prefix_keys=turn(2, 6_000), **more)
    assert members(platform) == {replica: [long, short]}
    assert dispatched_by(platform, replica, running) == long


def test_a_cancelled_job_and_a_lost_replica_are_listed_no_more(platform: SimulatedPlatform) -> None:
    replica = warm_up(platform, 1)
    fill(platform)
    one, two = admit(platform, "warm", 1), admit(platform, "warm", 1)
    platform.ledger.cancel(one, "warm")
    assert members(platform) == {replica: [two]}
    platform.crash(replica, f"w{1 + int(replica.rpartition('.')[2])}")
    assert members(platform) == {}
    assert two in platform.waiting()


# ---- the order, and the explanation


def chats_of(tenant: int) -> list[int]:
    return list(range(40 * tenant, 40 * tenant + 6))


def admit_some(platform: SimulatedPlatform, draw: random.Random, count: int, locality: str) -> None:
    """Queue jobs of five tenants, most of them turns of chats that a replica knows, one of each."""
    chats = {tenant: chats_of(tenant) for tenant in range(5)}
    for _ in range(count):
        tenant = draw.randrange(5)
        chat = chats[tenant].pop() if chats[tenant] and draw.random() < 0.8 else None
        platform.admit(
            f"tenant-{tenant}",
            draw.choice(["high", "normal", "normal", "normal"]),
            locality=locality,
            weight=draw.choice([1, 2]) if tenant == 0 else 1,
            cost=draw.choice([1_000, 5_000, 9_000]),
            prefix_keys=[]
            if chat is None or locality == "off"
            else [(bytes([chat]) * 8, draw.choice([500, 2_000, 4_000]))],
        )


def dispatches(platform: SimulatedPlatform, running: Sequence[str]) -> Iterator[str]:
    """End jobs in the order of their dispatches, each with the tokens that it was charged.

    Yields the job that gets each slot.
    """
    jobs = list(running)
    while jobs:
        oldest = min(jobs, key=lambda id: int(platform.field(id, "fence")))
        jobs.remove(oldest)
        before = set(platform.waiting())
        reuse = platform.field(oldest, "reuse").split(" ")
        charged = float(reuse[-1] if len(reuse) >= 3 else platform.field(oldest, "cost"))
        end(platform, oldest, tokens=round(charged), work=round(charged))
        (found,) = before - set(platform.waiting()) or {None}
        if found is not None:
            jobs.append(found)
            yield found


@pytest.mark.parametrize("locality", ["tenant", "fair", "off"])
@pytest.mark.parametrize("waited_s", [0.2, 100])  # all have waited short; the first ones have waited long
@pytest.mark.parametrize("seed", range(4))
def test_the_order_and_the_explained_next_job_are_those_that_are_dispatched(
    platform: StoppedPlatform, seed: int, waited_s: float, locality: str
) -> None:
    draw = random.Random(seed)
    tenants = [f"tenant-{number}" for number in range(5)]
    for number, tenant in enumerate(tenants):
        for chat in chats_of(number):
            warm_up(platform, chat, tenant)
    running = [admit(platform, draw.choice(tenants), cost=1) for _ in range(6)]
    admit_some(platform, draw, 40, locality)
    platform.advance_time(waited_s)
    causes = Counter[str]()
    order = platform.ledger.queue_order("alpha").ids
    assert len(order) == len(platform.waiting()) == 40
    for place, id in enumerate(dispatches(platform, running)):
        assert id == order[place], f"place {place}"
        waiting = platform.waiting()
        if waiting:
            platform.stop_clock()
            explained = platform.ledger.explain_job(waiting[0])
            assert explained is not None
            assert explained.choice is not None
            assert explained.choice.next_job is not None
            following = explained.choice.next_job
            causes[str(cause_of(explained.job, explained.choice))] += 1
            assert following.id == order[place + 1]
            assert reason_in_words(explained.job, explained.choice)
    assert ("locality" in causes) == (locality != "off"), causes


def test_the_explanation_names_the_job_that_goes_before_and_its_replica(platform: SimulatedPlatform) -> None:
    chats = {warm_up(platform, chat): chat for chat in (1, 2)}
    assert len(chats) == 2
    oldest = admit(platform, "busy", cost=1)
    replica = platform.field(oldest, "replica")  # its slot is the next one
    for _ in range(5):
        admit(platform, "busy", cost=1)
    cold, warm = admit(platform, "poor"), admit(platform, "warm", chats[replica])
    found = {id: platform.ledger.explain_job(id) for id in (cold, warm)}
    words = {}
    for id, explained in found.items():
        assert explained is not None
        assert explained.choice is not None
        words[id] = (
            cause_of(explained.job, explained.choice),
            reason_in_words(explained.job, explained.choice),
        )
    assert words[cold][0] is Cause.LOCALITY
    assert f"{warm} goes next. The replica {replica} has about 3000 tokens of its prompt" in words[cold][1]
    assert words[warm][0] is Cause.NEXT
    assert "Fair share alone would choose another job." in words[warm][1]


def test_a_job_that_fair_share_chooses_goes_next_by_fair_share_though_its_prompt_is_cached(
    platform: StoppedPlatform,
) -> None:
    chats = {warm_up(platform, chat): chat for chat in (1, 2)}
    oldest = admit(platform, "busy", cost=1)
    for _ in range(5):
        admit(platform, "busy", cost=1)
    warm = admit(platform, "warm", chats[platform.field(oldest, "replica")])
    later = admit(platform, "warm")
    platform.stop_clock()
    causes = {}
    for id in (warm, later):
        explained = platform.ledger.explain_job(id)
        assert explained is not None
        assert explained.choice is not None
        assert explained.choice.next_job is not None
        assert explained.choice.next_job.cached is None
        causes[id] = cause_of(explained.job, explained.choice)
    assert causes == {warm: Cause.NEXT, later: Cause.EARLIER_JOB}


def test_many_jobs_of_another_priority_do_not_hide_a_cached_prompt(platform: StoppedPlatform) -> None:
    replica = warm_up(platform, 1)
    running = fill(platform)
    for _ in range(40):
        admit(platform, "warm", 1, priority="low")
    cold, warm = admit(platform, "poor"), admit(platform, "warm", 1)
    assert dispatched_by(platform, replica, running) == warm
    assert cold in platform.waiting()


def test_a_job_with_a_short_cached_prefix_does_not_go_first(platform: StoppedPlatform) -> None:
    short: list[PrefixKey] = [(b"a system prompt", 9)]
    replica = end(platform, platform.admit("warm", prefix_keys=short, cost=1), tokens=1)
    running = fill(platform)
    cold = admit(platform, "poor")
    platform.admit("warm", prefix_keys=short)
    assert dispatched_by(platform, replica, running) == cold
    assert members(platform) == {}


# ---- what a replica has dropped


def capacity(platform: SimulatedPlatform, replica: str, size: int, unit: str = "tokens") -> None:
    platform.client.hset(
        f"{platform.prefix}replica:{replica}", mapping={"cache_capacity": size, "cache_unit": unit}
    )


def usage(input_tokens: int, cached: int = 0, output: int = 0) -> dict[str, object]:
    text = f'{{"input_tokens":{input_tokens},"output_tokens":{output},"cached_tokens":{cached}}}'
    return {"usage": text, "tokens": input_tokens + output}


def run_on(platform: SimulatedPlatform, replica: str, chat: int, **more: object) -> bool:
    """Run a turn of a chat; returns whether the given replica ran it."""
    id = admit(platform, "warm", chat, cost=1)
    return end(platform, id, **more) == replica


@pytest.mark.parametrize(
    ("unit", "size", "stored"), [("tokens", 10_000, usage(4_000)), ("sequences", 2, usage(4_000))]
)
def test_a_prefix_counts_until_the_replica_has_stored_as_much_as_its_cache_holds(
    platform: SimulatedPlatform, unit: str, size: int, stored: dict[str, object]
) -> None:
    replica = warm_up(platform, 1)
    capacity(platform, replica, size, unit)
    for _ in range(4):  # they go to the two replicas in turn
        end(platform, admit(platform, "warm"), **stored)
    assert all(run_on(platform, replica, 1, **usage(4_000, 3_900)) for _ in range(3))
    for _ in range(6):
        end(platform, admit(platform, "warm"), **stored)
    assert platform.field(admit(platform, "warm", 1), "reuse").startswith("0 ")


def test_a_sequence_that_goes_on_takes_no_room(platform: SimulatedPlatform) -> None:
    replica = warm_up(platform, 1)
    capacity(platform, replica, 1, "sequences")
    for _ in range(10):
        assert run_on(platform, replica, 1, **usage(4_000, 3_500))
    stored = platform.client.hget(f"{platform.prefix}replica:{replica}", "cache_stored")
    assert int(stored or 0) == 0  # type: ignore[arg-type]


def test_a_waiting_job_whose_prefix_was_dropped_is_like_any_other(platform: SimulatedPlatform) -> None:
    replica = warm_up(platform, 1)
    capacity(platform, replica, 5_000)
    running = fill(platform)
    cold, warm = admit(platform, "warm"), admit(platform, "warm", 1)
    platform.client.hincrby(f"{platform.prefix}replica:{replica}", "cache_stored", 5_001)
    assert dispatched_by(platform, replica, running) == cold
    assert members(platform) == {}
    assert dispatched_by(platform, replica, running) == warm


def test_an_engine_that_computes_a_known_prefix_anew_has_dropped_what_is_older(
    platform: SimulatedPlatform,
) -> None:
    replica = end(platform, platform.admit("warm", prefix_keys=[*keys(2), *keys(1)]))
    assert run_on(platform, replica, 1, **usage(9_000, 0))  # the engine may not have finished the first turn
    assert run_on(platform, replica, 1, **usage(9_000, 100))
    floor = platform.client.hget(f"{platform.prefix}replica:{replica}", "cache_floor")
    assert int(floor or -1) == 0  # type: ignore[arg-type]
    assert run_on(platform, replica, 1, **usage(9_000, 8_000))  # it has it now
    assert platform.client.hget(f"{platform.prefix}replica:{replica}", "cache_floor") == floor
    assert platform.field(admit(platform, "warm", 2), "reuse").startswith("0 ")


@pytest.mark.parametrize(
    ("unit", "more"),
    [
        ("tokens", {"status": Status.CANCELLED, **usage(9_000, 0)}),
        ("tokens", {"status": Status.CANCELLED, **usage(0, 0)}),
        ("tokens", usage(2_000, 0)),  # less than the known prefix: it was truncated
        ("sequences", usage(9_000, 0)),
    ],
)
def test_a_job_that_does_not_show_what_is_cached_drops_nothing(
    platform: StoppedPlatform, unit: str, more: dict[str, object]
) -> None:
    replica = end(platform, platform.admit("warm", prefix_keys=[*keys(2), *keys(1)]))
    capacity(platform, replica, 1_000_000, unit)
    for _ in range(4):  # half of them store something there: the prefix must be stored by now
        end(platform, admit(platform, "warm"), **usage(9_000))
    id = admit(platform, "warm", 1)
    assert platform.field(id, "reuse").startswith(f"{CACHED} 0 ")
    assert end(platform, id, **more) == replica
    assert not platform.client.hexists(f"{platform.prefix}replica:{replica}", "cache_floor")
    assert not platform.field(admit(platform, "warm", 2), "reuse").startswith("0 ")


def test_no_more_is_cached_than_the_prompt_has(platform: StoppedPlatform) -> None:
    replica = warm_up(platform, 1)
    assert run_on(platform, replica, 1, **usage(10, 500))
    stored = platform.client.hget(f"{platform.prefix}replica:{replica}", "cache_stored")
    assert int(stored or 0) == 0  # type: ignore[arg-type]


def test_a_late_end_makes_no_replica(platform: SimulatedPlatform) -> None:
    replica = warm_up(platform, 1)
    id = admit(platform, "warm", 1)
    claim = platform.run(id, platform.field(id, "worker"))
    platform.client.delete(f"{platform.prefix}replica:{replica}")
    platform.release(claim, **usage(10))
    assert not platform.client.exists(f"{platform.prefix}replica:{replica}")


# ---- the charge


def served(platform: SimulatedPlatform, tenant: str = "warm") -> float:
    return float(platform.client.hget(f"{platform.prefix}served:alpha", tenant) or 0)  # type: ignore[arg-type]


def test_a_job_is_charged_without_the_tokens_that_its_replica_has_and_settled_at_its_end(
    platform: SimulatedPlatform,
) -> None:
    warm_up(platform, 1)
    before = served(platform)
    id = admit(platform, "warm", 1)
    assert served(platform) - before == pytest.approx(4_000 - 0.9 * CACHED)
    end(platform, id, tokens=4_100, work=4_100, **{"usage": usage(4_100)["usage"]})
    assert served(platform) - before == pytest.approx(4_100)


def test_a_job_that_is_queued_again_is_given_back_what_it_was_charged(platform: SimulatedPlatform) -> None:
    replica = warm_up(platform, 1)
    before = served(platform)
    id = admit(platform, "warm", 1)
    assert served(platform) > before
    fill(platform)
    platform.crash(replica, f"w{1 + int(replica.rpartition('.')[2])}")
    assert platform.status(id) == str(Status.QUEUED)
    assert served(platform) == pytest.approx(before)
    assert platform.field(id, "reuse") == ""
