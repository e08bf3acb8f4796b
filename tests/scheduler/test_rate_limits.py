"""Rate and token limits of a tenant: exact in every window, and a refusal costs nothing."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
import redis

from config.limits import Limits, limits_of
from config.rate_limit import RateLimit
from config.settings import QueueSettings, ResponseSettings, Settings, TenancySettings, Tenant
from scheduler.commands import check_limits, parse_limits
from scheduler.job import Admission, Job, Status
from store.errors import (
    BeyondTokenLimit,
    IdempotencyConflict,
    ModelNotLoaded,
    QueueFull,
    RateLimited,
    TenantStorageFull,
)
from store.limit_state import LimitState
from tests.support.simulated_platform import COUNTER, SimulatedPlatform

SMALL, LARGE = RateLimit("10req/min"), RateLimit("6000req/min")


@pytest.fixture
def platform(client: redis.Redis, settings: Settings) -> SimulatedPlatform:
    """One slot, and a queue for all that the tests admit; the clock stands still between two steps."""
    queue = QueueSettings(max_depth=100_000, max_depth_per_tenant=100_000, timeout_ms=10**9)
    platform = SimulatedPlatform(client, replace(settings, queue=queue))
    platform.register()
    platform.load(slots=1)
    return platform


def bound(**limits: Any) -> Limits:
    return replace(limits_of(Tenant("acme"), Settings()), max_waiting=100_000, **limits)


def admit(platform: SimulatedPlatform, limits: Limits, **more: Any) -> Admission:
    values = {"id": f"r{next(COUNTER):06}", "model": "alpha", **more}
    return platform.ledger.admit(
        Job(tenant="acme", dialect="test", generation=b"{}", echo=b"{}", limits=limits, **values)
    )


def refusal(platform: SimulatedPlatform, limits: Limits, **more: Any) -> RateLimited | BeyondTokenLimit:
    with pytest.raises((RateLimited, BeyondTokenLimit)) as caught:
        admit(platform, limits, **more)
    return caught.value


def remaining(limits: tuple[LimitState, ...]) -> int:
    return limits[0].remaining


# ---- requests


def test_a_limit_admits_its_number_of_requests_and_shows_what_remains(
    platform: SimulatedPlatform,
) -> None:
    left = [remaining(admit(platform, bound(rate_limit=SMALL)).limits) for _ in range(10)]
    assert left == list(range(9, -1, -1))
    error = refusal(platform, bound(rate_limit=SMALL))
    assert error.message == "Tenant acme exceeded 10 req/min"
    assert error.details == {"limit": 10, "remaining": 0, "resetAt": error.details["resetAt"]}
    assert 59 <= error.details["resetAt"] - platform.ledger.scripts.now() <= 61
    assert error.retry_after_s in (60, 59)
    assert remaining(error.limits) == 0


@pytest.mark.rule("runner/rate-limit-window")
def test_the_next_request_is_admitted_when_the_oldest_has_left_the_window(
    platform: SimulatedPlatform,
) -> None:
    limits = bound(rate_limit=RateLimit("2/min"))
    admit(platform, limits)
    platform.advance_time(30)
    admit(platform, limits)
    platform.advance_time(29)
    assert refusal(platform, limits).retry_after_s == 1
    platform.advance_time(1)
    assert remaining(admit(platform, limits).limits) == 0
    assert refusal(platform, limits).retry_after_s in (29, 30)


@pytest.mark.rule("runner/rate-limit-window")
@pytest.mark.parametrize("text", ["7/s", "20/min", "50/hour", "3/day", "2500/min", "9000/hour"])
def test_no_window_has_one_request_too_many(platform: SimulatedPlatform, text: str) -> None:
    """Bursts and pauses of random length, around the edges of the window as well."""
    limit, chance = RateLimit(text), random.Random(text)
    window_us, admitted = limit.window_s * 1_000_000, list[int]()
    for _ in range(30):
        for _ in range(chance.choice([1, 3, min(limit.most // 9 + 1, 60), min(limit.most + 2, 120)])):
            try:
                id = admit(platform, bound(rate_limit=limit)).id
            except RateLimited:
                break
            admitted.append(int(platform.field(id, "admitted_us")))
        platform.advance_time(limit.window_s * chance.choice([0.001, 0.01, 0.09, 0.5, 1.0]))
    for first, last in zip(admitted, admitted[limit.most :], strict=False):
        assert last - first >= window_us, text
    assert len(admitted) > limit.most or limit.most > 100


def admit_all(platform: SimulatedPlatform, limits: Limits) -> list[Admission]:
    """Admit requests until one is refused."""
    admitted = []
    try:
        while True:
            admitted.append(admit(platform, limits))
    except RateLimited:
        return admitted


def test_a_large_limit_admits_a_tenth_at_once_and_the_rest_evenly(platform: SimulatedPlatform) -> None:
    limits = bound(rate_limit=RateLimit("3000/day"))
    states = [admission.limits[0] for admission in admit_all(platform, limits)]
    assert [state.remaining for state in states] == list(range(299, -1, -1))
    error = refusal(platform, limits)
    assert error.details["remaining"] == 0
    assert error.retry_after_s == pytest.approx(86_400 / 2700, abs=6)
    platform.advance_time(3200)
    assert len(admit_all(platform, limits)) == 3200 * 2700 // 86_400


def test_a_greedy_tenant_gets_its_large_limit_and_no_more(platform: SimulatedPlatform) -> None:
    admitted = list[int]()
    for _ in range(120):
        for admission in admit_all(platform, bound(rate_limit=RateLimit("2100/hour"))):
            admitted.append(int(platform.field(admission.id, "admitted_us")))
        platform.advance_time(36)
    counts = [sum(first <= at < first + 3_600_000_000 for at in admitted) for first in admitted[:300:50]]
    assert max(counts) <= 2100
    assert counts[0] > 2050


def test_a_lower_limit_is_in_force_at_once(platform: SimulatedPlatform) -> None:
    for _ in range(10):
        admit(platform, bound(rate_limit=SMALL))
        platform.advance_time(1)
    error = refusal(platform, bound(rate_limit=RateLimit("3/min")))
    assert error.details["remaining"] == 0
    assert error.retry_after_s == pytest.approx(58, abs=1), "until only two are left"
    assert remaining(admit(platform, bound(rate_limit=RateLimit("12/min"))).limits) == 1


def test_a_limit_with_a_shorter_window_is_in_force_at_once(platform: SimulatedPlatform) -> None:
    admit_all(platform, bound(rate_limit=RateLimit("3000/day")))
    admitted = admit_all(platform, bound(rate_limit=RateLimit("3000/min")))
    assert admitted[0].limits[0].remaining == 299


@pytest.mark.parametrize("limit", ["10/min", "3000/min"])
def test_a_limit_refuses_nothing_for_longer_than_its_window_when_the_clock_is_set_back(
    platform: SimulatedPlatform, limit: str
) -> None:
    admit_all(platform, bound(rate_limit=RateLimit(limit)))
    platform.advance_time(-3600)
    state = admit(platform, bound(rate_limit=RateLimit(limit))).limits[0]
    assert state.reset_s <= 120


@pytest.mark.rule("runner/env/DEFAULT_RATE_LIMIT")
def test_the_default_limit_is_in_force_for_a_tenant_without_its_own(
    client: redis.Redis, settings: Settings
) -> None:
    platform = SimulatedPlatform(
        client, replace(settings, tenancy=TenancySettings(rate_limit=RateLimit("1/min")))
    )
    platform.register()
    platform.load()
    platform.admit("acme")
    with pytest.raises(RateLimited):
        platform.admit("acme")
    platform.admit("other")
    platform.admit("acme", limits=bound(rate_limit=SMALL))


def test_the_log_of_a_limit_has_only_the_window(platform: SimulatedPlatform) -> None:
    for _ in range(30):
        admit(platform, bound(rate_limit=SMALL))
        platform.advance_time(7)
    assert platform.client.zcard(f"{platform.prefix}rate:acme") == 9
    assert 0 < platform.client.ttl(f"{platform.prefix}rate:acme") <= 61


# ---- what costs nothing


@pytest.mark.rule("runner/rate-limit-refused-costs-nothing")
def test_a_refused_request_costs_no_quota(client: redis.Redis, settings: Settings) -> None:
    platform = SimulatedPlatform(
        client,
        replace(
            settings, queue=QueueSettings(max_depth=1), responses=ResponseSettings(max_bytes_per_tenant=99)
        ),
    )
    platform.register()
    platform.load(slots=1)
    limits = replace(bound(rate_limit=SMALL, token_limit=RateLimit("2000/min")), max_bytes=99)
    assert [admit(platform, limits, cost=100).limits[0].remaining for _ in range(2)] == [9, 8]
    for _ in range(3):
        with pytest.raises(QueueFull) as full:
            admit(platform, limits, cost=100)
        with pytest.raises(ModelNotLoaded) as not_loaded:
            admit(platform, limits, cost=100, model="beta")
        refusal(platform, limits, cost=1900)
    platform.ledger.cancel(platform.waiting()[0], "acme")
    with pytest.raises(TenantStorageFull) as large:
        platform.ledger.admit(Job("r1", "acme", "alpha", "test", b"x" * 100, b"{}", limits=limits))
    for error in (full.value, not_loaded.value):
        assert [state.remaining for state in error.limits] == [8, 1800]
    assert [state.remaining for state in large.value.limits] == [8, 1900], "the cancelled one never ran"


def test_a_replay_and_a_repeated_call_cost_no_quota(platform: SimulatedPlatform) -> None:
    limits = bound(rate_limit=RateLimit("2/min"), token_limit=RateLimit("600/min"))
    first = admit(platform, limits, idempotency_key="one", body_hash="a")
    for _ in range(3):
        again = admit(platform, limits, idempotency_key="one", body_hash="a")
        assert (again.id, again.replayed) == (first.id, True)
        assert [state.remaining for state in again.limits] == [1, 344]
        with pytest.raises(IdempotencyConflict) as conflict:
            admit(platform, limits, idempotency_key="one", body_hash="b")
        assert remaining(conflict.value.limits) == 1
    second = admit(platform, limits)
    repeated = admit(platform, limits, id=second.id)
    assert repeated.replayed, "although the limit is reached"
    refusal(platform, limits)


def test_a_tenant_without_limits_gets_no_numbers(platform: SimulatedPlatform) -> None:
    assert admit(platform, bound()).limits == ()
    assert parse_limits([0, 0, 0, 5, 4, 1_500_000]) == (LimitState("tokens", 5, 4, 1.5),)


# ---- tokens


def tokens_left(platform: SimulatedPlatform, limit: str = "1000/min") -> int:
    """What remains of a tenant's tokens, by a refusal, which changes nothing."""
    return int(refusal(platform, bound(token_limit=RateLimit(limit)), cost=10**9).details["remaining"])


