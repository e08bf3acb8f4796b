"""What tenants can learn of one another by the choice of replicas, and what they can displace."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest
import redis

from config.settings import RedisSettings, Settings
from generation.generation import Generation, Message, text_content
from generation.prefix_keys import PrefixKey, prefix_keys
from governance.cache_namespaces import CacheNamespaces
from scheduler.prefix_table import BUCKETS, PLACES, prefix_fields
from tests.support.simulated_platform import SimulatedPlatform

KEYS = [(bytes([7, turn]) * 4, 500 * turn) for turn in range(1, 13)]
"""Keys that two tenants have by chance, or by a fault: those of the API differ by tenant."""

Worlds = Callable[[str], SimulatedPlatform]


@pytest.fixture
def world(client: redis.Redis, settings: Settings) -> Worlds:
    """Makes equal platforms: four replicas with four slots each."""

    def make(name: str) -> SimulatedPlatform:
        own = replace(settings, redis=RedisSettings(settings.redis.url, f"{settings.redis.prefix}-{name}"))
        platform = SimulatedPlatform(client, own)
        for number in range(4):
            platform.register(f"w{number}")
        platform.load(replicas=4, slots=4)
        return platform

    return make


def run(platform: SimulatedPlatform, tenant: str, keys: list[PrefixKey] | None) -> str:
    """Run a job, and return the number of its replica."""
    id = platform.admit(tenant=tenant, prefix_keys=keys)
    number = platform.field(id, "replica").rpartition(".")[2]
    platform.release(platform.run(id, platform.field(id, "worker")))
    return number


def table(platform: SimulatedPlatform) -> dict[str, str]:
    """The table of prefixes, with the numbers of the replicas for their names."""
    found = platform.client.hgetall(f"{platform.prefix}prefixes:alpha")
    return {name.decode(): value.decode() for name, value in found.items()}  # type: ignore[union-attr]


def bucket_of(tenant: str) -> str:
    return prefix_fields(tenant, KEYS[:1]).split(".")[0]


def neighbour_of(tenant: str) -> str:
    """A tenant in the same bucket."""
    names = (f"neighbour-{number}" for number in itertools.count())
    return next(name for name in names if bucket_of(name) == bucket_of(tenant))


def flood(platform: SimulatedPlatform, tenant: str, prompts: int = 500) -> None:
    for number in range(prompts):
        hashes = [number.to_bytes(2, "big") + bytes([turn]) * 6 for turn in range(6)]
        hashes = [
            (int.from_bytes(one[:2], "big") * 6 + one[2]).to_bytes(2, "big") + one[2:] for one in hashes
        ]
        run(platform, tenant, [(one, 100) for one in hashes])


def test_the_same_prompt_has_no_key_in_common_for_two_tenants_two_tags_or_two_adapters() -> None:
    namespaces = CacheNamespaces()
    namespaces.adopt(b"a secret", {}, read_at=math.inf)
    generation = Generation("m", (Message("user", text_content("Hello " * 20_000)),))
    owners = [
        (tenant, tag, name, lora)
        for tenant in ("one", "two")
        for tag in (None, "tag")
        for name in (None, "unknown")
        for lora in (None, "adapter")
    ]
    keys = [
        {digest for digest, _ in prefix_keys(generation, namespaces.of(tenant, "m", tag, name, lora))}
        for tenant, tag, name, lora in owners
    ]
    assert {len(each) for each in keys} == {6}
    assert len(set.union(*keys)) == 6 * len(owners)


def test_a_flood_displaces_entries_of_its_own_bucket_alone(world: Worlds) -> None:
    """Of 64 buckets a tenant has one. Two tenants share theirs with a probability of 1/64: of 8 tenants one
    in ten shares its bucket with another one, of 64 tenants two in three. There a flood displaces what is
    known of the other's prompts, and no more: its requests are placed like new ones.
    """
    platform = world("flood")
    quiet = [f"quiet-{number}" for number in range(20)]
    quiet = [tenant for tenant in quiet if bucket_of(tenant) != bucket_of("loud")]
    homes = {tenant: run(platform, tenant, KEYS) for tenant in quiet}
    before = table(platform)
    flood(platform, "loud")
    after = table(platform)
    assert {field: value for field, value in after.items() if field in before} == before
    assert {field.split(".")[0] for field in after.keys() - before} == {bucket_of("loud")}
    assert 0.9 * PLACES < len(after) - len(before) <= PLACES
    assert {tenant: run(platform, tenant, KEYS) for tenant in quiet} == homes


def test_tenants_are_spread_evenly_over_the_buckets() -> None:
    names = [f"{word}-{number}" for word in ("tenant", "team", "org") for number in range(1000)]
    counts = Counter(bucket_of(name) for name in names)
    assert len(counts) == BUCKETS
    pairs = sum(count * (count - 1) for count in counts.values()) / (len(names) * (len(names) - 1))
    assert pairs < 1.1 / BUCKETS


@pytest.mark.parametrize("other", ["in another bucket", "in the same bucket"])
def test_placements_do_not_depend_on_what_another_tenant_has_cached(world: Worlds, other: str) -> None:
    """The load is the same in all worlds: the other tenant's requests, of which some run still."""
    quiet = "quiet"
    loud = neighbour_of(quiet) if other == "in the same bucket" else "loud"
    assert (bucket_of(loud) == bucket_of(quiet)) is (other == "in the same bucket")
    other_keys = [(bytes([9, turn]) * 4, 500 * turn) for turn in range(1, 13)]
    cached: dict[str, list[PrefixKey] | None] = {"nothing": None, "own": other_keys}
    if other == "in another bucket":
        cached["the same hashes"] = KEYS
    placements = {}
    for name, keys in cached.items():
        platform = world(name.replace(" ", "-"))
        for turn in range(1, 12):
            run(platform, loud, keys and keys[:turn])
        for number in ("0", "0", "1"):  # where they run is load, which is the same
            replicas = platform.client.smembers(f"{platform.prefix}replicas:alpha")
            wanted = next(one.decode() for one in replicas if one.decode().endswith(f".{number}"))  # type: ignore[union-attr]
            assert platform.admit(tenant=loud, wanted_replica=wanted)
        placements[name] = [
            run(platform, quiet, KEYS[: 1 + turn % 6] if turn % 2 else []) for turn in range(24)
        ]
        placements[name] += [run(platform, quiet, [(bytes([100 + turn]) * 8, 900)]) for turn in range(12)]
    assert set(placements["nothing"]) == {"2", "3"}, "the others have more load"
    assert all(found == placements["nothing"] for found in placements.values())


