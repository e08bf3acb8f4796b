"""`Retry-After` of a full queue: the time in which its jobs get slots, by how long jobs hold theirs."""

from __future__ import annotations

from dataclasses import replace

import pytest
import redis

from config.settings import Settings
from scheduler.job import Status
from store.errors import QueueFull
from tests.support.simulated_platform import SimulatedPlatform


def full_platform(
    client: redis.Redis, settings: Settings, *, slots: int, replicas: int = 1, run_s: float
) -> SimulatedPlatform:
    """A platform with a full queue of 16 jobs, on which each job held its slot for `run_s`."""
    queue = replace(settings.queue, max_depth=16, max_depth_per_tenant=16)
    platform = SimulatedPlatform(client, replace(settings, queue=queue))
    platform.register()
    platform.load(slots=slots, replicas=replicas)
    for _ in range(slots * replicas + 16):
        platform.admit()
    for _ in range(16):
        platform.advance_time(run_s / (slots * replicas))
        platform.serve_next()
        platform.admit()
    return platform


def refusal_of(platform: SimulatedPlatform) -> QueueFull:
    with pytest.raises(QueueFull) as refusal:
        platform.admit()
    return refusal.value


@pytest.mark.rule("runner/queue-full-retry-after")
@pytest.mark.parametrize(("slots", "replicas", "retry_after_s"), [(2, 1, 16), (8, 1, 4), (2, 2, 8)])
def test_a_full_queue_asks_to_wait_until_its_jobs_have_slots(
    client: redis.Redis, settings: Settings, slots: int, replicas: int, retry_after_s: int
) -> None:
    refusal = refusal_of(full_platform(client, settings, slots=slots, replicas=replicas, run_s=2.0))
    assert refusal.retry_after_s == pytest.approx(retry_after_s, abs=2)
    assert refusal.message == f"Queue depth 16/16, retry in {refusal.retry_after_s} seconds"
    assert refusal.details["queueDepth"] == 16


def test_a_slow_model_asks_for_at_most_a_minute(client: redis.Redis, settings: Settings) -> None:
    assert refusal_of(full_platform(client, settings, slots=1, run_s=30.0)).retry_after_s == 60


@pytest.mark.rule("runner/queue-full-retry-after")
def test_the_first_full_queue_asks_to_wait_by_the_age_of_the_running_jobs(
    client: redis.Redis, settings: Settings
) -> None:
    queue = replace(settings.queue, max_depth=4, max_depth_per_tenant=4)
    platform = SimulatedPlatform(client, replace(settings, queue=queue))
    platform.register()
    platform.load(slots=4)
    for _ in range(8):
        platform.admit()
    assert refusal_of(platform).retry_after_s == 1, "they have only begun"
    platform.advance_time(10)
    refusal = refusal_of(platform)
    assert refusal.retry_after_s == pytest.approx(20, abs=1), "4 jobs wait for 4 slots, held for about 20 s"
    assert refusal.details == {"queueDepth": 4, "avgWaitMs": 0}


def test_running_jobs_that_take_longer_than_earlier_ones_count(
    client: redis.Redis, settings: Settings
) -> None:
    platform = full_platform(client, settings, slots=8, run_s=2.0)
    platform.advance_time(12)
    assert refusal_of(platform).retry_after_s > 40, "16 jobs wait for 8 slots, held for more than 24 s"


def test_an_unknown_rate_is_the_average_wait(client: redis.Redis, settings: Settings) -> None:
    platform = SimulatedPlatform(client, replace(settings, queue=replace(settings.queue, max_depth=0)))
    platform.register()
    platform.load(slots=1)
    platform.admit()
    assert refusal_of(platform).retry_after_s == 1


def cancel_running(platform: SimulatedPlatform, count: int, after_s: float = 0.0) -> None:
    """Cancel `count` running jobs `after_s` after the start of the latest: their worker reports the ends."""
    claims = [claim for _ in range(count) if (claim := platform.next_claim()) is not None]
    assert len(claims) == count
    platform.advance_time(after_s)
    for claim in claims:
        assert platform.ledger.cancel(claim.id, "acme") == Status.RUNNING
    for claim in claims:
        platform.release(claim, Status.CANCELLED)


def run_ms_of(platform: SimulatedPlatform) -> int | None:
    return platform.ledger.queue_order("alpha").run_ms


@pytest.mark.rule("runner/queue-full-retry-after")
def test_a_cancel_of_many_running_jobs_leaves_the_estimated_waits(
    client: redis.Redis, settings: Settings
) -> None:
    platform = full_platform(client, settings, slots=4, run_s=4.0)
    before = run_ms_of(platform)
    assert before == pytest.approx(4_000, rel=0.2)
    cancel_running(platform, 4)  # and four of the waiting jobs run in their place
    cancel_running(platform, 4)
    assert run_ms_of(platform) == before
    for _ in range(8):
        platform.admit()
    assert refusal_of(platform).retry_after_s == pytest.approx(16, abs=2), "16 jobs, 4 slots, 4 s each"


def test_a_cancelled_job_that_ran_longer_than_the_average_raises_it(
    client: redis.Redis, settings: Settings
) -> None:
    platform = full_platform(client, settings, slots=4, run_s=4.0)
    before = run_ms_of(platform)
    assert before is not None
    cancel_running(platform, 1, after_s=100)
    assert run_ms_of(platform) == pytest.approx(0.8 * before + 0.2 * 100_000, rel=0.05)


def test_a_cancelled_job_begins_no_average(client: redis.Redis, settings: Settings) -> None:
    platform = SimulatedPlatform(client, settings)
    platform.register()
    platform.load(slots=2)
    for _ in range(8):
        platform.admit()
    cancel_running(platform, 2, after_s=1)
    assert run_ms_of(platform) is None
    platform.next_claim()
    platform.advance_time(3)
    platform.serve_next()
    assert run_ms_of(platform) == pytest.approx(3_000, rel=0.05)


@pytest.mark.parametrize(
    ("status", "counts"), [(Status.COMPLETED, True), (Status.INCOMPLETE, True), (Status.FAILED, False)]
)
def test_a_short_run_lowers_the_average_when_it_did_not_fail(
    client: redis.Redis, settings: Settings, status: Status, counts: bool
) -> None:
    platform = full_platform(client, settings, slots=4, run_s=4.0)
    before = run_ms_of(platform)
    assert before is not None
    while (claim := platform.next_claim()) is not None:
        latest = claim
    platform.release(latest, status)
    after = run_ms_of(platform)
    assert after is not None
    assert after < before if counts else after == before


def test_a_lost_engine_leaves_the_average(client: redis.Redis, settings: Settings) -> None:
    """Its jobs have begun: those with output fail, and their times tell nothing about whole runs."""
    platform = full_platform(client, settings, slots=4, run_s=4.0)
    before = run_ms_of(platform)
    while (claim := platform.next_claim()) is not None:
        platform.append_text(claim, 1, "Hello")
        replica = claim.replica
    platform.crash(replica)
    assert run_ms_of(platform) == before