def test_a_request_reserves_its_estimate_and_is_refunded_the_rest_at_its_end(
    platform: SimulatedPlatform,
) -> None:
    limits = bound(token_limit=RateLimit("1000/min"))
    first = admit(platform, limits, cost=600)
    assert first.limits == (LimitState("tokens", 1000, 400, first.limits[0].reset_s),)
    assert 60 < first.limits[0].reset_s <= 62
    error = refusal(platform, limits, cost=500)
    assert error.message.startswith("Tenant acme exceeded 1000 tokens/min")
    assert error.details["remaining"] == 400
    platform.release(platform.run(first.id), tokens=150)
    assert tokens_left(platform) == 850
    admit(platform, limits, cost=850)
    assert tokens_left(platform) == 0


def test_a_refund_leaves_nothing_when_the_estimate_is_gone(platform: SimulatedPlatform) -> None:
    first = admit(platform, bound(token_limit=RateLimit("1000/min")), cost=600)
    claim, key = platform.run(first.id), f"{platform.prefix}tokens:acme"
    platform.client.delete(key)
    platform.release(claim, tokens=150)
    assert not platform.client.exists(key)
    assert tokens_left(platform) == 1000


def test_a_request_that_used_more_than_its_estimate_counts_for_it(platform: SimulatedPlatform) -> None:
    first = admit(platform, bound(token_limit=RateLimit("1000/min")), cost=100)
    platform.release(platform.run(first.id), tokens=400)
    assert tokens_left(platform) == 600


