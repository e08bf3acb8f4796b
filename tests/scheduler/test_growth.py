"""No call costs more commands on a large platform than on a small one.

`make bench-growth` measures times, at larger sizes; here commands are counted, which is exact.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import replace

import pytest
import redis

from config.settings import ModelDefinition, QueueSettings, Settings
from fleet.memory import DeviceMemory
from scheduler.job import AppendRequest, Claim, Release, Status
from streams.events import TextDelta
from tests.support.simulated_platform import SimulatedPlatform

SMALL, LARGE = 3, 200
SLOTS = 8
KEYS = [[(bytes([chat, turn]) * 4, 300 * turn) for turn in range(1, 13)] for chat in range(8)]
"""The keys of eight prompts."""

TIE = 3
"""The commands that a choice between replicas with equal shares takes in addition."""


def platform_of(
    client: redis.Redis, settings: Settings, *, workers: int, replicas: int, waiting: int, tenants: int = 1
) -> SimulatedPlatform:
    """A platform of this size: the slots are all taken if jobs wait, else half of them."""
    name = f"{settings.redis.prefix}-{workers}-{replicas}-{waiting}-{tenants}"
    models = {"alpha": ModelDefinition("alpha", "stub", replica_max=LARGE)}
    queue = QueueSettings(max_depth=10_000, max_depth_per_tenant=10_000)
    changed = replace(settings, redis=replace(settings.redis, prefix=name), models=models, queue=queue)
    platform = SimulatedPlatform(client, changed)
    for number in range(workers):
        platform.register(f"w{number}")
        memory = DeviceMemory(f"host:{number}", 10**6, 10**6)
        platform.fleet.report_memory(f"w{number}", platform.incarnations[f"w{number}"], memory)
    platform.load(replicas=replicas, slots=SLOTS)
    slots = SLOTS * replicas
    for number in range(slots + waiting if waiting else slots // 2):
        platform.admit(tenant=f"tenant{number % tenants}", prefix_keys=KEYS[number % len(KEYS)])
    return platform


@pytest.fixture(params=["workers", "replicas", "waiting", "tenants"])
def sizes(
    request: pytest.FixtureRequest, client: redis.Redis, settings: Settings
) -> tuple[SimulatedPlatform, SimulatedPlatform]:
    """Two platforms that differ in one property only."""
    base = {"workers": 3, "replicas": 3, "waiting": SMALL if request.param in {"waiting", "tenants"} else 0}
    if request.param == "tenants":
        base["waiting"] = LARGE
    small = {**base, request.param: SMALL}
    large = {**base, request.param: LARGE}
    return platform_of(client, settings, **small), platform_of(client, settings, **large)


def commands(platform: SimulatedPlatform, call: Callable[[], object]) -> int:
    """Return the commands that a call takes, with those in its scripts."""
    platform.client.config_resetstat()
    call()
    stats = platform.client.info("commandstats")
    return sum(row["calls"] for name, row in stats.items() if name.split("_")[1] not in {"info", "config"})


def claims(platform: SimulatedPlatform) -> list[tuple[str, Claim]]:
    return [
        (worker, claim)
        for worker, incarnation in platform.incarnations.items()
        for claim in platform.ledger.take_claims(worker, incarnation, ())
    ]


def counts(platform: SimulatedPlatform) -> dict[str, list[int]]:
    """The commands of each call; several times, since the replicas take turns."""
    running = iter(claims(platform)[:10])

    def step() -> None:
        worker, claim = next(running)
        events = (TextDelta("text").encode(),)
        platform.ledger.step(
            platform.incarnations[worker],
            [AppendRequest(claim.id, claim.replica, claim.fence, 1, events)],
            [Release(claim.id, claim.fence, Status.COMPLETED, tokens=5)],
        )

    def heartbeat() -> None:
        platform.ledger.heartbeat("w0", platform.incarnations["w0"])

    calls: dict[str, Callable[[], object]] = {
        "admit": platform.admit,
        "admit, a known prompt": lambda: platform.admit(tenant="tenant0", prefix_keys=KEYS[0]),
        "admit, an unknown prompt": lambda: platform.admit(prefix_keys=[(secrets.token_bytes(8), 300)] * 12),
        "step": step,
        "expire": platform.fleet.registry.expire,
        "expire, not its turn": lambda: platform.fleet.registry.expire(10**9),
        "is_due": lambda: platform.recovery.is_due(0.0),
        "is_due, not its turn": lambda: platform.recovery.is_due(3600.0),
        "missing": platform.recovery.missing,
        "replace_lost": platform.recovery.replace_lost,
        "resume_pending": platform.recovery.resume_pending,
        "heartbeat": heartbeat,
    }
    for call in calls.values():
        call()  # loads the script
    counted = {}
    for name, call in calls.items():
        if name == "expire":
            call()  # it counts the jobs that `step` ended, by their tenants
        counted[name] = [commands(platform, call) for _ in range(3)]
    return counted


def test_no_call_takes_more_commands_on_a_larger_platform(
    sizes: tuple[SimulatedPlatform, SimulatedPlatform], request: pytest.FixtureRequest
) -> None:
    small, large = (counts(platform) for platform in sizes)
    if "replicas" in request.node.name:
        del small["heartbeat"], large["heartbeat"]  # it renews the leases of the worker's own jobs
    for name, each in large.items():
        assert max(each) <= max(small[name]) + TIE, f"{name}: {small[name]} commands, and then {each}"


@pytest.mark.parametrize("workers", [50, 200])
def test_a_look_at_the_workers_takes_two_commands_for_each(
    client: redis.Redis, settings: Settings, workers: int
) -> None:
    platform = platform_of(client, settings, workers=workers, replicas=1, waiting=0)
    platform.fleet.workers()
    assert commands(platform, platform.fleet.workers) <= 2 * workers + 10


@pytest.mark.parametrize("replicas", [50, 200])
def test_a_load_takes_a_bounded_number_of_commands_for_each_replica(
    client: redis.Redis, settings: Settings, replicas: int
) -> None:
    platform = platform_of(client, settings, workers=20, replicas=1, waiting=0)
    platform.finish_unload(platform.fleet.unload("alpha"))
    taken = commands(platform, lambda: platform.load(replicas=replicas))
    assert taken <= 40 * replicas + 2 * 20 + 100
