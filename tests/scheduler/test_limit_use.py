"""What a tenant uses of its limits is what the ledger admits, runs and queues."""

from __future__ import annotations

from dataclasses import replace

import pytest

from config.limits import Limits, limits_of
from config.rate_limit import RateLimit
from config.settings import Tenant
from scheduler import limit_use
from scheduler.limit_use import LimitUse, LimitUseReader
from store.errors import RateLimited
from tests.support.simulated_platform import SimulatedPlatform

ACME = Tenant("acme", max_running=4, max_waiting=2)


def limits(platform: SimulatedPlatform, tenant: Tenant = ACME) -> Limits:
    return limits_of(tenant, platform.settings)


def use_of(platform: SimulatedPlatform, tenant: Tenant = ACME) -> LimitUse:
    reader = LimitUseReader(platform.client, platform.settings)
    return reader.read({tenant.name: limits(platform, tenant)}, platform.settings.models)[tenant.name]


def test_running_and_waiting_jobs_are_those_of_the_tenant(platform: SimulatedPlatform) -> None:
    for tenant in ("acme", "acme", "other", "acme", "acme"):
        platform.admit(tenant, limits=limits(platform))
    use = use_of(platform)
    assert (use.running, use.waiting, use.longest_queue, use.model) == (2, 2, 2, "alpha")
    assert use.at_limit == ("waiting",)
    assert use_of(platform, Tenant("other")).waiting == 1
    assert use_of(platform, Tenant("none")).at_limit == ()


@pytest.mark.parametrize(("of_alpha", "of_beta"), [(1, 2), (2, 1)])
def test_the_model_of_a_queue_is_that_for_which_most_jobs_wait(
    platform: SimulatedPlatform, of_alpha: int, of_beta: int
) -> None:
    platform.load("beta")
    tenant = replace(ACME, max_running=None, max_waiting=10)
    for model, count in (("alpha", 2 + of_alpha), ("beta", 2 + of_beta)):
        for _ in range(count):
            platform.admit("acme", model=model, limits=limits(platform, tenant))
    use = use_of(platform, tenant)
    assert (use.running, use.waiting, use.longest_queue) == (4, 3, 2)
    assert use.model == ("alpha" if of_alpha > of_beta else "beta")


def test_a_tenant_at_its_bound_of_running_jobs_is_at_its_limit(platform: SimulatedPlatform) -> None:
    one = replace(ACME, max_running=1)
    platform.admit("acme", limits=limits(platform, one))
    assert use_of(platform, one).at_limit == ("running",)


@pytest.mark.parametrize(("text", "at_once"), [("3/min", 3), ("20000/hour", 2000)])
def test_requests_of_the_window_are_counted_for_both_kinds_of_limits(
    platform: SimulatedPlatform, text: str, at_once: int
) -> None:
    tenant = replace(ACME, rate_limit=RateLimit(text), max_waiting=10)
    unused = use_of(platform, tenant).requests
    assert unused is not None
    assert (unused.at_once, unused.remaining, unused.reset_s) == (at_once, at_once, 0)
    for _ in range(3):
        platform.admit("acme", limits=limits(platform, tenant))
    use = use_of(platform, tenant)
    assert use.requests is not None
    assert use.requests.remaining == at_once - 3
    assert use.requests.reset_s > 0
    assert use.at_limit == (("requests",) if at_once == 3 else ())


def test_tokens_of_the_window_are_counted(platform: SimulatedPlatform) -> None:
    tenant = replace(ACME, token_limit=RateLimit("100/min"))
    platform.admit("acme", cost=100, limits=limits(platform, tenant))
    use = use_of(platform, tenant)
    assert use.tokens is not None
    assert (use.tokens.at_once, use.tokens.remaining) == (100, 0)
    assert use.at_limit == ("tokens",)
    with pytest.raises(RateLimited):
        platform.admit("acme", cost=1, limits=limits(platform, tenant))


def content(platform: SimulatedPlatform) -> dict[bytes, bytes]:
    keys = platform.client.keys(f"{platform.prefix}*")
    return {key: platform.client.dump(key) for key in keys}


def test_a_read_changes_nothing(platform: SimulatedPlatform) -> None:
    tenant = replace(ACME, rate_limit=RateLimit("3/min"), token_limit=RateLimit("100000/min"))
    for _ in range(3):
        platform.admit("acme", limits=limits(platform, tenant))
    before = content(platform)
    use_of(platform, tenant)
    assert content(platform) == before


def test_more_tenants_than_one_call_reads_are_all_there(
    platform: SimulatedPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limit_use, "MAX_TENANTS", 2)
    platform.admit("t4")
    names = [f"t{number}" for number in range(5)]
    reader = LimitUseReader(platform.client, platform.settings)
    uses = reader.read(dict.fromkeys(names, limits(platform)), platform.settings.models)
    assert list(uses) == names
    assert [use.running for use in uses.values()] == [0, 0, 0, 0, 1]
    for _ in range(2):
        platform.admit("t4")
    jobs = reader.jobs(names, platform.settings.models)
    assert jobs == dict.fromkeys(names, (0, 0)) | {"t4": (2, 1)}
