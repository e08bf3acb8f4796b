"""A tenant's budget bounds what its requests used that ended in a calendar month."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
import redis

from config.limits import Budget, Limits, limits_of
from config.settings import Settings, Tenant
from scheduler.budgets import BudgetReader, BudgetUse
from scheduler.commands import check_limits
from scheduler.job import Job
from scheduler.usage import MONTH_DAYS
from store.errors import BudgetExceeded
from streams.events import Usage
from tests.support.simulated_platform import LONG_LEASE, SimulatedPlatform

DAY_S = 86_400


@pytest.fixture
def platform(client: redis.Redis, settings: Settings) -> SimulatedPlatform:
    """One worker, whose lease outlives the tests' jobs, and model alpha with two slots."""
    platform = SimulatedPlatform(client, replace(settings, lease=LONG_LEASE))
    platform.register()
    platform.load()
    return platform


def bound(budget: Budget | None) -> Limits:
    return replace(limits_of(Tenant("acme"), Settings()), budget=budget)


def serve(platform: SimulatedPlatform, tokens: int, run_s: float = 0.0, tenant: str = "acme") -> None:
    """Run a job of a tenant to its end, whose answer has all but a token, and count it."""
    claim = platform.run(platform.admit(tenant))
    platform.advance_time(run_s)
    usage = Usage(1, tokens - 1)
    platform.release(claim, usage=usage.encode(), tokens=usage.units)
    platform.expire()


def refusal(platform: SimulatedPlatform, budget: Budget) -> BudgetExceeded:
    with pytest.raises(BudgetExceeded) as caught:
        platform.admit(limits=bound(budget))
    return caught.value


def use_of(platform: SimulatedPlatform, budget: Budget, tenant: str = "acme") -> BudgetUse:
    return BudgetReader(platform.client, platform.settings).read({tenant: budget})[tenant]


def go_to(platform: SimulatedPlatform, moment: datetime) -> None:
    """Set the clock of the scripts; the reader's too."""
    platform.advance_time((moment - now(platform)).total_seconds())


def now(platform: SimulatedPlatform) -> datetime:
    seconds, microseconds = platform.client.time()  # type: ignore[misc]
    at = datetime.fromtimestamp(seconds, UTC) + timedelta(microseconds=microseconds)
    return at + timedelta(microseconds=platform.ledger.scripts.offset_us)


def test_a_request_is_refused_when_the_ended_ones_used_the_budget_of_tokens(
    platform: SimulatedPlatform,
) -> None:
    serve(platform, 60)
    serve(platform, 1000, tenant="other")
    budget = Budget(tokens=100)
    running = platform.admit(limits=bound(budget))
    serve(platform, 40)
    error = refusal(platform, budget)
    assert (error.details["unit"], error.details["limit"], error.details["used"]) == ("tokens", 100, 100)
    ends = datetime.fromtimestamp(error.details["resetAt"], UTC)
    assert (ends.day, ends.hour, ends.minute, ends.second) == (1, 0, 0, 0)
    assert error.retry_after_s is not None
    assert abs((now(platform) + timedelta(seconds=error.retry_after_s) - ends).total_seconds()) < 5
    assert error.message.startswith("Tenant acme has used its budget of 100 tokens for ")
    platform.release(platform.run(running), tokens=5)
    assert platform.status(running) == "completed", "what was admitted ends as usual"
    platform.admit(limits=bound(Budget(tokens=101)))
    platform.admit(limits=bound(None))
    refusal(platform, Budget(tokens=50))


def test_a_second_in_a_slot_is_a_gpu_second_and_a_wait_is_none(platform: SimulatedPlatform) -> None:
    claim = platform.run(platform.admit())
    other = platform.run(platform.admit())
    waiting = platform.admit()
    platform.advance_time(20)
    platform.release(claim)
    platform.release(other)
    platform.advance_time(10)
    platform.release(platform.run(waiting))
    platform.expire()
    used = use_of(platform, Budget(gpu_s=50))
    assert 50 <= used.gpu_s < 55
    assert used.share >= 1
    assert used.tokens == 0
    error = refusal(platform, Budget(gpu_s=50))
    assert (error.details["unit"], error.details["limit"]) == ("gpu_s", 50)
    assert 50 <= error.details["used"] < 55
    assert "50 GPU-seconds" in error.message
    platform.admit(limits=bound(Budget(gpu_s=60)))
    assert refusal(platform, Budget(tokens=1000, gpu_s=40)).details["unit"] == "gpu_s"
    assert use_of(platform, Budget(tokens=1, gpu_s=60)).share < 1
    platform.client.hset(f"{platform.prefix}month_usage:{now(platform):%Y-%m}", "acme", "0 40000000")
    assert refusal(platform, Budget(gpu_s=40)).details["used"] == 40
    platform.admit(limits=bound(Budget(gpu_s=41)))