@pytest.mark.parametrize("way", ["cancelled", "too late"])
def test_a_request_that_never_ran_counts_for_nothing(platform: SimulatedPlatform, way: str) -> None:
    admit(platform, bound(), model="alpha")  # takes the slot
    waiting = admit(
        platform,
        bound(token_limit=RateLimit("1000/min")),
        cost=900,
        time_limit_ms=1000 if way == "too late" else None,
    )
    assert tokens_left(platform) == 100
    if way == "cancelled":
        platform.ledger.cancel(waiting.id, "acme")
    else:
        platform.advance_time(2)
        platform.expire()
    assert platform.status(waiting.id) in {"cancelled", "failed"}
    assert tokens_left(platform) == 1000


def test_a_request_that_failed_without_a_count_keeps_its_estimate(platform: SimulatedPlatform) -> None:
    first = admit(platform, bound(token_limit=RateLimit("1000/min")), cost=300)
    platform.release(platform.run(first.id), Status.FAILED, code="engine_error")
    assert tokens_left(platform) == 700


def test_an_end_after_the_window_refunds_nothing(platform: SimulatedPlatform) -> None:
    limits = bound(token_limit=RateLimit("1000/min"))
    first = admit(platform, limits, cost=900)
    claim = platform.run(first.id)
    platform.run_for(62, "w1")
    admit(platform, limits, cost=1000)
    platform.release(claim, tokens=1)
    assert tokens_left(platform) == 0
    assert list(platform.client.hgetall(f"{platform.prefix}tokens:acme").values()) == [b"1000"]


