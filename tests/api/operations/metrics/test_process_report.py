"""What an API process counts reaches Redis once, also when replies are lost and when the process ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest
import redis

from api.http.rejection_counts import REJECTIONS, count_rejection
from api.operations.metrics.process_report import ProcessReport
from config.settings import Settings
from scheduler.counters import CounterStore
from store.async_connection import AsyncConnection
from store.calls import Call
from store.errors import FailedInQueue, ServerBusy, StorageUnavailable
from tests.support.waiting import scaled

BUSY = ServerBusy("busy")


@pytest.fixture(autouse=True)
def _no_earlier_refusals() -> Iterator[None]:
    REJECTIONS.take()
    yield
    REJECTIONS.take()


@pytest.fixture
def store(client: redis.Redis, settings: Settings) -> CounterStore:
    return CounterStore(client, settings)


def refusals(store: CounterStore) -> dict[str, int]:
    return {labels[0]: count for labels, count in store.read().of_kind("refusals")}


def report_of(settings: Settings, store: CounterStore) -> ProcessReport:
    return ProcessReport(AsyncConnection(settings), store, settings.redis.prefix, ["stream"])


async def run_until(report: ProcessReport, condition: Callable[[], object]) -> None:
    task = asyncio.create_task(report.run())
    async with asyncio.timeout(scaled(10)):
        while not condition():
            await asyncio.sleep(0.01)
    task.cancel()


def test_refusals_and_gauges_are_reported(
    settings: Settings, store: CounterStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.operations.metrics.process_report.INTERVAL_S", 0.02)
    report = report_of(settings, store)
    report.connections = [1, 2, 3]
    for _ in range(3):
        count_rejection(BUSY)
    asyncio.run(run_until(report, lambda: refusals(store) == {"server_busy": 3}))
    (gauges,) = store.read().processes
    assert (gauges["connections"], gauges["streams"]) == (3, 1)
    assert 0 <= gauges["loop_lag_s"] < 5


def test_a_report_whose_reply_is_lost_counts_once(
    settings: Settings, store: CounterStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.operations.metrics.process_report.INTERVAL_S", 0.02)
    report = report_of(settings, store)
    execute, lost = report._scripts.execute, []

    async def lose(command: Call[None]) -> object:
        reply = await execute(command)
        if len(lost) < 2:
            if not lost:
                count_rejection(BUSY)  # while the first report is repeated
            lost.append(reply)
            raise StorageUnavailable("the reply was lost")
        return reply

    monkeypatch.setattr(report._scripts, "execute", lose)
    count_rejection(BUSY)

    asyncio.run(run_until(report, lambda: refusals(store).get("server_busy", 0) >= 2))
    report.finish()
    assert refusals(store) == {"server_busy": 2}


def test_the_last_counts_are_reported_when_the_process_ends(settings: Settings, store: CounterStore) -> None:
    report = report_of(settings, store)
    count_rejection(BUSY)
    report.finish()
    assert refusals(store) == {"server_busy": 1}


def test_the_end_of_an_admitted_job_is_no_refusal() -> None:
    count_rejection(FailedInQueue("too late", code="queue_timeout"))
    assert not REJECTIONS.take()
