"""The ledger for coroutines makes the same calls as the one for threads."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
import redis

from config.limits import limits_of
from config.rate_limit import RateLimit
from config.settings import Settings, Tenant
from scheduler.job import Admission, AppendRequest, Job, Release, Status
from scheduler.ledger import AsyncLedger
from store.async_connection import AsyncConnection
from store.errors import (
    BeyondTokenLimit,
    Fenced,
    IdempotencyConflict,
    ModelNotLoaded,
    RateLimited,
    StorageUnavailable,
)
from streams.events import TextDelta
from tests.support.simulated_platform import SimulatedPlatform

Call = Callable[[Callable[[AsyncLedger], Awaitable[Any]]], Any]


@pytest.fixture
def call(platform: SimulatedPlatform) -> Call:
    """Run a coroutine function with an asynchronous ledger."""

    def call(function: Callable[[AsyncLedger], Awaitable[Any]]) -> Any:
        async def run() -> Any:
            connection = AsyncConnection(platform.settings)
            try:
                return await function(AsyncLedger(connection, platform.settings))
            finally:
                await connection.close()

        return asyncio.run(run())

    return call


def job(id: str, model: str = "alpha") -> Job:
    return Job(id, "acme", model, "test", b'{"a":1}', b'{"echo":1}')


def test_a_job_is_admitted_looked_up_and_cancelled(call: Call) -> None:
    ids = ["first", "second", "third"]

    async def run(ledger: AsyncLedger) -> tuple[Any, ...]:
        admissions = await asyncio.gather(*(ledger.admit(job(id)) for id in ids))
        row, strange = await ledger.lookup("third", "acme"), await ledger.lookup("third", "stranger")
        subscribed = await ledger.subscribe("first", "here")
        cancelled = await ledger.cancel("third", "acme"), await ledger.cancel("none", "acme")
        return admissions, row, strange, subscribed, cancelled

    admissions, row, strange, subscribed, cancelled = call(run)
    assert [admission.depth for admission in admissions] == [0, 0, 1]
    assert (row.status, row.echo, row.attempts) == (Status.QUEUED, b'{"echo":1}', 0)
    assert strange is None
    assert subscribed is Status.RUNNING
    assert cancelled == (Status.CANCELLED, None)


def test_a_stored_response_is_deleted_by_its_own_tenant_only(call: Call) -> None:
    async def run(ledger: AsyncLedger) -> tuple[Any, ...]:
        await ledger.admit(replace(job("first"), store=True))
        deleted = await ledger.delete("first", "stranger"), await ledger.delete("first", "acme")
        return *deleted, await ledger.delete("none", "acme"), await ledger.lookup("first", "acme")

    *deleted, row = call(run)
    assert deleted == [False, True, False]
    assert not row.store


def test_earlier_admission_of_a_key_is_found_for_the_same_body_of_the_tenant(call: Call) -> None:
    keyed = replace(job("first"), idempotency_key="k", body_hash="hash")
    cases = [
        replace(keyed, id="second"),
        replace(keyed, id="second", tenant="stranger"),
        replace(keyed, id="second", idempotency_key="other"),
        job("second"),
    ]

    async def run(ledger: AsyncLedger) -> list[Admission | None]:
        before = await ledger.earlier(keyed)
        await ledger.admit(keyed)
        found = [before, *[await ledger.earlier(one) for one in cases]]
        with pytest.raises(IdempotencyConflict):
            await ledger.earlier(replace(keyed, body_hash="another"))
        return found

    assert call(run) == [None, Admission("first", replayed=True), None, None, None]


@pytest.mark.parametrize("status", [Status.FAILED, Status.CANCELLED, Status.COMPLETED, None])
def test_earlier_admission_counts_when_its_job_has_a_result(
    platform: SimulatedPlatform, call: Call, status: Status | None
) -> None:
    keyed = {"idempotency_key": "k", "body_hash": "b"}
    id = platform.admit(**keyed)
    claim = platform.run(id)
    platform.ledger.cancel(id, "acme")
    if status is not None:
        platform.release(claim, status)
    found = call(lambda ledger: ledger.earlier(replace(job("second"), **keyed)))
    assert found == (Admission(id, replayed=True) if status is Status.COMPLETED else None)
    other = platform.admit()
    assert call(lambda ledger: ledger.have_results([other, id])) == (status is Status.COMPLETED)
    assert not call(lambda ledger: ledger.have_results([other, "gone"]))


def test_job_is_found_with_its_generation(call: Call) -> None:
    async def run(ledger: AsyncLedger) -> list[Any]:
        await ledger.admit(job("first"))
        return [await ledger.lookup_with_generation("first", tenant) for tenant in ("acme", "stranger")]

    found, strange = call(run)
    assert (found[0].id, found[1], strange) == ("first", b'{"a":1}', None)


def test_a_refusal_is_raised(call: Call) -> None:
    with pytest.raises(ModelNotLoaded):
        call(lambda ledger: ledger.admit(job("first", "beta")))


def test_a_worker_takes_claims_and_writes_steps(platform: SimulatedPlatform, call: Call) -> None:
    ids = [platform.admit() for _ in range(3)]
    incarnation = platform.incarnations["w1"]
    claim = platform.run(ids[0])

    async def run(ledger: AsyncLedger) -> tuple[Any, ...]:
        append = AppendRequest(claim.id, claim.replica, claim.fence, 1, (TextDelta("a").encode(),))
        release = Release(claim.id, claim.fence, Status.COMPLETED, last=1)
        reply = await ledger.step(incarnation, [append], [release])
        return (
            platform.ledger.claims_key(incarnation),
            reply,
            await ledger.take_claims("w1", incarnation, [ids[2]]),
        )

    key, reply, (unknown,) = call(run)
    assert key == platform.ledger.claims_key(incarnation)
    assert (reply.stopped, [one.id for one in reply.claims]) == ({}, [ids[2]])
    assert unknown == platform.run(ids[1])
    assert platform.log(claim.id)[0] == TextDelta("a")
    assert platform.end(claim.id).status == "completed"


def test_a_former_incarnation_takes_no_claims(platform: SimulatedPlatform, call: Call) -> None:
    old = platform.incarnations["w1"]
    platform.register("w1")
    with pytest.raises(Fenced):
        call(lambda ledger: ledger.take_claims("w1", old, []))


class LosesEveryReply:
    """Executes commands, and loses their replies."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection
        self.calls = 0

    async def exchange(self, commands: Any, **_options: float) -> list[Any]:
        self.calls += 1
        await self._connection.exchange(commands)
        raise redis.ConnectionError("the reply was lost")


