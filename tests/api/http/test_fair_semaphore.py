"""Turns by tenant."""

from __future__ import annotations

import asyncio

import pytest

from api.http.errors import TooManyStreams
from api.http.fair_semaphore import FairSemaphore, Limit
from store.errors import ServerBusy, StokerError

MANY = Limit(running=9, requests=100, bytes=1000)


def turns(of_tenant: Limit = MANY, of_all: Limit = MANY) -> FairSemaphore:
    return FairSemaphore(of_tenant, of_all, lambda own: TooManyStreams("own") if own else ServerBusy("all"))


def test_work_is_bounded_by_tenant_and_in_all() -> None:
    running: list[str] = []
    most: dict[str, int] = {}

    async def run() -> None:
        held = turns(Limit(2, 100, 1000), Limit(3, 100, 1000))

        async def one(tenant: str) -> None:
            async with held.hold(tenant):
                running.append(tenant)
                most[tenant] = max(most.get(tenant, 0), running.count(tenant))
                most["all"] = max(most.get("all", 0), len(running))
                await asyncio.sleep(0)
                running.remove(tenant)

        await asyncio.gather(*(one("a") for _ in range(9)), *(one("b") for _ in range(9)))
        assert held.requests == 0
        assert not held._by_tenant

    asyncio.run(run())
    assert most == {"a": 2, "b": 2, "all": 3}


def test_tenant_waits_for_its_own_requests_in_their_order_and_for_no_other_tenants() -> None:
    order: list[str] = []

    async def work(held: FairSemaphore, tenant: str, name: str, until: asyncio.Event) -> None:
        async with held.hold(tenant):
            order.append(name)
            await until.wait()

    async def run() -> None:
        held, first, done = turns(Limit(1, 100, 1000)), asyncio.Event(), asyncio.Event()
        done.set()
        tasks = [
            asyncio.ensure_future(work(held, "one", "a", first)),
            asyncio.ensure_future(work(held, "one", "b", done)),
            asyncio.ensure_future(work(held, "one", "c", done)),
            asyncio.ensure_future(work(held, "two", "d", done)),
        ]
        await tasks[3]
        assert order == ["a", "d"]
        first.set()
        await asyncio.gather(*tasks)

    asyncio.run(run())
    assert order == ["a", "d", "b", "c"]


def test_turn_is_free_after_a_cancelled_wait() -> None:
    async def run() -> None:
        held = turns(Limit(1, 100, 1000), Limit(1, 100, 1000))
        async with held.hold("one"):
            waiting = [asyncio.ensure_future(held.hold(name).__aenter__()) for name in ("one", "two")]
            await asyncio.sleep(0)
            for one in waiting:
                one.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
        async with asyncio.timeout(5), held.hold("one"):
            assert held.requests == 1

    asyncio.run(run())


@pytest.mark.parametrize(
    ("of_tenant", "of_all", "error"),
    [
        (Limit(9, 2, 1000), MANY, TooManyStreams),
        (Limit(9, 9, 100), MANY, TooManyStreams),
        (MANY, Limit(9, 2, 1000), ServerBusy),
        (MANY, Limit(9, 9, 100), ServerBusy),
    ],
    ids=["requests of a tenant", "bytes of a tenant", "requests", "bytes"],
)
def test_further_request_is_refused_when_many_wait_and_the_first_one_of_a_tenant_is_taken(
    of_tenant: Limit, of_all: Limit, error: type[StokerError]
) -> None:
    async def third(tenant: str) -> None:
        held = turns(of_tenant, of_all)
        async with held.hold("a", 50), held.hold("a", 50), held.hold(tenant, 1):
            assert held.requests == 3

    with pytest.raises(error):
        asyncio.run(third("a"))
    asyncio.run(third("b"))
