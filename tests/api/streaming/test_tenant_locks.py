"""Locks by tenant."""

from __future__ import annotations

import asyncio

from api.streaming.tenant_locks import TenantLocks


def test_work_of_a_tenant_waits_for_its_own_and_for_no_other_tenants() -> None:
    order: list[str] = []

    async def work(locks: TenantLocks, tenant: str, name: str, until: asyncio.Event) -> None:
        async with locks.hold(tenant):
            order.append(name)
            await until.wait()

    async def run() -> None:
        locks, first, done = TenantLocks(), asyncio.Event(), asyncio.Event()
        done.set()
        tasks = [
            asyncio.ensure_future(work(locks, "one", "a", first)),
            asyncio.ensure_future(work(locks, "one", "b", done)),
            asyncio.ensure_future(work(locks, "two", "c", done)),
        ]
        await tasks[2]
        assert order == ["a", "c"]
        first.set()
        await asyncio.gather(*tasks)
        assert order == ["a", "c", "b"]
        assert not locks._locks

    asyncio.run(run())


def test_lock_is_free_after_a_cancelled_wait() -> None:
    async def run() -> None:
        locks = TenantLocks()
        async with locks.hold("one"):
            waiting = asyncio.ensure_future(locks.hold("one").__aenter__())
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
        async with asyncio.timeout(5), locks.hold("one"):
            pass
        assert not locks._locks

    asyncio.run(run())
