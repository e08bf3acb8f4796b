"""Faults and queries that several tests of the scheduler share."""

from __future__ import annotations

import redis

from config.settings import Settings
from tests.support.simulated_platform import SimulatedPlatform


def lose_lease(platform: SimulatedPlatform, id: str) -> None:
    """Make the lease of a job expire."""
    platform.client.zadd(f"{platform.prefix}leases", {id: 1})


def two_workers(
    client: redis.Redis, settings: Settings, replicas: int = 2, slots: int = 1
) -> tuple[SimulatedPlatform, list[str]]:
    platform = SimulatedPlatform(client, settings)
    platform.register("w1")
    platform.register("w2")
    return platform, platform.load(replicas=replicas, slots=slots)


def recoverable(platform: SimulatedPlatform) -> list[str]:
    return platform.recovery.missing()


def replicas_of(platform: SimulatedPlatform, model: str = "alpha") -> list[str]:
    return sorted(name.decode() for name in platform.client.smembers(f"{platform.prefix}replicas:{model}"))
