"""The history of requests on a real ledger: its records, its filters and pages, and its bounds."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import orjson
import pytest
import redis

from config.settings import HistorySettings, QueueSettings, Settings
from scheduler import request_history
from scheduler.counters import CounterStore, report
from scheduler.job import Status
from scheduler.request_history import (
    RecordCursor,
    RecordFilter,
    RecordPage,
    RefusedRequest,
    RequestRecord,
    list_requests,
    read_request,
)
from streams.events import Usage
from tests.support.simulated_platform import SimulatedPlatform

CLIENT = orjson.dumps({"userAgent": "curl/8.5 (a comment)", "requestId": "req_1"})


@pytest.fixture
def platform(client: redis.Redis, settings: Settings) -> SimulatedPlatform:
    """One worker and one model with two slots."""
    queue = QueueSettings(max_depth=1000, max_depth_per_tenant=1000)
    platform = SimulatedPlatform(client, replace(settings, queue=queue))
    platform.register()
    platform.load()
    return platform


def page(
    platform: SimulatedPlatform, cursor: RecordCursor | None = None, most: int = 100, **wanted: Any
) -> RecordPage:
    return platform.ledger.scripts.execute(
        list_requests(RecordFilter(**wanted), cursor, most, platform.settings.history)
    )


def records(platform: SimulatedPlatform, **wanted: Any) -> list[RequestRecord]:
    return list(page(platform, **wanted).records)


def serve(platform: SimulatedPlatform, tenant: str = "acme", **release: object) -> str:
    id = platform.admit(tenant, client=CLIENT)
    platform.release(platform.run(id), **release)  # type: ignore[arg-type]
    return id


def write_ends(platform: SimulatedPlatform, tenant: str, count: int, *, first: int = 0) -> None:
    """List ended jobs of a tenant as `finish_job` does, and let the reaper count them."""
    now_us = int(platform.client.time()[0]) * 1_000_000  # type: ignore[index]
    with platform.client.pipeline(transaction=False) as pipeline:
        for number in range(first, first + count):
            kept = f"{tenant}-{number} {now_us + number} {now_us} {now_us} chat w1 alpha#1 - - "
            counted = f"{tenant} alpha normal completed - stop 1 5 7 3 1 {{}}"
            pipeline.xadd(f"{platform.prefix}ended", {"e": counted, "r": kept})
        pipeline.execute()
    for _ in range(count // 250 + 1):
        platform.expire()


def bytes_of_all(platform: SimulatedPlatform) -> dict[str, int]:
    found = platform.client.hgetall(f"{platform.prefix}request_bytes")
    return {name.decode(): int(value) for name, value in found.items()}  # type: ignore[union-attr]


def test_an_ended_job_leaves_a_record_with_its_times_and_tokens(platform: SimulatedPlatform) -> None:
    blockers = [platform.run(platform.admit("other")) for _ in range(2)]
    id = platform.admit(client=CLIENT)
    platform.advance_time(4)
    platform.release(blockers[0])
    claim = platform.run(id)
    platform.advance_time(2)
    usage = Usage(100, 20, 60)
    platform.release(claim, finish_reason="stop", usage=usage.encode(), tokens=120, first_ms=300)
    assert records(platform, tenant="acme") == []
    platform.expire()
    (record,) = records(platform, tenant="acme")
    assert (record.id, record.model, record.dialect, record.priority) == (id, "alpha", "test", "normal")
    assert (record.status, record.code, record.finish_reason) == ("completed", None, "stop")
    assert record.admitted_at is not None
    assert record.dispatched_at is not None
    assert 4 <= record.dispatched_at - record.admitted_at < 5
    assert 2 <= record.ended_at - record.dispatched_at < 3
    assert (record.first_ms, record.load_ms, record.dispatches, record.moved_from) == (300, None, 1, None)
    assert (record.worker, record.replica) == ("w1", claim.replica)
    assert {name: record.usage[name] for name in ("input_tokens", "output_tokens", "cached_tokens")} == {
        "input_tokens": 100,
        "output_tokens": 20,
        "cached_tokens": 60,
    }
    assert record.client == orjson.loads(CLIENT)
    assert platform.ledger.scripts.execute(read_request(id)) == record
    assert platform.ledger.scripts.execute(read_request("resp_unknown")) is None


def test_a_record_has_neither_the_request_nor_the_message_of_its_error(platform: SimulatedPlatform) -> None:
    id = platform.admit(generation=b'{"secret prompt": 1}', echo=b'{"secret echo": 1}')
    platform.release(platform.run(id), Status.FAILED, code="engine_error", message="secret message")
    platform.expire()
    (text,) = platform.client.hvals(f"{platform.prefix}requests:acme")  # type: ignore[misc]
    assert b"engine_error" in text
    assert b"secret" not in text


def test_the_time_until_the_replica_is_up_is_a_part_of_the_wait(platform: SimulatedPlatform) -> None:
    id = platform.admit(model="beta", load_on_demand=True)
    platform.advance_time(5)
    platform.load("beta")
    platform.release(platform.run(id))
    platform.expire()
    (record,) = records(platform, model="beta")
    assert record.load_ms is not None
    assert 5000 <= record.load_ms < 6000
    assert records(platform, model="alpha") == []


def test_a_job_that_lost_its_replica_names_it(platform: SimulatedPlatform) -> None:
    platform.register("w2")
    platform.load("beta", slots=1, replicas=2)
    id = platform.admit(model="beta")
    lost, worker = platform.field(id, "replica"), platform.field(id, "worker")
    platform.crash(lost, worker)
    platform.release(platform.run(id, platform.field(id, "worker")))
    platform.expire()
    (record,) = records(platform, model="beta")
    assert (record.dispatches, record.moved_from) == (2, lost)
    assert record.replica not in (lost, None)


def test_a_job_that_ends_in_the_queue_has_no_dispatch(platform: SimulatedPlatform) -> None:
    for _ in range(2):
        platform.admit("other")
    waiting = platform.admit()
    platform.ledger.cancel(waiting, "acme")
    platform.expire()
    (record,) = records(platform, status="cancelled")
    assert (record.id, record.dispatched_at, record.dispatches, record.replica) == (waiting, None, 0, None)


@pytest.mark.parametrize("most", [1, 3, 100])
def test_the_pages_have_each_record_once_the_latest_end_first(platform: SimulatedPlatform, most: int) -> None:
    ended = []
    for number in range(7):
        ended.append(serve(platform, f"tenant{number % 3}"))
        platform.advance_time(1)
    waiting = sorted(platform.admit("acme", model="beta", load_on_demand=True) for _ in range(40))
    platform.ledger.cancel_tenant("acme", "beta")  # all of them end at the same time
    platform.expire()
    found, cursor = [], None
    for _ in range(60):
        answer = page(platform, cursor, most)
        assert len(answer.records) <= most
        found += [record.id for record in answer.records]
        cursor = answer.following
        if cursor is None:
            break
    assert found == [*reversed(waiting), *reversed(ended)]


def test_filters_choose_by_tenant_model_status_code_and_end(platform: SimulatedPlatform) -> None:
    first = serve(platform)
    platform.advance_time(10)
    failed = serve(platform, status=Status.FAILED, code="engine_error")
    other = serve(platform, "other")
    platform.expire()
    ended = {record.id: int(record.ended_at * 1e6) for record in records(platform)}

    def found(**wanted: Any) -> list[str]:
        return [record.id for record in records(platform, **wanted)]

    assert found() == [other, failed, first]
    assert found(tenant="acme") == [failed, first]
    assert found(tenant="nowhere") == found(model="beta") == []
    assert found(status="failed") == found(code="engine_error") == [failed]
    assert found(tenant="acme", status="completed") == [first]
    middle = (ended[first] + ended[failed]) // 2
    assert found(since_us=middle) == [other, failed]
    assert found(until_us=middle) == [first]


def test_a_page_looks_at_a_bounded_number_of_records(
    platform: SimulatedPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_history, "MAX_READ", 10)
    write_ends(platform, "acme", 25)
    sizes, cursor = [], None
    for _ in range(4):
        answer = page(platform, cursor, code="engine_error")
        sizes.append(len(answer.records))
        cursor = answer.following
        if cursor is None:
            break
    assert sizes == [0, 0, 0]


def test_a_tenant_with_many_requests_pushes_out_its_own_records_only(platform: SimulatedPlatform) -> None:
    mine = serve(platform)
    platform.expire()
    write_ends(platform, "hog", 5_100)
    platform.expire()
    assert platform.client.zcard(f"{platform.prefix}request_times:hog") == 5_000
    assert platform.client.hlen(f"{platform.prefix}requests:hog") == 5_000
    assert [record.id for record in records(platform, tenant="acme")] == [mine]
    assert page(platform, tenant="hog", most=1).records[0].id == "hog-5099"
    assert platform.ledger.scripts.execute(read_request("hog-0")) is None
    sizes = bytes_of_all(platform)
    assert sizes.pop("@all") == sum(sizes.values())
    assert sizes["hog"] == pytest.approx(5_000 * sizes["acme"], rel=0.5)


def test_the_largest_history_makes_room_when_all_together_are_too_large(platform: SimulatedPlatform) -> None:
    write_ends(platform, "hog", 2_000)
    write_ends(platform, "small", 20)
    # as if other tenants had the rest of the 64 MiB
    platform.client.hset(f"{platform.prefix}request_bytes", "@all", 64 * 1024 * 1024)
    write_ends(platform, "small", 1, first=20)
    counts = [platform.client.zcard(f"{platform.prefix}request_times:{name}") for name in ("hog", "small")]
    assert counts == [1_750, 21]


def test_bytes_of_records_that_redis_lost_are_forgotten(platform: SimulatedPlatform) -> None:
    write_ends(platform, "gone", 300)
    platform.client.delete(*(f"{platform.prefix}{name}:gone" for name in ("requests", "request_times")))
    platform.client.hset(
        f"{platform.prefix}request_bytes", mapping={"gone": 64 * 1024 * 1024, "@all": 64 * 1024 * 1024}
    )
    write_ends(platform, "small", 1)
    sizes = bytes_of_all(platform)
    assert sizes.keys() == {"small", "@all"}
    assert sizes["@all"] == sizes["small"]


def test_the_tenant_that_was_silent_longest_makes_room_for_the_1001st(platform: SimulatedPlatform) -> None:
    silent = serve(platform, "silent")
    platform.expire()
    platform.advance_time(1)
    for first in range(0, 1000, 250):
        for number in range(first, first + 250):
            line = f"one-{number} 1 - - - - - - - "
            counted = f"tenant{number} alpha normal completed - stop 1 5 7 3 1 {{}}"
            platform.client.xadd(f"{platform.prefix}ended", {"e": counted, "r": line})
        platform.expire()
    assert platform.client.zcard(f"{platform.prefix}request_tenants") == 1000
    assert platform.ledger.scripts.execute(read_request(silent)) is None
    assert "silent" not in bytes_of_all(platform)


def test_a_tenant_whose_record_came_too_late_to_be_kept_is_forgotten(platform: SimulatedPlatform) -> None:
    end_late = "late alpha normal completed - stop 1 5 7 3 1 {}"
    platform.client.xadd(f"{platform.prefix}ended", {"e": end_late, "r": "late-1 1 1 1 chat w1 alpha#1 - - "})
    platform.expire()
    assert bytes_of_all(platform) == {"late": 0, "@all": 0}
    platform.advance_time(platform.settings.history.retention_s + 1)
    platform.expire()  # it only extends leases, after so long a time
    write_ends(platform, "acme", 1)
    assert bytes_of_all(platform).keys() == {"acme", "@all"}


def test_a_record_is_kept_for_a_week(platform: SimulatedPlatform) -> None:
    week_s = platform.settings.history.retention_s
    assert week_s == 7 * 86400

    def serve_after(seconds: float, tenant: str) -> str:
        platform.advance_time(seconds)
        for _ in range(2):  # the first one only extends leases, after so long a time
            platform.expire()
        platform.register()
        platform.load()
        id = serve(platform, tenant)
        platform.expire()
        return id

    silent, old = serve_after(0, "silent"), serve_after(0, "acme")
    later = serve_after(week_s - 60, "acme")
    assert [record.id for record in records(platform)] == [later, old, silent]
    platform.advance_time(120)
    assert [record.id for record in records(platform)] == [later]
    newest = serve_after(0, "acme")
    kept = platform.client.zrange(f"{platform.prefix}request_times:acme", 0, -1)
    assert kept == [later.encode(), newest.encode()]
    assert 0 < platform.client.ttl(f"{platform.prefix}requests:acme") <= week_s  # type: ignore[operator]
    sizes = bytes_of_all(platform)
    assert sizes.keys() == {"acme", "@all"}
    assert sizes["@all"] == sizes["acme"]


def test_a_history_has_the_bounds_of_the_settings(client: redis.Redis, settings: Settings) -> None:
    platform = SimulatedPlatform(client, replace(settings, history=HistorySettings(60, 3, 1_048_576)))
    platform.register()
    platform.load()
    write_ends(platform, "acme", 5)
    assert [record.id for record in records(platform)] == ["acme-4", "acme-3", "acme-2"]
    assert 0 < platform.client.ttl(f"{platform.prefix}requests:acme") <= 60  # type: ignore[operator]
    platform.client.hset(f"{platform.prefix}request_bytes", "@all", 1_048_576)  # as if others had the rest
    write_ends(platform, "small", 1)
    assert [record.id for record in records(platform)] == ["small-0"]
    platform.advance_time(61)
    assert records(platform) == []


def test_the_line_of_a_batch_that_ends_twice_has_one_record(platform: SimulatedPlatform) -> None:
    write_ends(platform, "acme", 1)
    before = bytes_of_all(platform)
    write_ends(platform, "acme", 1)
    assert len(records(platform)) == 1
    assert bytes_of_all(platform) == before


def test_entries_without_a_record_are_counted_alone(platform: SimulatedPlatform) -> None:
    line = "acme alpha normal completed - stop 1 5 7 - 1 {}"
    platform.client.xadd(f"{platform.prefix}ended", {"e": line})  # as an earlier version writes them
    platform.client.xadd(f"{platform.prefix}ended", {"e": "unreadable", "r": "unreadable"})
    platform.expire()
    assert records(platform) == []
    assert platform.client.xlen(f"{platform.prefix}ended") == 0


NUMBERS = itertools.count(1)


def refuse(platform: SimulatedPlatform, settings: Settings, *requests: RefusedRequest) -> None:
    command = report(f"process{next(NUMBERS)}", 1, {}, {}, {("acme", "queue_full"): 1}, requests)
    CounterStore(platform.client, settings).execute(command)


def test_refused_requests_come_with_the_report_of_their_process(
    platform: SimulatedPlatform, settings: Settings
) -> None:
    now_us = int(platform.client.time()[0]) * 1_000_000  # type: ignore[index]
    refused = RefusedRequest("req_1", "acme", "alpha", "queue_full", now_us, CLIENT)
    ahead = RefusedRequest("req_2", "acme", "a model\nof two lines", "unknown_model", now_us + 10**12)
    refuse(platform, settings, refused, ahead)
    later, record = records(platform)
    assert (record.id, record.status, record.code, record.model) == (
        "req_1",
        "refused",
        "queue_full",
        "alpha",
    )
    assert (record.admitted_at, record.dispatched_at, record.dispatches) == (None, None, 0)
    assert int(record.ended_at * 1e6) == now_us
    assert record.client == orjson.loads(CLIENT)
    assert (later.id, later.model) == ("req_2", None)
    assert later.ended_at < now_us / 1e6 + 60  # its clock is ahead of Redis'
    assert [found.id for found in records(platform, code="queue_full")] == ["req_1"]