@pytest.mark.parametrize("known", [False, True], ids=["unknown-prompt", "known-prompt"])
def test_the_commands_of_an_admission_do_not_depend_on_entries_of_other_tenants(
    world: Worlds, known: bool
) -> None:
    def commands(platform: SimulatedPlatform) -> Counter[str]:
        platform.client.config_resetstat()
        platform.admit(tenant="quiet", prefix_keys=KEYS)
        stats = platform.client.info("commandstats")
        counts = {name.removeprefix("cmdstat_"): row["calls"] for name, row in stats.items()}  # type: ignore[union-attr]
        return Counter(
            {name: count for name, count in counts.items() if name.split("|")[0] not in {"info", "config"}}
        )

    found = {}
    for name in ("nobody", "another bucket", "the same bucket"):
        platform = world(name.replace(" ", "-"))
        if name != "nobody":
            flood(platform, "loud" if name == "another bucket" else neighbour_of("quiet"))
        else:
            run(platform, "loud", None)
        run(platform, "quiet", [] if not known else KEYS)
        found[name] = commands(platform)
        values = table(platform).values()
        assert max(len(value.split()) for value in values) <= 5, "what is read has a bounded size"
    assert found["another bucket"] == found["the same bucket"] == found["nobody"]
    assert found["nobody"]["zmscore"] == int(known)


def test_a_job_without_keys_reads_nothing_of_the_table_and_writes_nothing(world: Worlds) -> None:
    platform = world("without")
    assert len({run(platform, "quiet", None) for _ in range(4)}) == 4
    assert table(platform) == {}
    run(platform, "quiet", KEYS)
    before = table(platform)
    assert len({run(platform, "quiet", []) for _ in range(4)}) == 4
    assert table(platform) == before
