"""Chats whose replica is lost, drained or joined by another one: where they go, and what they reuse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest
import redis

from config.settings import Settings
from governance.authorization import PLATFORM
from tests.support.simulated_chats import Chat, SimulatedChats, chats_on, reuse
from tests.support.simulated_platform import SimulatedPlatform
from tests.support.stopped_platform import StoppedPlatform

CHATS, SLOTS, LOAD_TOKENS = 64, 16, 2000


@pytest.fixture
def platform(client: redis.Redis, settings: Settings) -> SimulatedPlatform:
    """Four replicas with 16 slots each, on a worker each."""
    return replicas(client, settings, 4)


def replicas(client: redis.Redis, settings: Settings, count: int, slots: int = SLOTS) -> SimulatedPlatform:
    models = {"alpha": replace(settings.models["alpha"], replica_max=9)}
    platform = StoppedPlatform(client, replace(settings, models=models))
    for number in range(count):
        platform.register(f"w{number}")
    platform.load(replicas=count, slots=slots)
    return platform


def worker_of(replica: str) -> str:
    return f"w{replica.rpartition('.')[2]}"


def crash(platform: SimulatedPlatform, replica: str) -> None:
    platform.crash(replica, worker_of(replica))
    platform.expire()


def shut_down(platform: SimulatedPlatform, replica: str) -> None:
    worker = worker_of(replica)
    platform.fleet.registry.deregister(worker, platform.incarnations[worker], "shut down")
    platform.expire()


def drain(platform: SimulatedPlatform, replica: str) -> None:
    platform.fleet.drains.begin(worker_of(replica), PLATFORM)


def end_drain(platform: SimulatedPlatform, replica: str) -> None:
    platform.fleet.drains.end(worker_of(replica), PLATFORM)


def add_replica(platform: SimulatedPlatform, worker: str, wanted: int, slots: int = SLOTS) -> str:
    """Add a replica as scaling does it; returns its name."""
    platform.register(worker)
    added = f"alpha#added.{worker}"
    platform.fleet.scripts.run(
        "restore_replicas",
        model="alpha",
        operation="load_added",
        lease_us=60_000_000,
        need_mib=1,
        authorization=PLATFORM.argument(),
        grows_from=wanted,
        reason="requests wait",
        places=(added, worker),
    )
    platform.starting(added, worker)
    assert platform.up(added, worker, slots)
    return added


def make_chats(count: int = CHATS, tenants: int = 8, systems: int = 8) -> list[Chat]:
    return [Chat(number, f"tenant-{number % tenants}", str(number % systems)) for number in range(count)]


@pytest.mark.parametrize("tenants", [1, 8, CHATS], ids=lambda count: f"{count}-system-prompts")
@pytest.mark.parametrize("amid", [False, True], ids=["between-turns", "amid-turns"])
@pytest.mark.parametrize("remove", [crash, shut_down, drain], ids=["crash", "loss", "drain"])
def test_chats_of_a_replica_that_is_gone_spread_over_the_others_and_reuse_as_before_after_two_turns(
    platform: SimulatedPlatform,
    remove: Callable[[SimulatedPlatform, str], None],
    amid: bool,
    tenants: int,
) -> None:
    chats = make_chats(tenants=tenants)
    simulated = SimulatedChats(platform)
    for _ in range(3):
        simulated.turn(chats)
    former = reuse(simulated.turn(chats))
    assert former > 0.8
    gone = chats[0].replica
    moved = [chat for chat in chats if chat.replica == gone]
    assert len(moved) >= CHATS // 8
    if amid:
        for chat in chats[:20]:
            simulated.begin_turn(chat)
    remove(platform, gone)
    if amid:
        simulated.end_all()
    placements = simulated.turn(chats)
    for placement in placements:  # no replica gets more than the price of its load allows
        assert LOAD_TOKENS * placement.share <= placement.reused_tokens, placement
    spread = chats_on(moved)
    assert gone not in spread
    if tenants == CHATS:  # each has a system prompt of its own: nothing but the load counts
        assert max(spread.values()) <= len(moved) / 3 + 3
    first = [chat.replica for chat in moved]
    simulated.turn(chats)
    assert [chat.replica for chat in moved] == first, "the next turn follows"
    assert reuse(simulated.turn(chats)) >= 0.95 * former


def test_the_next_turn_follows_a_request_that_ran_again_on_another_replica(
    platform: SimulatedPlatform,
) -> None:
    chats = make_chats(8, tenants=8)
    simulated = SimulatedChats(platform)
    simulated.turn(chats)
    gone = chats[0].replica
    moved = [chat for chat in chats if chat.replica == gone]
    for chat in moved:
        simulated.begin_turn(chat)
    crash(platform, gone)
    simulated.end_all()
    again = [chat.replica for chat in moved]
    assert gone not in again
    for _ in range(2):
        simulated.turn(moved)
        assert [chat.replica for chat in moved] == again


def test_a_chat_stays_where_it_went_when_the_drain_of_its_replica_ends(platform: SimulatedPlatform) -> None:
    chats = make_chats(16, tenants=16)
    simulated = SimulatedChats(platform)
    simulated.turn(chats)
    drained = chats[0].replica
    moved = [chat for chat in chats if chat.replica == drained]
    quiet, talking = moved[:2], moved[2:]
    drain(platform, drained)
    simulated.turn(talking)
    went = [chat.replica for chat in talking]
    end_drain(platform, drained)
    simulated.turn(chats)
    assert [chat.replica for chat in talking] == went
    assert {chat.replica for chat in quiet} == {drained}, "it has their prefixes still"


@pytest.mark.parametrize("back", ["drain ends", "replaced"])
def test_prompts_of_the_only_replica_left_are_known_when_another_one_is_back(
    client: redis.Redis, settings: Settings, back: str
) -> None:
    platform = replicas(client, settings, 2)
    chats = make_chats(8, tenants=8)
    simulated = SimulatedChats(platform, at_once=4)  # so that no load outweighs a turn
    simulated.turn(chats)
    gone = chats[0].replica
    remove, comes_back = (drain, end_drain) if back == "drain ends" else (shut_down, replace_replica)
    remove(platform, gone)
    for _ in range(2):
        simulated.turn(chats)
    (left,) = chats_on(chats)
    comes_back(platform, gone)
    assert platform.client.zcard(f"{platform.prefix}ready:alpha") == 2
    placements = simulated.turn(chats)
    assert chats_on(chats) == {left: 8}
    assert reuse(placements) > 0.8


def replace_replica(platform: SimulatedPlatform, _: str) -> None:
    platform.register("w9")
    for outcome in platform.recovery.replace_lost():
        platform.finish_load(outcome, SLOTS)


@pytest.mark.parametrize("count", [1, 3])
def test_an_added_replica_gets_cold_work_first_and_warm_chats_stay(
    client: redis.Redis, settings: Settings, count: int
) -> None:
    platform = replicas(client, settings, count)
    simulated = SimulatedChats(platform, at_once=8 * count, may_grow=True)
    chats = make_chats(16 * count, tenants=16 * count)
    for _ in range(3):
        simulated.turn(chats)
    homes = [chat.replica for chat in chats]
    added = add_replica(platform, "w8", count)
    # the known chats and new ones come by turns
    new = [Chat(1000 + number, f"new-{number}") for number in range(16 * count)]
    for at, pair in enumerate(zip(chats, new, strict=True)):
        for chat in pair:
            simulated.begin_turn(chat)
        if at >= 4 * count:
            simulated.end_oldest()
            simulated.end_oldest()
    simulated.end_all()
    assert [chat.replica for chat in chats] == homes, "their saving outweighs this load"
    by_replica = chats_on(new)
    assert by_replica[added] >= len(new) / (count + 1)
    assert by_replica[added] == max(by_replica.values())


def test_warm_chats_move_to_an_added_replica_one_by_one_when_load_outweighs_their_saving(
    client: redis.Redis, settings: Settings
) -> None:
    platform = replicas(client, settings, 3)
    simulated = SimulatedChats(platform, system_tokens=100, turn_tokens=400, at_once=48)
    chats = make_chats(48, tenants=48)
    simulated.turn(chats)
    assert set(chats_on(chats).values()) == {SLOTS}
    added = add_replica(platform, "w8", 3)
    running: Counter[str] = Counter()
    for chat in chats:  # a burst: each runs until all are there
        home = chat.replica
        replica = platform.field(simulated.begin_turn(chat), "replica")
        # 500 tokens are worth a quarter of the slots
        assert replica == (home if running[home] - running[added] < SLOTS / 4 else added)
        running[replica] += 1
    assert running[added] <= len(chats) / 4
    assert max(running.values()) - running[added] <= SLOTS / 4 + 1
    simulated.end_all()


@pytest.mark.parametrize("holders", [2, 4])
def test_chats_with_a_known_system_prompt_take_turns_among_the_replicas_that_have_it(
    client: redis.Redis, settings: Settings, holders: int
) -> None:
    platform = replicas(client, settings, 8)
    simulated = SimulatedChats(platform, system_tokens=800)
    known: set[str] = set()
    while len(known) < holders:  # at once, so that load moves them
        simulated.begin_turn(Chat(len(simulated.running), "acme", "brief"))
        known = {platform.field(id, "replica") for _, id in simulated.running}
    simulated.end_all()
    chats = [Chat(100 + number, "acme", "brief") for number in range(40)]
    for chat in chats:  # one after the other: no load
        simulated.turn([chat])
    counts = chats_on(chats)
    assert set(counts) == known
    assert max(counts.values()) <= 1.5 * len(chats) / holders