def test_a_step_is_repeated_by_its_caller_only(platform: SimulatedPlatform, call: Call) -> None:
    platform.ledger.scripts.load()
    claim = platform.run(platform.admit())

    async def run(ledger: AsyncLedger) -> tuple[int, int]:
        connection = LosesEveryReply(ledger.scripts._connection)
        ledger.scripts._connection = connection  # type: ignore[assignment]
        release = Release(claim.id, claim.fence, Status.COMPLETED)
        with pytest.raises(StorageUnavailable):
            await ledger.step(platform.incarnations["w1"], [], [release])
        steps = connection.calls
        with pytest.raises(StorageUnavailable):
            await ledger.take_claims("w1", platform.incarnations["w1"], [])
        return steps, connection.calls - steps

    assert call(run) == (1, 2)
    assert platform.end(claim.id).status == "completed"


def test_limits_are_looked_at_without_counting_the_request(call: Call) -> None:
    bounds = replace(limits_of(Tenant("acme"), Settings()), rate_limit=RateLimit("2req/min"))

    async def run(ledger: AsyncLedger) -> list[str]:
        asked = replace(job("first"), limits=bounds)
        for _ in range(3):
            await ledger.check_limits(asked)
        await ledger.admit(asked)
        await ledger.admit(replace(job("second"), limits=bounds))
        found = []
        for limits in (bounds, replace(bounds, rate_limit=None, token_limit=RateLimit("10tokens/min"))):
            try:
                await ledger.check_limits(replace(job("third"), limits=limits))
            except (RateLimited, BeyondTokenLimit) as error:
                found.append(f"{error} {error.retry_after_s} {error.limits}")
        await ledger.check_limits(job("free"))
        return found

    requests, tokens = call(run)
    assert requests.startswith("Tenant acme exceeded 2 req/min 60 ")
    assert "remaining=0" in requests
    assert tokens.startswith("this request may take 256 tokens, and the limit of tenant acme is 10/min: ")
    assert "remaining=10" in tokens
