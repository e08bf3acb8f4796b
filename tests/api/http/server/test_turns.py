"""Tenants take turns for the thread that parses large bodies, and for the event loop."""

from __future__ import annotations

import asyncio
import threading

from api.http.server.turns import LoopTurns
from tests.api.http.server.conftest import RunningServer
from tests.support.raw_http import request
from tests.support.waiting import scaled, wait_until


def test_few_steps_are_done_in_an_iteration_of_the_loop_and_tenants_take_turns() -> None:
    done: list[tuple[int, str]] = []
    iteration = 0

    async def step(turns: LoopTurns, name: str, count: int) -> None:
        for _ in range(count):
            await turns.turn(name[0])
            done.append((iteration, name))

    async def run() -> None:
        nonlocal iteration
        turns = LoopTurns(1)
        steps = [asyncio.ensure_future(step(turns, *given)) for given in (("a1", 3), ("a2", 3), ("b", 2))]
        left = asyncio.ensure_future(turns.turn("a"))
        left.cancel()
        while not all(one.done() for one in steps):
            iteration += 1
            await asyncio.sleep(0)

    asyncio.run(run())
    assert len({number for number, _ in done}) == len(done) == 8
    names = [name[0] for _, name in done]
    assert sorted(names[:4]) == ["a", "a", "b", "b"], names


def test_steps_are_done_at_once_while_the_iteration_has_had_few_and_else_in_turns() -> None:
    done: list[list[str]] = []

    async def run() -> None:
        loop = asyncio.get_running_loop()
        turns = LoopTurns(2)
        done.append([])
        for name in ("a1", "a2", "a3", "a4", "a5", "b1"):
            turns.step(loop, name[0], lambda name=name: done[-1].append(name))
        while sum(map(len, done)) < 6:
            done.append([])
            await asyncio.sleep(0)

    asyncio.run(run())
    assert [names for names in done if names] == [["a1", "a2"], ["a3", "b1"], ["a4", "a5"]]


def test_fewer_steps_are_done_while_iterations_take_long_and_more_again_when_they_do_not() -> None:
    counts: list[int] = []
    now, took_s = 0.0, 0.01

    def step() -> None:
        nonlocal now
        counts[-1] += 1
        now += took_s

    async def take(turns: LoopTurns, steps: int) -> None:
        for _ in range(steps):
            turns.wait(asyncio.get_running_loop(), "a", step)
        done = sum(counts)
        while sum(counts) < done + steps:
            counts.append(0)
            await asyncio.sleep(0)

    async def run() -> None:
        nonlocal took_s
        turns = LoopTurns(4, longest_s=0.008, clock=lambda: now)
        await take(turns, 4 + 2 + 1 + 1)
        took_s = 0.001
        await take(turns, 2 + 3 + 4 + 4)

    asyncio.run(run())
    assert [count for count in counts if count] == [4, 2, 1, 1, 2, 3, 4, 4]


def test_a_large_body_waits_for_one_of_another_tenant_and_not_for_all(server: RunningServer) -> None:
    def sender(path: str, key: str) -> threading.Thread:
        data = request("POST", path, b"x" * 70_000, x_api_key=key)
        thread = threading.Thread(target=server.exchange, args=(data,))
        thread.start()
        return thread

    threads = [sender("/block_inline", "sk-one")]
    assert server.blocked.acquire(timeout=scaled(10))
    waiting = server.call(lambda: server.application._large_bodies)
    for tenant, key, count in (("one", "sk-one", 1), ("one", "sk-one", 2), ("two", "sk-two", 1)):
        threads.append(sender("/echo_inline", key))
        wait_until(lambda tenant=tenant, count=count: waiting.waiting(tenant) == count, 10)
    server.unblock.set()
    for thread in threads:
        thread.join(scaled(10))
    assert server.keys == ["sk-one", "sk-two", "sk-one"]
