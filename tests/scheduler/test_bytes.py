"""The bytes of requests and stored responses: counted by tenant and in all, bounded, and given back."""

from __future__ import annotations

from dataclasses import replace

import pytest
import redis

from config.settings import ResponseSettings, Settings
from store.errors import StorageFull, TenantStorageFull
from tests.support.simulated_platform import SimulatedPlatform

KIB = 1024
LARGE = b"x" * (100 * KIB)


@pytest.fixture
def platform(client: redis.Redis, settings: Settings) -> SimulatedPlatform:
    """One worker and one model, with 250 KiB for each tenant and 450 KiB in all."""
    quotas = ResponseSettings(max_bytes_per_tenant=250 * KIB, max_bytes=450 * KIB)
    platform = SimulatedPlatform(client, replace(settings, responses=quotas))
    platform.register()
    platform.load()
    return platform


def counted(platform: SimulatedPlatform) -> dict[str, int]:
    stored = platform.client.hgetall(f"{platform.prefix}bytes")
    return {name.decode(): int(count) for name, count in stored.items()}  # type: ignore[union-attr]


def admit_large(platform: SimulatedPlatform, tenant: str = "acme", store: bool = True) -> str:
    return platform.admit(tenant, generation=LARGE, store=store)


def test_a_large_request_counts_from_its_admission_and_a_small_one_from_its_end(
    platform: SimulatedPlatform,
) -> None:
    small = platform.admit()
    assert counted(platform) == {}
    admit_large(platform)
    assert counted(platform).keys() == {"@all", "acme"}
    before = counted(platform)["acme"]
    claim = platform.run(small)
    platform.append_text(claim, 1, "word")
    platform.release(claim, log_bytes=1000)
    assert counted(platform)["acme"] == before
    platform.expire()  # which counts what has ended
    assert 1000 < counted(platform)["acme"] - before < 10_000


def test_a_small_request_with_a_large_log_counts_at_its_end(platform: SimulatedPlatform) -> None:
    claim = platform.run(platform.admit())
    platform.release(claim, log_bytes=100 * KIB)
    assert counted(platform)["acme"] > 100 * KIB
    before = counted(platform)
    platform.expire()
    assert counted(platform) == before


def test_a_tenant_at_its_limit_is_refused_and_others_are_not(platform: SimulatedPlatform) -> None:
    for _ in range(2):
        admit_large(platform)
    with pytest.raises(TenantStorageFull, match=r"responses\.max_bytes_per_tenant"):
        admit_large(platform)
    admit_large(platform, "other")


def test_answers_that_can_be_read_for_a_day_fill_the_bytes_of_their_tenant_alone(
    platform: SimulatedPlatform,
) -> None:
    for number in range(2):
        platform.release(platform.run(platform.admit(generation=LARGE, resume_id=f"talk-{number}")))
    with pytest.raises(TenantStorageFull):
        platform.admit(generation=LARGE, resume_id="talk-0")
    platform.release(platform.run(admit_large(platform, "other")))
    responses = platform.settings.responses
    for age_s, left in ((responses.retention_s, {"@all", "acme"}), (responses.resumable_retention_s, set())):
        platform.advance_time(age_s)
        platform.expire()  # extends leases alone, since it has not run for long
        platform.advance_time(1)
        platform.expire()
        assert counted(platform).keys() == left


def test_all_are_refused_when_all_bytes_are_at_their_limit(platform: SimulatedPlatform) -> None:
    for number in range(4):
        admit_large(platform, f"t{number}")
    with pytest.raises(StorageFull, match=r"responses\.max_bytes"):
        admit_large(platform, "t5")


def test_tenants_that_hold_all_that_they_may_leave_room_for_another_one(platform: SimulatedPlatform) -> None:
    for tenant, count in (("t1", 2), ("t2", 1)):
        for _ in range(count):
            admit_large(platform, tenant)
    with pytest.raises(
        TenantStorageFull, match=r"^tenant t2 uses 0 MiB, and may use as many as are free, 0 of"
    ):
        admit_large(platform, "t2")
    admit_large(platform, "t3")
    counts = counted(platform)
    assert sum(counts[name] for name in ("t1", "t2", "t3")) == counts["@all"] < 450 * KIB


def test_a_repeated_call_gets_its_job_although_the_limit_is_reached(platform: SimulatedPlatform) -> None:
    ids = [admit_large(platform) for _ in range(2)]
    again = platform.admit(id=ids[0], generation=LARGE)
    assert again == ids[0]
    assert counted(platform)["acme"] == 2 * (len(LARGE) + 2)


@pytest.mark.parametrize("way", ["deleted", "expired", "cancelled in the queue"])
def test_a_response_that_is_gone_gives_its_bytes_back(platform: SimulatedPlatform, way: str) -> None:
    if way == "cancelled in the queue":
        blockers = [platform.admit("other") for _ in range(2)]
        id = admit_large(platform)
        platform.ledger.cancel(id, "acme")
        for blocker in blockers:
            platform.release(platform.run(blocker))
    else:
        id = admit_large(platform)
        platform.release(platform.run(id))
    assert counted(platform)["acme"] > len(LARGE)
    if way == "deleted":
        assert platform.ledger.delete(id, "acme")
        platform.expire()
    else:
        platform.advance_time(platform.settings.responses.retention_s + 1)
        platform.expire()
    assert counted(platform) == {}
    assert platform.status(id) == "gone"


def test_a_response_that_is_not_stored_gives_its_request_back_at_its_end(platform: SimulatedPlatform) -> None:
    claim = platform.run(admit_large(platform, store=False))
    platform.release(claim)
    assert 0 < counted(platform)["acme"] < len(LARGE)


def test_many_responses_are_deleted_in_steps(platform: SimulatedPlatform) -> None:
    for _ in range(150):
        platform.release(platform.run(platform.admit(store=False)), log_bytes=0)
        platform.client.delete(f"{platform.prefix}bytes")
    platform.advance_time(61)
    assert platform.fleet.registry.expire().more
    platform.expire()
    assert platform.client.zcard(f"{platform.prefix}deadlines") == 0
