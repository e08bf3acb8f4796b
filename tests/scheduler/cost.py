"""Measures the server time of each script: `python -m tests.scheduler.cost`.

The server's slow log records the microseconds of every call, without network and client. The table has the
median of the quietest round and the median of all, since a busy machine doubles the numbers.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import redis

from config.settings import ModelDefinition, QueueSettings, RedisSettings, Settings
from scheduler import LUA
from scheduler.job import AppendRequest, Claim, Release, Status
from store.script_text import arguments_of
from streams.events import TextDelta
from tests.conftest import start_server
from tests.support.simulated_platform import SimulatedPlatform

ROUNDS, CALLS = 10, 200
GENERATION = b'{"messages":[{"role":"user","content":"' + b"x" * 2000 + b'"}]}'


class Meter:
    """Runs calls and prints how long the server took for each."""

    def __init__(self, client: redis.Redis) -> None:
        self.client = client
        client.config_set("slowlog-log-slower-than", 0)
        client.config_set("slowlog-max-len", 8 * CALLS)

    def measure(
        self,
        label: str,
        platform: SimulatedPlatform,
        call: Callable[[], object],
        prepare: Callable[[], object] = lambda: None,
    ) -> None:
        script = label.split("`")[1]
        digest = name_in_redis(platform, script)
        rounds: list[list[int]] = []
        for _ in range(ROUNDS):
            self.client.slowlog_reset()
            for _ in range(CALLS):
                prepare()
                call()
            entries = self.client.slowlog_get(8 * CALLS)
            rounds.append([entry["duration"] for entry in entries if digest in entry["command"]])
        quietest = min(statistics.median(took) for took in rounds)
        every = statistics.median(microseconds for took in rounds for microseconds in took)
        print(f"| {label:52} | {quietest:8.0f} | {every:6.0f} |", flush=True)


def name_in_redis(platform: SimulatedPlatform, script: str) -> bytes:
    """Return what FCALL or EVALSHA names a script."""
    arguments = arguments_of(LUA / f"{script}.lua")
    values: dict[str, str | list[str]] = dict.fromkeys(arguments.names, "")
    if arguments.rest:
        values[arguments.rest] = []
    return str(platform.ledger.scripts.command(script, values)[1]).encode()


def platform_on(client: redis.Redis, settings: Settings, name: str, slots: int) -> SimulatedPlatform:
    platform = SimulatedPlatform(client, replace(settings, redis=RedisSettings(settings.redis.url, name)))
    platform.register()
    platform.load(slots=slots)
    return platform


def admit(platform: SimulatedPlatform) -> str:
    return platform.admit(generation=GENERATION, subscriber="here")


def running(platform: SimulatedPlatform, count: int) -> list[Claim]:
    return [platform.run(admit(platform)) for _ in range(count)]


def step(
    platform: SimulatedPlatform, claims: list[Claim], numbers: dict[str, int], *, end: bool = False
) -> None:
    """Write one event of each job, and its end."""
    event = (TextDelta(" token").encode(),)
    for claim in claims:
        numbers[claim.id] = numbers.get(claim.id, 0) + 1
    appends = [
        AppendRequest(claim.id, claim.replica, claim.fence, numbers[claim.id], event) for claim in claims
    ]
    ends = [Release(claim.id, claim.fence, Status.COMPLETED, tokens=300) for claim in claims] if end else []
    platform.step(claims[0], appends, ends)


def main() -> None:
    """Measure all calls and print the table."""
    server = start_server(Path(tempfile.mkdtemp()))
    client = redis.Redis.from_url(server.url)
    models = {"alpha": ModelDefinition("alpha", "stub", replica_max=4)}
    queue = QueueSettings(max_depth=10**6, max_depth_per_tenant=10**6)
    settings = replace(Settings(), redis=RedisSettings(server.url), models=models, queue=queue)
    meter = Meter(client)
    print(f"| {'call':52} | quietest | median |\n|{'-' * 54}|---------:|-------:|")

    platform = platform_on(client, settings, "free", 10**6)
    meter.measure("`admit`, a slot is free: admitted and dispatched", platform, lambda: admit(platform))
    platform = platform_on(client, settings, "queue", 1)
    meter.measure("`admit`, queued", platform, lambda: admit(platform))
    platform, numbers = platform_on(client, settings, "events", 64), {}
    claims = running(platform, 32)
    meter.measure("`step`, one event of one request", platform, lambda: step(platform, claims[:1], numbers))
    meter.measure(
        "`step`, one event of each of 32 requests", platform, lambda: step(platform, claims, numbers)
    )
    platform = platform_on(client, settings, "end", 4)
    claimed: list[Claim] = []
    meter.measure(
        "`step`, one event and the end, no job waits",
        platform,
        lambda: step(platform, claimed[-1:], numbers, end=True),
        lambda: claimed.extend(running(platform, 1)),
    )
    platform = platform_on(client, settings, "over", 1)
    for _ in range(ROUNDS * CALLS + 1):
        admit(platform)

    def claim_next() -> None:
        claim = platform.next_claim()
        assert claim
        claimed.append(claim)

    meter.measure(
        "`step`, one event and the end, and dispatch the next",
        platform,
        lambda: step(platform, claimed[-1:], numbers, end=True),
        claim_next,
    )
    platform = platform_on(client, settings, "claims", 64)
    known = [claim.id for claim in running(platform, 64)]
    meter.measure(
        "`take_claims`, of 64 running one is unknown",
        platform,
        lambda: platform.ledger.take_claims("w1", platform.incarnations["w1"], known[1:]),
    )
    ids: list[str] = []
    platform = platform_on(client, settings, "cancel", 1)
    admit(platform)
    meter.measure(
        "`cancel`, of a queued job",
        platform,
        lambda: platform.ledger.cancel(ids[-1], "acme"),
        lambda: ids.append(admit(platform)),
    )
    platform = platform_on(client, settings, "heartbeat", 64)
    running(platform, 64)
    meter.measure(
        "`heartbeat`, with 64 running",
        platform,
        lambda: platform.ledger.heartbeat("w1", platform.incarnations["w1"]),
    )
    meter.measure("`expire`, no job is due", platform, platform.fleet.registry.expire)
    server.kill()


if __name__ == "__main__":
    main()