def test_a_clock_that_is_set_back_takes_nothing_off_the_use(platform: SimulatedPlatform) -> None:
    budget = Budget(tokens=50, gpu_s=3600)
    serve(platform, 60)
    serve(platform, 10, run_s=-5)
    use = use_of(platform, budget)
    assert use.tokens == 70
    assert 0 <= use.gpu_s < 1
    assert refusal(platform, budget).details["unit"] == "tokens"


def test_a_repeat_of_an_admitted_request_is_not_refused(platform: SimulatedPlatform) -> None:
    budget = bound(Budget(tokens=10))
    id = platform.admit(limits=budget, idempotency_key="k", body_hash="b")
    serve(platform, 10)
    assert platform.admit(limits=budget, idempotency_key="k", body_hash="b") == id
    job = Job(id, "acme", "alpha", "test", b"{}", b"{}", limits=budget)
    assert platform.ledger.admit(job).replayed, "a call whose reply was lost"
    with pytest.raises(BudgetExceeded):
        platform.ledger.scripts.execute(check_limits(job, budget, platform.settings))
    platform.ledger.scripts.execute(check_limits(job, bound(Budget(tokens=11)), platform.settings))
    platform.ledger.scripts.execute(check_limits(job, bound(None), platform.settings))


def test_a_budget_begins_anew_with_the_month_in_which_a_request_ends(platform: SimulatedPlatform) -> None:
    ends = datetime.fromtimestamp(use_of(platform, Budget(tokens=1)).resets_at, UTC)
    go_to(platform, ends - timedelta(seconds=30))
    platform.register()  # its lease has ended
    platform.load()
    serve(platform, 10)
    error = refusal(platform, Budget(tokens=10))
    assert error.details["resetAt"] == ends.timestamp()
    assert (error.retry_after_s or 0) <= 30
    claim = platform.run(platform.admit())
    go_to(platform, ends + timedelta(seconds=1))
    platform.admit(limits=bound(Budget(tokens=10)))
    platform.release(claim, usage=Usage(3, 4).encode(), tokens=7)
    platform.expire()
    assert refusal(platform, Budget(tokens=7)).details["resetAt"] > ends.timestamp()
    platform.admit(limits=bound(Budget(tokens=8)))
    (before, after) = sorted(platform.client.keys(f"{platform.prefix}month_usage:*"))
    assert before.decode()[-7:] == f"{ends - timedelta(1):%Y-%m}"
    assert after.decode()[-7:] == f"{ends:%Y-%m}"
    for key in (before, after):
        assert MONTH_DAYS * DAY_S - 60 < platform.client.ttl(key) <= MONTH_DAYS * DAY_S


LEAP_DAYS = "2000-02-29 2023-02-28 2024-02-28 2024-02-29 2024-12-31 2099-02-28 2100-02-28 2400-02-29"
DAYS_OF_A_YEAR = [f"2026-{month:02}-{day:02}" for month in range(1, 13) for day in (1, 28)]


@pytest.mark.parametrize("day", ["1970-01-01", *LEAP_DAYS.split(), *DAYS_OF_A_YEAR])
def test_a_month_is_that_of_the_calendar(platform: SimulatedPlatform, day: str) -> None:
    at = datetime.fromisoformat(day).replace(tzinfo=UTC)
    reader = BudgetReader(platform.client, platform.settings)
    scripts = reader._scripts
    seconds, _ = platform.client.time()  # type: ignore[misc]
    scripts.offset_us = int((at.timestamp() + 10 - seconds) * 1e6)
    platform.client.hset(f"{platform.prefix}month_usage:{day[:7]}", "acme", "3 4000000")
    use = reader.read({"acme": Budget(tokens=6)})["acme"]
    assert (use.tokens, use.gpu_s) == (3, 4.0)
    following = (at.replace(day=1) + timedelta(31)).replace(day=1)
    assert use.resets_at == following.timestamp()
    assert use.shares == {"tokens": 0.5}


def test_a_tenant_without_requests_has_used_nothing_and_no_tenant_costs_no_command(
    platform: SimulatedPlatform,
) -> None:
    assert use_of(platform, Budget(5, 5)).shares == {"tokens": 0, "gpu_s": 0}
    platform.client.config_resetstat()
    assert BudgetReader(platform.client, platform.settings).read({}) == {}
    assert "cmdstat_fcall" not in platform.client.info("commandstats")