def test_a_refund_leaves_the_window_with_its_request(platform: SimulatedPlatform) -> None:
    first = admit(platform, bound(token_limit=RateLimit("1000/min")), cost=900)
    claim = platform.run(first.id)
    platform.run_for(40, "w1")
    platform.release(claim, tokens=100)
    assert tokens_left(platform) == 900
    platform.advance_time(22)
    assert tokens_left(platform) == 1000


def test_no_window_has_one_token_too_many(platform: SimulatedPlatform) -> None:
    chance, limit = random.Random(7), RateLimit("1000/min")
    admitted: list[tuple[int, int]] = []
    for _ in range(300):
        cost = chance.choice([1, 40, 333, 999])
        try:
            id = admit(platform, bound(token_limit=limit), cost=cost).id
        except RateLimited as error:
            if chance.random() < 0.5:
                platform.advance_time(error.retry_after_s or 0)
                id = admit(platform, bound(token_limit=limit), cost=cost).id  # as the answer said
            else:
                platform.advance_time(chance.choice([0.2, 1.1, 7.0]))
                continue
        admitted.append((int(platform.field(id, "admitted_us")), cost))
    for at, _ in admitted:
        inside = sum(cost for time, cost in admitted if at <= time < at + 60_000_000)
        assert inside <= 1000
    assert len(platform.client.hgetall(f"{platform.prefix}tokens:acme")) <= 62


@pytest.mark.parametrize(("before", "after"), [("1000/min", "1000/hour"), ("1000/hour", "1000/min")])
def test_tokens_of_a_limit_with_another_window_do_not_count(
    platform: SimulatedPlatform, before: str, after: str
) -> None:
    earlier = admit(platform, bound(token_limit=RateLimit(before)), cost=900)
    claim = platform.run(earlier.id)
    for remaining in (990, 980):
        state = admit(platform, bound(token_limit=RateLimit(after)), cost=10).limits[0]
        assert state.remaining == remaining
        assert state.reset_s < 2 * RateLimit(after).window_s
    platform.release(claim, tokens=1)
    assert tokens_left(platform, after) == 980


