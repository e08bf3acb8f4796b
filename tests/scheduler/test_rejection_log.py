"""Refused requests of tenants are counted once over all API processes, and are forgotten after an hour."""

from __future__ import annotations

import pytest
import redis

from config.settings import Settings
from scheduler.counters import CounterStore, report
from scheduler.rejection_log import RejectionLog, TenantRejections

BUSY = {("acme", "server_busy"): 2, ("acme", "queue_full"): 1}
MINUTE_US = 60_000_000


@pytest.fixture
def store(client: redis.Redis, settings: Settings) -> CounterStore:
    return CounterStore(client, settings)


@pytest.fixture
def reader(client: redis.Redis, settings: Settings) -> RejectionLog:
    return RejectionLog(client, settings)


def test_reports_of_several_processes_are_added_and_repeats_are_not(
    store: CounterStore, reader: RejectionLog
) -> None:
    for process, number in (("one", 1), ("one", 1), ("two", 1), ("one", 2)):
        store.execute(
            report(process, number, {}, {"refusals server_busy": 2}, BUSY | {("b", "server_busy"): 1})
        )
    counts = {"server_busy": 6, "queue_full": 3}
    assert reader.read() == {
        "acme": TenantRejections(counts, counts),
        "b": TenantRejections({"server_busy": 3}, {"server_busy": 3}),
    }
    found = {tuple(labels): count for labels, count in store.read().of_kind("tenant_refusals")}
    assert found == {("acme", "server_busy"): 6, ("acme", "queue_full"): 3, ("b", "server_busy"): 3}


def test_counts_leave_the_last_minutes_and_then_the_last_hour(
    store: CounterStore, reader: RejectionLog
) -> None:
    store.execute(report("one", 1, {}, {}, BUSY))
    minutes = {age: reader.read(age * MINUTE_US).get("acme") for age in (3, 6, 50, 66)}
    counts = {"server_busy": 2, "queue_full": 1}
    assert minutes == {
        3: TenantRejections(counts, counts),
        6: TenantRejections({}, counts),
        50: TenantRejections({}, counts),
        66: None,
    }


def test_the_hashes_end_after_their_time(
    store: CounterStore, client: redis.Redis, settings: Settings
) -> None:
    store.execute(report("one", 1, {}, {}, BUSY))
    prefix = f"{{{settings.redis.prefix}}}:"
    lives = {
        key.decode().removeprefix(prefix).split(":")[0]: client.ttl(key)
        for key in client.keys(f"{prefix}refusals*")
    }
    assert lives.keys() == {"refusals", "refusals_by_part"}
    assert 300 < lives["refusals"] <= 360
    assert 3600 < lives["refusals_by_part"] <= 3900


def test_a_hash_takes_at_most_2000_tenants_and_codes(store: CounterStore, reader: RejectionLog) -> None:
    store.execute(report("one", 1, {}, {}, {(f"t{number}", "queue_full"): 1 for number in range(2001)}))
    store.execute(report("one", 2, {}, {}, {("t7", "queue_full"): 1, ("new", "queue_full"): 1}))
    found = reader.read()
    assert len(found) == 2000
    assert found["t7"].last_hour == {"queue_full": 2}
    assert "new" not in found
