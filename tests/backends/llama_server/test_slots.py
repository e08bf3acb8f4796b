"""The choice of llama-server's slots: by namespace, then by prompt, then by age."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest
from hypothesis import given, strategies

from backends.llama_server.slots import COMPARED_BYTES, Slots, common_bytes


class Erasures:
    """Records which slots the server was asked to erase; with `refused` it does not do it."""

    def __init__(self, *, refused: bool = False) -> None:
        self.slots: list[int] = []
        self._refused = refused

    async def __call__(self, slot: int) -> int | None:
        self.slots.append(slot)
        await asyncio.sleep(0)
        return None if self._refused else 7


async def ask(
    slots: Slots, namespace: str | None, prompt: bytes = b"a prompt", *, answered: bool = True
) -> tuple[int, bool]:
    """Send one request; returns its slot, and whether it may reuse what is in it."""
    async with slots.use(namespace, prompt) as use:
        use.replaced = answered
        return use.slot.id, use.reuse


def run(*requests: tuple[str | None, bytes], count: int = 2) -> list[tuple[int, bool]]:
    async def all_of_them() -> list[tuple[int, bool]]:
        slots = Slots(count, Erasures())
        return [await ask(slots, *request) for request in requests]

    return asyncio.run(all_of_them())


def test_a_namespace_reuses_its_own_slot_only() -> None:
    answers = run(("a", b"x"), ("b", b"x"), ("a", b"x"), ("b", b"x"))
    assert answers == [(0, False), (1, False), (0, True), (1, True)]


def test_a_slot_that_is_taken_over_is_not_reused() -> None:
    answers = run(("a", b"x"), ("b", b"x"), ("a", b"x"), count=1)
    assert answers == [(0, False), (0, False), (0, False)]


def test_the_longest_unused_slot_is_taken_over() -> None:
    answers = run(("a", b"x"), ("b", b"x"), ("a", b"x"), ("c", b"x"), ("a", b"x"))
    assert answers[3:] == [(1, False), (0, True)]


@pytest.mark.anyio
async def test_requests_take_neighbouring_slots_after_every_second_slot_ended_first() -> None:
    slots = Slots(16, Erasures())
    for order in (range(0, 16, 2), range(1, 16, 2)):
        for id in order:  # a conversation each, which ends in this order
            slots._slots[id].namespace = f"tenant {id}"
            slots._slots[id].used = 16 * (id % 2) + id + 1
    async with AsyncExitStack() as running:
        ids = [
            (await running.enter_async_context(slots.use(f"new {number}", b"x"))).slot.id
            for number in range(8)
        ]
    assert groups(ids) <= 2


def groups(ids: list[int]) -> int:
    """In how many groups of neighbours the slots are."""
    return sum(id - 1 not in ids for id in ids)


def test_the_slot_of_a_request_without_a_namespace_is_not_reused() -> None:
    answers = run(("a", b"x"), (None, b"x"), (None, b"x"), ("b", b"x"), ("a", b"x"))
    assert answers == [(0, False), (1, False), (1, False), (1, False), (0, True)]


def test_the_slot_with_the_longest_common_prefix_is_chosen() -> None:
    one, other = b"A" * 50, b"B" * 50
    answers = run(("a", one), ("a", other), ("a", one + b"C"), ("a", other + b"C"), ("a", b"C"))
    assert answers == [(0, False), (1, False), (0, True), (1, True), (0, True)]


def test_the_tokens_of_another_namespace_are_not_reused_after_a_refused_request() -> None:
    """The server has not replaced them."""

    async def requests() -> list[tuple[int, bool]]:
        slots = Slots(1, Erasures())
        await ask(slots, "a")
        refused = await ask(slots, "b", answered=False)
        return [refused, await ask(slots, "b"), await ask(slots, "b", answered=False), await ask(slots, "b")]

    assert asyncio.run(requests()) == [(0, False), (0, False), (0, True), (0, True)]


def test_requests_wait_for_a_slot_in_their_order_and_a_cancelled_one_takes_none() -> None:
    async def requests() -> list[str]:
        slots = Slots(1, Erasures())
        begun: list[str] = []
        release = asyncio.Event()

        async def hold(name: str) -> None:
            async with slots.use(name, b""):
                begun.append(name)
                await release.wait()

        tasks = [asyncio.create_task(hold(name)) for name in "abc"]
        await asyncio.sleep(0)
        tasks[1].cancel()
        release.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        return begun

    assert asyncio.run(requests()) == ["a", "c"]


def test_a_long_prompt_is_compared_by_its_beginning() -> None:
    long = b"x" * (2 * COMPARED_BYTES)
    assert run(("a", long), ("b", b"y"), ("a", long + b"z"))[2] == (0, True)


pieces = strategies.binary(max_size=20)


@given(pieces, pieces, pieces)
def test_the_common_prefix_is_the_longest_one(begin: bytes, one: bytes, other: bytes) -> None:
    one, other = begin + one, begin + other
    count = common_bytes(one, other)
    assert one[:count] == other[:count]
    assert count == min(len(one), len(other)) or one[count] != other[count]
    assert count >= len(begin)


def test_a_conversation_is_kept_while_there_is_an_empty_slot() -> None:
    begin, long = b"the same system prompt; ", b"a long conversation" * 20
    answers = run(
        ("a", begin + long), ("a", begin + b"hello"), ("a", begin + long + b"more"), ("a", begin + b"hi")
    )
    assert answers == [(0, False), (1, False), (0, True), (1, True)]


@pytest.mark.parametrize("size", [0, 1, 2, 1000])
def test_equal_prompts_have_their_whole_length_in_common(size: int) -> None:
    assert common_bytes(b"x" * size, b"x" * size) == size


# ---- flushes


@pytest.mark.anyio
async def test_a_flush_erases_the_slots_of_other_namespaces_alone() -> None:
    erasures = Erasures()
    slots = Slots(3, erasures)
    await ask(slots, "a")
    await ask(slots, "b")
    assert await slots.flush({"b"}) == 1
    assert erasures.slots == [0]
    assert await ask(slots, "b") == (1, True)
    assert await ask(slots, "a") == (0, False)
    assert await slots.flush(()) == 2
    assert await slots.flush(()) == 0


@pytest.mark.anyio
async def test_a_running_request_is_erased_at_its_end() -> None:
    erasures = Erasures()
    slots = Slots(1, erasures)
    async with slots.use("a", b"x") as use:
        assert await slots.flush(()) == 0
        use.replaced = True
    assert await ask(slots, "a") == (0, False)  # it waits until the slot was erased
    assert erasures.slots == [0]


@pytest.mark.anyio
async def test_a_cancelled_request_is_erased_as_well() -> None:
    erasures = Erasures()
    slots = Slots(1, erasures)
    began = asyncio.Event()

    async def stay() -> None:
        async with slots.use("a", b"x") as use:
            use.replaced = True
            began.set()
            await asyncio.Event().wait()

    running = asyncio.create_task(stay())
    await began.wait()
    await slots.flush(())
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert await ask(slots, "b") == (0, False)
    assert erasures.slots == [0]


@pytest.mark.anyio
async def test_a_running_request_of_a_kept_namespace_stays_in_a_slot_that_had_another_one() -> None:
    erasures = Erasures()
    slots = Slots(1, erasures)
    await ask(slots, "a")
    async with slots.use("b", b"x") as use:
        assert await slots.flush({"b"}) == 0
        use.replaced = True
    assert await ask(slots, "b") == (0, True)
    assert erasures.slots == []


@pytest.mark.anyio
async def test_a_request_that_waits_during_a_flush_reuses_nothing_and_leaves_nothing() -> None:
    erasures = Erasures()
    slots = Slots(1, erasures)
    async with slots.use("b", b"x") as use:
        waiting = asyncio.create_task(ask(slots, "a"))
        await asyncio.sleep(0)
        await slots.flush({"b"})
        use.replaced = True
    assert await waiting == (0, False)
    assert await ask(slots, "a") == (0, False)
    assert erasures.slots == [0]


@pytest.mark.anyio
async def test_a_request_that_has_to_leave_nothing_is_erased() -> None:
    erasures = Erasures()
    slots = Slots(1, erasures)
    async with slots.use(None, b"x", erase=True) as use:
        use.replaced = True
    assert await slots.flush(()) == 0
    await ask(slots, "a")
    assert erasures.slots == [0]


@pytest.mark.anyio
async def test_a_server_that_erases_nothing_has_no_count_and_reuses_nothing() -> None:
    slots = Slots(1, Erasures(refused=True))
    await ask(slots, "a")
    assert await slots.flush(()) is None
    assert await ask(slots, "a") == (0, False)
