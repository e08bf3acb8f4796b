"""Large requests are admitted one after the other, beside the other calls, and few of them wait."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from scheduler import large_admissions
from scheduler.job import Job
from scheduler.ledger import AsyncLedger
from store.async_connection import AsyncConnection
from store.errors import Rejected, ServerBusy
from tests.support.simulated_platform import SimulatedPlatform

Call = Callable[[Callable[[AsyncLedger], Awaitable[Any]]], Any]
LARGE = b"x" * 8_000_000


@pytest.fixture
def call(platform: SimulatedPlatform) -> Call:
    """Run a coroutine function with a ledger that has a connection for large requests, both connected."""

    def call(function: Callable[[AsyncLedger], Awaitable[Any]]) -> Any:
        async def run() -> Any:
            connections = [AsyncConnection(platform.settings) for _ in range(2)]
            try:
                for connection in connections:
                    await connection.exchange([("PING",)])
                return await function(AsyncLedger(connections[0], platform.settings, connections[1]))
            finally:
                for connection in connections:
                    await connection.close()

        return asyncio.run(run())

    return call


def large(id: str, tenant: str = "acme", generation: bytes = LARGE) -> Job:
    return Job(id, tenant, "alpha", "test", generation, b"{}")


def test_a_small_request_is_admitted_before_most_of_eight_large_ones_sent_before_it(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_admissions, "MAX_WAIT_S", 60)
    admitted: list[str] = []

    async def admit(ledger: AsyncLedger, job: Job) -> None:
        await ledger.admit(job)
        admitted.append(job.id)

    async def run(ledger: AsyncLedger) -> None:
        jobs = [*(large(f"large{n}") for n in range(8)), large("small", "other", b"{}")]
        await asyncio.gather(*(admit(ledger, job) for job in jobs))

    call(run)
    assert len(admitted) == 9
    assert admitted.index("small") <= 4


def test_large_requests_beyond_the_bound_are_refused_and_others_are_admitted(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_admissions, "MAX_WAITING_BYTES", 30_000_000)
    monkeypatch.setattr(large_admissions, "MAX_TENANT_BYTES", 20_000_000)

    async def run(ledger: AsyncLedger) -> list[Any]:
        jobs = [large(f"a{n}") for n in range(3)] + [large("b", "other"), large("c", "third")]
        outcomes = await asyncio.gather(*(ledger.admit(job) for job in jobs), return_exceptions=True)
        return [*outcomes, await ledger.admit(large("again"))]  # the bytes of the others are given back

    assert [outcome_of(outcome) for outcome in call(run)] == [
        "a0",
        "a1",
        ServerBusy,
        "b",
        ServerBusy,
        "again",
    ]


def test_a_large_request_is_refused_when_its_turn_does_not_come(
    call: Call, platform: SimulatedPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_admissions, "MAX_WAIT_S", 0.05)

    async def run(ledger: AsyncLedger) -> list[Any]:
        await asyncio.to_thread(platform.client.client_pause, 300)
        calls = (ledger.admit(large(id)) for id in ("first", "second"))
        return await asyncio.gather(*calls, return_exceptions=True)

    assert [outcome_of(outcome) for outcome in call(run)] == ["first", ServerBusy]


def outcome_of(outcome: Any) -> Any:
    """The id of an admitted job, or the type of a refusal."""
    return type(outcome) if isinstance(outcome, Rejected) else outcome.id
