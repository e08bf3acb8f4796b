"""The average and the 95th percentile of the waits of the last minutes."""

from __future__ import annotations

import math

import pytest
import redis
from hypothesis import given
from hypothesis import strategies as st

from config.settings import Settings
from scheduler.waits import GROWTH, MINUTES, parse_waits
from tests.support.simulated_platform import SimulatedPlatform


@pytest.fixture
def platform(client: redis.Redis, settings: Settings) -> SimulatedPlatform:
    platform = SimulatedPlatform(client, settings)
    platform.register()
    platform.load(slots=1)
    return platform


def serve(platform: SimulatedPlatform, wait_s: float) -> None:
    """Let a job wait for that long behind another one, and end both."""
    platform.admit()
    platform.admit()
    platform.advance_time(wait_s)
    platform.ledger.heartbeat("w1", platform.incarnations["w1"])
    platform.serve_next()
    platform.serve_next()
    platform.expire()


@pytest.mark.rule("runner/queue")
def test_the_waits_of_ended_jobs_are_averaged(platform: SimulatedPlatform) -> None:
    assert platform.ledger.waits() == {}
    serve(platform, 2.0)
    (waits,) = platform.ledger.waits().values()
    assert waits.average_ms == pytest.approx(1000, abs=50), "one waited 2 s, the other not"
    assert 2000 <= (waits.p95_ms or 0) <= 2000 * GROWTH


def test_waits_are_forgotten_after_five_minutes(platform: SimulatedPlatform, client: redis.Redis) -> None:
    serve(platform, 2.0)
    platform.run_for(60 * (MINUTES - 2), "w1", every=1)
    assert platform.ledger.waits()
    platform.run_for(60 * 2, "w1", every=1)
    assert platform.ledger.waits() == {}
    (key,) = client.keys(f"{platform.prefix}waits:*")
    assert 0 < client.ttl(key) <= 600


@given(st.lists(st.integers(0, 10_000_000), min_size=1, max_size=200))
def test_the_percentile_is_at_most_a_quarter_too_large(waits_us: list[int]) -> None:
    answer: list[bytes] = [b"sum m", b"%d" % sum(waits_us), b"sum other", b"7000", b"9 other", b"1"]
    for wait in waits_us:
        bucket = 0 if wait <= 1000 else math.ceil(math.log(wait / 1000) / math.log(GROWTH))
        answer += [b"%d m" % bucket, b"1"]
    found = parse_waits(answer)["m"]
    true_ms = sorted(waits_us)[math.ceil(0.95 * len(waits_us)) - 1] / 1000
    assert found.average_ms == round(sum(waits_us) / len(waits_us) / 1000)
    assert found.p95_ms is not None
    assert true_ms - 1 <= found.p95_ms <= max(1, true_ms * GROWTH + 1)
