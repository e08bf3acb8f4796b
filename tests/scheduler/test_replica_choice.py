"""The choice of the replica for the next job: the smallest share of taken slots, round robin among equals."""

from __future__ import annotations

from collections import Counter

import pytest
import redis

from config.settings import Settings
from fleet.load_request import LoadRequest
from tests.support.simulated_platform import SimulatedPlatform


def platform_of(
    client: redis.Redis, settings: Settings, replicas: int, slots: int
) -> tuple[SimulatedPlatform, list[str]]:
    platform = SimulatedPlatform(client, settings)
    for number in range(replicas):
        platform.register(f"w{number + 1}")
    return platform, platform.load(replicas=replicas, slots=slots)


@pytest.mark.parametrize("replicas", [2, 3, 4])
def test_idle_replicas_are_used_round_robin(client: redis.Redis, settings: Settings, replicas: int) -> None:
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


def test_a_replica_with_more_free_slots_is_filled_first(client: redis.Redis, settings: Settings) -> None:
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
    assert platform.client.hlen(f"{platform.prefix}slots:{names[0]}") == 128
    assert platform.waiting() == ids[128:]


def test_load_is_measured_by_the_share_of_taken_slots(client: redis.Redis, settings: Settings) -> None:
    platform = SimulatedPlatform(client, settings)
    platform.register("w1")
    platform.register("w2")
    outcome = platform.fleet.load("alpha", LoadRequest(2))
    for item, slots in zip(outcome.assignments, (1, 4), strict=True):
        platform.starting(item.replica, item.worker)
        platform.up(item.replica, item.worker, slots)
    ids = [platform.admit() for _ in range(5)]
    shares = Counter(platform.field(id, "replica") for id in ids)
    assert shares == {outcome.assignments[0].replica: 1, outcome.assignments[1].replica: 4}


def test_no_replica_takes_more_than_its_slots(client: redis.Redis, settings: Settings) -> None:
    platform, names = platform_of(client, settings, 2, slots=3)
    for _ in range(20):
        platform.admit()
    for name in names:
        assert platform.client.hlen(f"{platform.prefix}slots:{name}") == 3
    assert len(platform.waiting()) == 14


# ---- jobs about the state in one replica


def test_a_wanted_replica_is_taken_with_one_job_beside_those_of_all_slots(
    client: redis.Redis, settings: Settings
) -> None:
    platform, names = platform_of(client, settings, 2, slots=2)
    taken = [platform.field(platform.admit(wanted_replica=names[1]), "replica") for _ in range(4)]
    assert taken == [names[1], names[1], names[1], names[0]]


def test_a_waiting_job_gets_its_wanted_replica_when_another_one_has_a_free_slot(
    client: redis.Redis, settings: Settings
) -> None:
    platform, names = platform_of(client, settings, 2, slots=1)
    running = {platform.field(id, "replica"): id for id in (platform.admit(), platform.admit())}

    def end(id: str) -> None:
        platform.release(platform.run(id, platform.field(id, "worker")))

    waiting = [platform.admit(wanted_replica=names[0]) for _ in range(2)]
    end(running[names[1]])
    assert [platform.field(id, "replica") for id in waiting] == names
    assert platform.client.hlen(f"{platform.prefix}slots:{names[0]}") == 2
    follower = platform.admit()
    end(waiting[0])
    assert platform.status(follower) == "queued"  # the replica's slot is taken as before
    end(running[names[0]])
    assert platform.field(follower, "replica") == names[0]
    assert platform.slots_taken() == 2


def test_another_replica_runs_the_job_when_the_wanted_one_is_gone(
    client: redis.Redis, settings: Settings
) -> None:
    platform, names = platform_of(client, settings, 2, slots=1)
    first = platform.admit(wanted_replica=names[0])
    platform.crash(names[0], platform.field(first, "worker"))
    platform.release(platform.run(first, platform.field(first, "worker")))
    assert platform.field(platform.admit(wanted_replica=names[0]), "replica") == names[1]
