"""Redis is down, full, or restarted: no call is done in part, and acknowledged data is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import redis

from config.settings import RedisSettings, Settings
from scheduler.job import Status
from store.errors import StorageFull, StorageUnavailable
from store.redis_connections import command_client
from tests.conftest import ValkeyServer
from tests.support.simulated_platform import SimulatedPlatform


@pytest.fixture
def platform(own_server: ValkeyServer, settings: Settings) -> SimulatedPlatform:
    """One worker and model alpha with two slots, on the test's own server, with the platform's client."""
    own_settings = replace(settings, redis=RedisSettings(own_server.url, settings.redis.prefix))
    platform = SimulatedPlatform(command_client(own_settings), own_settings)
    platform.register()
    platform.load()
    return platform


def calls(platform: SimulatedPlatform) -> dict[str, Callable[[], object]]:
    """Return every call that an API process or a worker can make, by name."""
    incarnation = platform.incarnations["w1"]
    return {
        "admit": platform.admit,
        "cancel": lambda: platform.ledger.cancel("resp_x", "acme"),
        "delete": lambda: platform.ledger.delete("resp_x", "acme"),
        "lookup": lambda: platform.ledger.lookup("resp_x", "acme"),
        "subscribe": lambda: platform.ledger.subscribe("resp_x", "here"),
        "register": lambda: platform.register("w9"),
        "drain": lambda: platform.fleet.registry.begin_shutdown("w1", incarnation),
        "deregister": lambda: platform.fleet.registry.deregister("w1", incarnation, "bye"),
        "take_claims": lambda: platform.ledger.take_claims("w1", incarnation, []),
        "heartbeat": lambda: platform.ledger.heartbeat("w1", incarnation),
        "step": lambda: platform.ledger.step(incarnation, [], []),
        "jobs_on_replica": lambda: platform.ledger.jobs_on_replica("alpha#0"),
        "ping": platform.ledger.ping,
        "expire": platform.fleet.registry.expire,
        "scripts": platform.ledger.scripts.load,
        "load": lambda: platform.fleet.load("beta"),
        "unload": lambda: platform.fleet.unload("alpha"),
        "rows": platform.fleet.rows,
        "workers": platform.fleet.workers,
        "operation": lambda: platform.fleet.operation("load_x"),
        "missing": platform.recovery.missing,
        "resume_pending": platform.recovery.resume_pending,
        "replace_lost": platform.recovery.replace_lost,
        "reload": lambda: platform.recovery.reload("alpha"),
        "reset_to_configuration": platform.fleet.reset_to_configuration,
        "starting": lambda: platform.starting("alpha#0"),
        "progress": lambda: platform.fleet.replica_progress("alpha#0", 0.5, "reading"),
        "up": lambda: platform.up("alpha#0"),
        "down": lambda: platform.crash("alpha#0"),
    }


def test_every_call_raises_storage_unavailable_when_redis_is_down(
    platform: SimulatedPlatform, own_server: ValkeyServer
) -> None:
    own_server.kill()
    every = calls(platform)
    assert {name for name, call in every.items() if not is_unavailable(call)} == set()


def is_unavailable(call: Callable[[], object]) -> bool:
    try:
        call()
    except StorageUnavailable:
        return True
    return False


def test_a_restart_of_redis_keeps_all_acknowledged_data(
    platform: SimulatedPlatform, own_server: ValkeyServer
) -> None:
    running, waiting = platform.admit(), [platform.admit() for _ in range(3)][-1]
    claim = platform.run(running)
    platform.append_text(claim, 1, "before")
    own_server.kill()
    own_server.start()
    assert platform.status(waiting) == "queued"
    assert platform.append_text(claim, 2, "after") == {}
    platform.release(claim)
    assert [event.text for event in platform.log(running)[:2]] == ["before", "after"]  # type: ignore[attr-defined]
    assert platform.end(running).status == "completed"
    assert platform.status(waiting) == "queued"
    assert platform.slots_taken() == 2


def test_when_memory_is_full_admissions_are_refused_and_admitted_jobs_run_to_their_end(
    platform: SimulatedPlatform, own_server: ValkeyServer
) -> None:
    first, second, waiting, cancelled = [platform.admit() for _ in range(4)]
    claim = platform.run(first)
    platform.append_text(claim, 1, "so far")
    keys = set(platform.client.keys("*"))
    redis.Redis.from_url(own_server.url).config_set("maxmemory", "100kb")
    with pytest.raises(StorageFull):
        platform.admit()
    with pytest.raises(StorageFull):
        platform.ledger.ping()
    assert set(platform.client.keys("*")) == keys, "a refusal leaves nothing behind"
    incarnation = platform.incarnations["w1"]
    assert platform.ledger.heartbeat("w1", incarnation).running == {first, second}
    assert {claim.id for claim in platform.ledger.take_claims("w1", incarnation, [first])} == {second}
    assert platform.append_text(claim, 2, "and on") == {}
    platform.release(claim)
    assert platform.end(first).status == "completed"
    assert platform.ledger.cancel(cancelled, "acme") is Status.CANCELLED
    platform.append_text(platform.run(waiting), 1, "later")
    platform.run_for(607, "w1")
    assert {platform.end(id).code for id in (second, waiting)} == {"deadline_exceeded"}
    assert platform.slots_taken() == 0
    platform.fleet.unload("alpha")
    redis.Redis.from_url(own_server.url).config_set("maxmemory", "0")
    platform.register()
    platform.load()
    assert platform.run(platform.admit())


def test_a_redis_with_too_few_replicas_is_named_as_such(
    platform: SimulatedPlatform, own_server: ValkeyServer
) -> None:
    redis.Redis.from_url(own_server.url).config_set("min-replicas-to-write", "1")
    for call in (platform.admit, platform.ledger.ping):
        with pytest.raises(StorageUnavailable, match="min-replicas-to-write"):
            call()
