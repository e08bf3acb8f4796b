"""The lease of the batches' runner, the admission of a line, and the records of batches."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduler.batches import BatchRow, BatchStore
from scheduler.job import Job, Status
from store.errors import Fenced, ModelNotLoaded
from tests.support.simulated_platform import SimulatedPlatform

LINE = Job("line_1", "default", "alpha", "chat", b"{}", b"{}", priority="low")


@pytest.fixture
def store(platform: SimulatedPlatform) -> BatchStore:
    return BatchStore(platform.client, platform.settings.redis.prefix)


def row(id: str = "batch_1", tenant: str = "default", kind: str = "openai") -> BatchRow:
    return BatchRow(id, tenant, kind, b"record", b"progress", 0)


def create(store: BatchStore, id: str = "batch_1", tenant: str = "default", kind: str = "openai") -> str:
    return store.create(row(id, tenant, kind), most_active=2, most=3)


def lose_lease(platform: SimulatedPlatform) -> None:
    platform.client.delete(f"{platform.prefix}batch_runner")


def test_one_process_is_the_runner_until_it_gives_the_lease_back(store: BatchStore) -> None:
    fence = store.hold("")
    assert fence is not None
    assert store.hold("") is None
    assert store.hold(fence) == fence
    assert store.hold("1", give_back=True) is None  # of another process
    assert store.hold("") is None
    assert store.hold(fence, give_back=True) is None
    later = store.hold("")
    assert later is not None
    assert int(later) > int(fence)


def test_a_runner_whose_lease_has_ended_does_not_get_it_back(
    platform: SimulatedPlatform, store: BatchStore
) -> None:
    fence = store.hold("") or ""
    assert 0 < platform.client.pttl(f"{platform.prefix}batch_runner") <= 10_000
    lose_lease(platform)
    assert store.hold(fence) is None
    assert store.hold("") is not None


def test_a_line_has_one_job_for_each_call_and_each_runner(
    platform: SimulatedPlatform, store: BatchStore
) -> None:
    first = replace(LINE, batch_fence=store.hold("") or "")
    assert not platform.ledger.admit(first).replayed
    assert platform.ledger.admit(first).replayed
    lose_lease(platform)
    second = replace(LINE, batch_fence=store.hold("") or "")
    assert platform.ledger.admit(second).replayed
    with pytest.raises(Fenced):
        platform.ledger.admit(first)
    claim = platform.run(LINE.id)
    platform.release(claim)
    assert platform.ledger.admit(second).replayed, "the job stays after its end"
    assert platform.field(LINE.id, "attempts") == "1"


def test_counters_change_with_the_progress_only(platform: SimulatedPlatform, store: BatchStore) -> None:
    create(store)
    fence = store.hold("") or ""
    counts = {"batch_lines openai succeeded": 2, "batch_lines openai errored": 1}
    store.update("batch_1", fence, b"{}", ["unknown"], counts=counts)
    store.update("batch_1", fence, b"{}", counts={"batch_lines openai succeeded": 1})
    with pytest.raises(Fenced):
        store.update("batch_1", "1", b"{}", counts=counts)
    with pytest.raises(LookupError):
        store.update("batch_2", fence, b"{}", counts=counts)
    found = platform.client.hmget(f"{platform.prefix}counters", *counts)
    assert found == [b"3", b"1"]


def test_a_former_runner_admits_nothing_and_deletes_nothing(
    platform: SimulatedPlatform, store: BatchStore
) -> None:
    create(store)
    old = store.hold("") or ""
    platform.ledger.admit(replace(LINE, batch_fence=old))
    platform.release(platform.run(LINE.id))
    lose_lease(platform)
    new = store.hold("") or ""
    with pytest.raises(Fenced):
        store.update("batch_1", old, b"{}", [LINE.id], ended=True)
    with pytest.raises(Fenced):
        platform.ledger.admit(replace(LINE, id="line_2", batch_fence=old))
    assert platform.ledger.lookup("line_2", "default") is None
    assert platform.ledger.lookup(LINE.id, "default") is not None
    store.update("batch_1", new, b"{}", [LINE.id])
    assert platform.ledger.lookup(LINE.id, "default") is None
    assert platform.client.zscore(f"{platform.prefix}deadlines", LINE.id) is None


def test_a_job_that_has_not_ended_is_not_deleted(platform: SimulatedPlatform, store: BatchStore) -> None:
    create(store)
    fence = store.hold("") or ""
    platform.ledger.admit(replace(LINE, batch_fence=fence))
    store.update("batch_1", fence, b"{}", [LINE.id, "unknown"])
    found = platform.ledger.lookup(LINE.id, "default")
    assert found is not None
    assert found.status is Status.RUNNING


def test_a_refused_line_has_no_job(platform: SimulatedPlatform, store: BatchStore) -> None:
    with pytest.raises(ModelNotLoaded):
        platform.ledger.admit(replace(LINE, model="beta", batch_fence=store.hold("") or ""))
    assert platform.ledger.lookup(LINE.id, "default") is None


def test_a_line_waits_and_is_kept_as_long_as_its_batch_asks(
    platform: SimulatedPlatform, store: BatchStore
) -> None:
    line = replace(LINE, batch_fence=store.hold("") or "", max_wait_ms=3_600_000, retention_s=90_000)
    ids = [f"line_{at}" for at in range(3)]
    for id in ids:
        platform.ledger.admit(replace(line, id=id))
    platform.run_for(3500, "w1", every=500)
    assert platform.field(ids[2], "status") == "queued"
    for id in ids[:2]:
        assert platform.field(id, "retention_s") == "90000"


def test_lines_go_behind_requests_that_come_later(platform: SimulatedPlatform, store: BatchStore) -> None:
    line = replace(LINE, batch_fence=store.hold("") or "")
    for at in range(4):
        platform.ledger.admit(replace(line, id=f"line_{at}"))
    request = platform.admit()
    claim = platform.run("line_0")
    platform.release(claim)
    assert platform.field(request, "status") == "running"
    assert platform.field("line_2", "status") == "queued"


def test_the_number_of_batches_of_a_tenant_is_bounded(platform: SimulatedPlatform, store: BatchStore) -> None:
    assert create(store, "batch_1") == "ok"
    assert create(store, "batch_1") == "ok", "a repeated call"
    assert create(store, "batch_2") == "ok"
    assert create(store, "batch_3") == "active"
    assert create(store, "batch_4", "other") == "ok"
    fence = store.hold("") or ""
    store.update("batch_1", fence, b"done", ended=True)
    assert create(store, "batch_3") == "ok"
    store.update("batch_2", fence, b"done", ended=True)
    assert create(store, "batch_5") == "all"
    assert [found.id for found in store.active()] == ["batch_4", "batch_3"]
    assert [found.id for found in store.of_tenant("default", "openai")] == ["batch_3", "batch_2", "batch_1"]
    assert store.of_tenant("default", "messages") == []
    assert platform.client.ttl(f"{platform.prefix}batch:batch_1") > 30 * 86_400


def test_a_cancel_reaches_the_runner_and_only_a_batch_that_has_not_ended(store: BatchStore) -> None:
    create(store)
    fence = store.hold("") or ""
    assert store.update("batch_1", fence, b"{}") is None
    assert not store.cancel("batch_1", "other")
    assert store.cancel("batch_1", "default")
    (active,) = store.active()
    assert active.cancel_us is not None
    assert store.cancel("batch_1", "default")
    assert store.update("batch_1", fence, b"done", ended=True) == active.cancel_us, "the first time counts"
    create(store, "batch_2")
    store.update("batch_2", fence, b"done", ended=True)
    store.cancel("batch_2", "default")
    found = store.get("batch_2")
    assert found is not None
    assert found.cancel_us is None


def test_a_record_is_deleted_by_its_tenant_after_the_end(store: BatchStore) -> None:
    create(store)
    fence = store.hold("") or ""
    assert store.delete("batch_1", "default") == "active"
    assert store.delete("batch_1", "other") == "unknown"
    store.update("batch_1", fence, b"{}", ended=True)
    assert store.delete("batch_1", "default") == "ok"
    assert store.exist(["batch_1"]) == [False]
    with pytest.raises(LookupError):
        store.update("batch_1", fence, b"{}")
    assert not store.any_active()
