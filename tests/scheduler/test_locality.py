"""The replica that has computed the most of a job's prompt, and the table that knows it."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import replace

import pytest
import redis

from config.settings import Settings
from generation.prefix_keys import PrefixKey
from scheduler.prefix_table import BUCKETS, PLACES, prefix_fields
from tests.support.simulated_chats import Chat, SimulatedChats, reuse
from tests.support.simulated_platform import SimulatedPlatform
from tests.support.stopped_platform import StoppedPlatform


@pytest.fixture
def platform(client: redis.Redis, settings: Settings) -> SimulatedPlatform:
    """Four replicas with four slots each."""
    platform = StoppedPlatform(client, settings)
    for number in range(4):
        platform.register(f"w{number + 1}")
    platform.load(replicas=4, slots=4)
    return platform


def turns(conversation: int, count: int, tokens: int = 500) -> list[PrefixKey]:
    """The keys of so many turns, the last of which is the whole prompt."""
    texts = [f"{conversation} {turn}" for turn in range(1, count + 1)]
    hashes = [hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts]
    return [(digest, turn * tokens) for turn, digest in enumerate(hashes, 1)]


def run(platform: SimulatedPlatform, keys: list[PrefixKey], tenant: str = "acme") -> str:
    """Admit a job and end it; returns its replica."""
    id = platform.admit(tenant=tenant, prefix_keys=keys)
    replica = platform.field(id, "replica")
    platform.release(platform.run(id, platform.field(id, "worker")))
    return replica


def test_each_turn_of_a_conversation_goes_to_the_replica_of_the_turn_before(
    platform: SimulatedPlatform,
) -> None:
    for turn in range(1, 6):
        # a number that is no multiple of the replicas: by turns they would come to others
        replicas = [run(platform, turns(conversation, turn)) for conversation in range(7)]
        if turn == 1:
            first = replicas
            assert set(Counter(first).values()) == {1, 2}
        assert replicas == first


def test_the_longest_known_prefix_counts(platform: SimulatedPlatform) -> None:
    shared = run(platform, turns(1, 1))
    other = next(iter({run(platform, []) for _ in range(4)} - {shared}))
    blockers = {}
    while other not in blockers:  # take slots in turn until the other replica is the next one
        id = platform.admit()
        blockers[platform.field(id, "replica")] = id
    for id in blockers.values():
        platform.release(platform.run(id, platform.field(id, "worker")))
    keys = [*turns(1, 1), (b"a branch", 4_000)]
    assert run(platform, keys) == shared
    assert run(platform, [*keys, (b"its next", 6_000)]) == shared


def test_load_outweighs_a_short_prefix_and_not_a_long_one(platform: SimulatedPlatform) -> None:
    for conversation, tokens in ((1, 400), (2, 50_000)):
        warm = run(platform, turns(conversation, 1, tokens))
        taken = []
        while sum(replica == warm for _, replica in taken) < 2:  # half of its slots
            id = platform.admit(prefix_keys=turns(conversation, 1, 50_000))
            taken.append((id, platform.field(id, "replica")))
        again = platform.admit(prefix_keys=turns(conversation, 1, tokens))
        assert (platform.field(again, "replica") == warm) is (tokens == 50_000)
        for id in [again, *(id for id, _ in taken)]:
            platform.release(platform.run(id, platform.field(id, "worker")))


def test_a_replica_without_a_free_slot_is_no_choice(platform: SimulatedPlatform) -> None:
    keys = turns(1, 1, 50_000)
    warm = run(platform, keys)
    replicas = Counter(platform.field(platform.admit(prefix_keys=keys), "replica") for _ in range(16))
    assert set(replicas.values()) == {4}
    assert replicas[warm] == 4
    assert platform.waiting() == []


def test_a_waiting_job_is_noted_for_the_replica_that_runs_it(platform: SimulatedPlatform) -> None:
    running = [platform.admit() for _ in range(16)]
    waiting = platform.admit(prefix_keys=turns(1, 1))
    assert platform.waiting() == [waiting]
    platform.release(platform.run(running[5], platform.field(running[5], "worker")))
    replica = platform.field(waiting, "replica")
    assert replica == platform.field(running[5], "replica")
    for id in [*running[:5], *running[6:], waiting]:
        platform.release(platform.run(id, platform.field(id, "worker")))
    assert {run(platform, turns(1, turn)) for turn in (2, 3, 4)} == {replica}


def test_prefixes_of_a_lost_replica_count_no_more(platform: SimulatedPlatform) -> None:
    keys = turns(1, 1, 50_000)
    warm = run(platform, keys)
    platform.crash(warm, f"w{1 + int(warm.rpartition('.')[2])}")
    others = {run(platform, keys) for _ in range(3)}
    assert len(others) == 1
    assert warm not in others


def test_prompts_of_two_tenants_are_placed_apart(platform: SimulatedPlatform) -> None:
    # the API keys the hashes by the tenant; even equal ones are in other buckets
    assert prefix_fields("one", turns(1, 1)) != prefix_fields("two", turns(1, 1))
    run(platform, turns(1, 1), "one")
    used = Counter(run(platform, turns(1, 1), f"tenant-{number}") for number in range(8))
    assert len(used) == 4


def test_a_flood_of_one_tenant_displaces_nothing_of_another_bucket_and_the_table_stays_bounded(
    platform: SimulatedPlatform,
) -> None:
    keys = turns(1, 3)
    warm = run(platform, keys, "quiet")
    for number in range(300):
        run(platform, turns(1000 + number, 12), "flood")
    assert prefix_fields("quiet", keys).split(".")[0] != prefix_fields("flood", keys).split(".")[0]
    assert {run(platform, keys, "quiet") for _ in range(3)} == {warm}
    table = platform.client.hgetall(f"{platform.prefix}prefixes:alpha")
    assert len(table) <= 2 * PLACES < BUCKETS * PLACES
    assert max(len(value.split()) for value in table.values()) <= 1 + 4 * 2  # type: ignore[union-attr]


def test_another_prefix_in_the_same_place_of_the_table_does_not_count(platform: SimulatedPlatform) -> None:
    here = run(platform, [(b"\0\0one...", 50_000)])
    assert run(platform, [(b"\0\0two...", 50_000)]) != here
    assert run(platform, [(b"\0\0one...", 50_000)]) != here  # it was displaced


def test_of_displaced_prefixes_only_the_first_is_written_again_where_a_longer_one_is_known(
    platform: SimulatedPlatform,
) -> None:
    def key(place: int, turn: int, tokens: int) -> PrefixKey:
        return place.to_bytes(2, "big") + bytes([turn]) * 6, tokens

    def tags() -> dict[int, str]:
        table = platform.client.hgetall(f"{platform.prefix}prefixes:alpha")
        fields = {name.split(b".")[1]: value.decode()[:2] for name, value in table.items()}  # type: ignore[union-attr]
        return {int(place): tag for place, tag in fields.items()}

    chat = [key(1, 1, 300), key(2, 2, 600), key(3, 3, 900)]
    run(platform, chat)
    run(platform, [key(1, 8, 300), key(2, 9, 600)])
    assert tags() == {1: "08", 2: "09", 3: "03"}
    run(platform, [*chat, key(4, 4, 1200)])
    assert tags() == {1: "01", 2: "09", 3: "03", 4: "04"}
    run(platform, [key(5, 1, 300), key(6, 2, 600), key(5, 3, 900)])
    assert tags()[5] == "01", "the first one, which other prompts share"


def test_a_tenant_keeps_the_turns_of_some_hundred_chats(platform: SimulatedPlatform) -> None:
    chats = [Chat(number) for number in range(200)]
    simulated = SimulatedChats(platform, at_once=4)
    for _ in range(3):
        simulated.turn(chats)
    assert reuse(simulated.turn(chats)) > 0.75  # of 0.85, if all were known


def test_requests_that_are_known_take_no_turn_of_others(platform: SimulatedPlatform) -> None:
    known = [turns(conversation, 1, 50_000) for conversation in range(16)]
    for keys in known:
        run(platform, keys)
    cold = []
    for number, keys in enumerate(known):  # by turns with one that is known, or with three
        for _ in range(1 if number < 8 else 3):
            run(platform, keys)
        cold.append(run(platform, turns(100 + number, 1)))
    assert set(Counter(cold[:8]).values()) == set(Counter(cold[8:]).values()) == {2}


def test_a_prefix_has_at_most_four_holders(client: redis.Redis, settings: Settings) -> None:
    models = {"alpha": replace(settings.models["alpha"], replica_max=6)}
    platform = StoppedPlatform(client, replace(settings, models=models))
    for number in range(6):
        platform.register(f"w{number + 1}")
    platform.load(replicas=6, slots=1)
    for _ in range(6):
        platform.admit(prefix_keys=turns(1, 1))
    (value,) = platform.client.hvals(f"{platform.prefix}prefixes:alpha")  # type: ignore[misc]
    assert len(value.split()) == 1 + 4 * 2


def test_an_unload_removes_the_table(platform: SimulatedPlatform) -> None:
    run(platform, turns(1, 3))
    assert platform.client.exists(f"{platform.prefix}prefixes:alpha")
    platform.fleet.unload("alpha")
    assert not platform.client.exists(f"{platform.prefix}prefixes:alpha")


def test_the_table_is_gone_when_all_workers_have_left(platform: SimulatedPlatform) -> None:
    run(platform, turns(1, 3))
    for worker, incarnation in platform.incarnations.items():
        platform.fleet.registry.deregister(worker, incarnation, "shut down")
        platform.expire()
    assert platform.model() in ("unloaded", "failed")
    assert not platform.client.exists(f"{platform.prefix}prefixes:alpha")


def test_a_model_with_one_replica_has_no_table(client: redis.Redis, settings: Settings) -> None:
    platform = StoppedPlatform(client, settings)
    platform.register()
    platform.load(slots=2)
    run(platform, turns(1, 3))
    assert client.exists(f"{platform.prefix}prefixes:alpha") == 0
