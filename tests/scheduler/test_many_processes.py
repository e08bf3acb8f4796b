"""Many processes against one tenant's rate limit and one queue: never one request too many.

`make test-limits` sends 100,000 requests (STOKER_ADMISSIONS); `make test` sends few.
"""

from __future__ import annotations

import multiprocessing
import os
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field, replace

import pytest

from config.rate_limit import RateLimit
from config.settings import QueueSettings, RedisSettings, Settings, TenancySettings
from scheduler.job import Job
from scheduler.ledger import Ledger
from store.errors import QueueFull, RateLimited
from store.redis_connections import command_client
from tests.conftest import ValkeyServer
from tests.support.simulated_platform import SimulatedPlatform

ADMISSIONS = int(os.environ.get("STOKER_ADMISSIONS", "4800"))
PROCESSES = 16
LIMIT, DEPTH = RateLimit("100/s"), 20  # a slow machine sends more than that, too
HELD = 2  # jobs that a process leaves in the queue: together more than fit


@dataclass
class Seen:
    """What one process was answered: what remained, by admitted job and at refusals; the depths."""

    admitted: dict[str, int] = field(default_factory=dict)
    depths: list[int] = field(default_factory=list)
    full: list[tuple[int, int]] = field(default_factory=list)
    limited: list[int] = field(default_factory=list)


def send(number: int, count: int, settings: Settings) -> Seen:
    """Admit jobs, and cancel them when this process has enough of them, or the queue is full."""
    client = command_client(settings)
    ledger, seen, held = Ledger(client, settings), Seen(), list[str]()
    for at in range(count):
        id = f"p{number}-{at}"
        try:
            admission = ledger.admit(Job(id, "acme", "alpha", "test", b"{}", b"{}", store=False))
            seen.admitted[id] = admission.limits[0].remaining
            seen.depths.append(admission.depth)
            held.append(id)
        except QueueFull as error:
            seen.full.append((error.details["queueDepth"], error.limits[0].remaining))
        except RateLimited as error:
            seen.limited.append(error.details["remaining"])
        if held and (len(held) > HELD or len(seen.full) % 5 == 4):
            ledger.cancel(held.pop(0), "acme")
    for id in held:
        ledger.cancel(id, "acme")
    client.close()
    return seen


@pytest.mark.hostile
@pytest.mark.timeout(600)
def test_no_request_too_many_is_admitted_by_many_processes(
    own_server: ValkeyServer, settings: Settings
) -> None:
    settings = replace(
        settings,
        redis=RedisSettings(own_server.url),
        tenancy=TenancySettings(rate_limit=LIMIT),
        queue=QueueSettings(max_depth=DEPTH, max_depth_per_tenant=DEPTH),
    )
    platform = SimulatedPlatform(command_client(settings), settings)
    platform.register()
    platform.load(slots=1)
    platform.admit("other")  # takes the slot
    context = multiprocessing.get_context("fork")
    with context.Pool(PROCESSES) as pool:
        share = ADMISSIONS // PROCESSES
        parts = pool.starmap(send, [(number, share, settings) for number in range(PROCESSES)])

    left_by_id = {id: left for seen in parts for id, left in seen.admitted.items()}
    with platform.client.pipeline(transaction=False) as pipe:
        for id in left_by_id:
            pipe.hget(f"{platform.prefix}job:{id}", "admitted_us")
        left_by_time = dict(zip(map(int, pipe.execute()), left_by_id.values(), strict=True))
    assert len(left_by_time) == len(left_by_id)
    times, window_us = sorted(left_by_time), LIMIT.window_s * 1_000_000
    for at, time_us in enumerate(times):
        in_window = at + 1 - bisect_right(times, time_us - window_us)
        assert in_window <= LIMIT.most
        # neither a refusal nor a full queue costs a request; it grows only when one leaves the window
        assert left_by_time[time_us] == LIMIT.most - in_window

    assert all(1 <= depth <= DEPTH for seen in parts for depth in seen.depths)
    assert {depth for seen in parts for depth, _ in seen.full} == {DEPTH}
    assert all(0 < left <= LIMIT.most for seen in parts for _, left in seen.full)
    assert {left for seen in parts for left in seen.limited} == {0}
    outcomes = Counter(admitted=len(left_by_id), full=sum(len(seen.full) for seen in parts))
    outcomes["limited"] = sum(len(seen.limited) for seen in parts)
    assert outcomes.total() == share * PROCESSES
    assert min(outcomes.values()) > 0, outcomes
    assert platform.waiting() == []