def test_tokens_refuse_nothing_for_longer_than_the_window_when_the_clock_is_set_back(
    platform: SimulatedPlatform,
) -> None:
    limits = bound(token_limit=RateLimit("1000/min"))
    admit(platform, limits, cost=1000)
    platform.advance_time(-3600)
    assert admit(platform, limits, cost=400).limits[0].remaining == 600


def test_a_request_for_more_than_the_limit_is_never_admitted(platform: SimulatedPlatform) -> None:
    error = refusal(platform, bound(token_limit=RateLimit("1000/min")), cost=1001)
    assert isinstance(error, BeyondTokenLimit)
    assert error.details == {"limit": 1000, "remaining": 1000}
    assert error.retry_after_s is None
    assert "may take 1001 tokens" in error.message
    assert "1000/min" in error.message


# ---- callers whose names are no tenants'


@pytest.mark.rule("runner/default-rate-limit")
@pytest.mark.parametrize("limit", [SMALL, RateLimit("3000/day")])
def test_each_unknown_name_has_the_limit_to_itself_and_is_named_in_its_refusal(
    platform: SimulatedPlatform, limit: RateLimit
) -> None:
    at_once = 10 if limit is SMALL else 300
    for _ in range(at_once):
        admit(platform, bound(rate_limit=limit), unknown_name="x")
    refused = refusal(platform, bound(rate_limit=limit), unknown_name="x")
    assert refused.message.startswith("Tenant x exceeded ")
    job = Job("r", "acme", "alpha", "test", b"{}", b"{}", limits=bound(rate_limit=limit), unknown_name="x")
    with pytest.raises(RateLimited, match="Tenant x exceeded"):
        platform.ledger.scripts.execute(check_limits(job, bound(rate_limit=limit), platform.settings))
    assert remaining(admit(platform, bound(rate_limit=limit), unknown_name="y").limits) == at_once - 1
    assert remaining(admit(platform, bound(rate_limit=limit)).limits) == at_once - 1, "of the tenant itself"


@pytest.mark.rule("runner/default-rate-limit")
def test_names_beyond_the_bound_share_one_limit_until_others_are_idle_for_a_window(
    platform: SimulatedPlatform,
) -> None:
    limits = bound(rate_limit=SMALL)
    for number in range(1000):
        admit(platform, limits, unknown_name=f"n{number}")
    for number in range(10):
        admit(platform, limits, unknown_name=f"further{number}")
    assert refusal(platform, limits, unknown_name="another").message.startswith("Tenant another exceeded ")
    assert remaining(admit(platform, limits, unknown_name="n7").limits) == 8, "it was tracked before"
    platform.advance_time(62)
    assert remaining(admit(platform, limits, unknown_name="another").limits) == 9
    assert remaining(admit(platform, limits, unknown_name="third").limits) == 9
    key = f"{platform.prefix}named_callers"
    assert platform.client.zcard(key) == 2
    assert 0 < platform.client.ttl(key) <= 63


def test_the_tokens_of_an_unknown_name_are_its_own_and_become_true_at_the_end(
    platform: SimulatedPlatform,
) -> None:
    limits = bound(token_limit=RateLimit("1000/min"))
    id = admit(platform, limits, cost=900, unknown_name="x").id
    assert refusal(platform, limits, cost=200, unknown_name="x").message.startswith("Tenant x exceeded ")
    assert remaining(admit(platform, limits, cost=900, unknown_name="y").limits) == 100
    platform.release(platform.run(id), finish_reason="stop", tokens=100)
    assert remaining(admit(platform, limits, cost=200, unknown_name="x").limits) == 700


def test_an_unknown_name_without_a_limit_leaves_no_trace(platform: SimulatedPlatform) -> None:
    admit(platform, bound(), unknown_name="x")
    assert not platform.client.keys(f"{platform.prefix}named_callers")
    assert not platform.client.keys(f"{platform.prefix}rate*")
