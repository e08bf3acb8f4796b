"""Assigns the slots of llama-server to requests, so that no prefix is shared between cache namespaces.

A slot of llama-server keeps the tokens of its last request, and the server itself reuses them for any other
one. So the adapter chooses the slot of each request (`id_slot`), remembers whose tokens are in it, and
forbids their reuse (`cache_prompt: false`) to all other namespaces. Tokens that no request may reuse are
erased.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass

from backends.base import GenerationError, StateChoice

COMPARED_BYTES = 256 * 1024
"""Of a prompt, how much is kept to find the slot with the longest common prefix."""

MIN_SHARE = 0.1
"""The least share of a prompt that has to be in a slot for the slot to be chosen, as in llama-server."""

Erase = Callable[[int], Awaitable[int | None]]
"""Erases the tokens of the slot with that id.

Returns how many they were, None if the server does not do it.
"""


@dataclass(eq=False)
class Slot:
    """A slot: the namespace whose tokens it has (None: no request may reuse them), and their prompt.

    `conversation` names the conversation that they belong to, if it has a name. `used` is the logical time of
    its last use, 0 before the first. `is_empty` is whether it has no tokens. While it is `busy`, `request` is
    the namespace of its request, and `flushed` whether that has to leave nothing.
    """

    id: int
    namespace: str | None = None
    prompt: bytes = b""
    conversation: str | None = None
    used: int = 0
    busy: bool = False
    is_empty: bool = True
    request: str | None = None
    flushed: bool = False


@dataclass(eq=False)
class Waiting:
    """A request that waits for a slot. `namespace` is None if it was flushed meanwhile."""

    namespace: str | None
    flushed: bool = False


@dataclass
class SlotUse:
    """The use of a slot by one request. `reuse`: the request may reuse the tokens in it.

    `replaced` is to be set when the server has begun to answer: its prompt has replaced the one before.
    """

    slot: Slot
    reuse: bool
    replaced: bool = False


class Slots:
    """The slots of one server, for requests of one event loop."""

    def __init__(self, count: int, erase: Erase) -> None:
        self._slots = [Slot(id) for id in range(count)]
        self._free = asyncio.Semaphore(count)
        self._erase = erase
        self._waiting: set[Waiting] = set()
        self._erasing: set[asyncio.Task[int | None]] = set()
        self._clock = 0

    @asynccontextmanager
    async def use(
        self,
        namespace: str | None,
        prompt: bytes,
        *,
        erase: bool = False,
        conversation: str | None = None,
    ) -> AsyncIterator[SlotUse]:
        """Take a slot for a request; wait until one is free. `prompt` are its messages, in any fixed form.

        With `erase`, its tokens are erased at its end, before another request takes the slot. So are those
        of a request that was flushed meanwhile.
        """
        prompt = prompt[:COMPARED_BYTES]
        waiting = Waiting(namespace)
        self._waiting.add(waiting)
        try:
            await self._free.acquire()
        finally:
            self._waiting.discard(waiting)
        namespace = waiting.namespace
        slot = self._choose(namespace, prompt)
        use = SlotUse(slot, reuse=namespace is not None and slot.namespace == namespace)
        slot.busy, slot.request, slot.flushed = True, namespace, erase or waiting.flushed
        try:
            yield use
        finally:
            self._leave(use, namespace, prompt, conversation)
            if slot.flushed and not slot.is_empty:
                self._begin_erasing(slot)
            else:
                self._release(slot)

    async def flush(self, kept: Collection[str]) -> int | None:
        """Erase the tokens of all namespaces but these.

        Those of a running request are erased at its end. Returns how many slots were erased, None if the
        server did not erase one.
        """
        for waiting in self._waiting:
            if waiting.namespace not in kept:
                waiting.namespace, waiting.flushed = None, True
        for slot in self._slots:
            if slot.busy and slot.request not in kept:
                slot.flushed = True
        unused = [slot for slot in self._slots if not slot.busy and slot.namespace not in kept]
        for slot in unused:
            slot.namespace = None
        counts = await asyncio.gather(*(self._erase_unused(slot) for slot in unused))
        return None if None in counts else sum(1 for count in counts if count)

    # ---- states that are saved and restored

    @asynccontextmanager
    async def hold(self, choice: StateChoice) -> AsyncIterator[Slot]:
        """Take the slot that a choice means, and leave its tokens as they are. Raises `GenerationError`."""
        await self._free.acquire()
        found = self._chosen(choice)
        if not found or found[0].busy:
            self._free.release()
            raise _unusable(found)
        async with self._taken(found[0], choice.namespace) as slot:
            yield slot

    @asynccontextmanager
    async def replace(self, choice: StateChoice, prompt: bytes) -> AsyncIterator[Slot]:
        """Take a slot for a state that is restored, which has the tokens of `prompt`.

        It is that of the same conversation if it is free, else the least used one. If the block raises,
        nobody may reuse what is in it.
        """
        await self._free.acquire()
        free = [slot for slot in self._slots if not slot.busy]
        same = [slot for slot in self._chosen(choice) if not slot.busy and choice.conversation is not None]
        async with self._taken(min(same or free, key=lambda slot: slot.used), choice.namespace) as slot:
            slot.namespace, slot.is_empty, slot.prompt, slot.conversation = None, False, b"", None
            yield slot
            self._clock += 1
            slot.used, slot.prompt, slot.conversation = self._clock, prompt, choice.conversation
            slot.namespace = None if slot.flushed else choice.namespace

    async def erase(self, choice: StateChoice) -> int | None:
        """Erase the slot that a choice means, or all of a conversation.

        Returns how many tokens they had, None if the server did not erase one. Raises `GenerationError`.
        """
        found = self._chosen(choice)
        if not found or any(slot.busy for slot in found):
            raise _unusable(found)
        counts = await asyncio.gather(*(self._erase_unused(slot) for slot in found))
        return None if None in counts else sum(count or 0 for count in counts)

    def _chosen(self, choice: StateChoice) -> list[Slot]:
        """The slots that a choice means; those in use may be about to get other tokens."""
        found = [
            slot
            for slot in self._slots
            if not slot.is_empty and slot.namespace == choice.namespace
            if choice.conversation in (None, slot.conversation)
        ]
        found.sort(key=lambda slot: -slot.used)
        return found if choice.conversation is not None else found[choice.place : choice.place + 1]

    @asynccontextmanager
    async def _taken(self, slot: Slot, namespace: str) -> AsyncIterator[Slot]:
        """Take a free slot, of which the semaphore counts one less already."""
        slot.busy, slot.request, slot.flushed = True, namespace, False
        try:
            yield slot
        finally:
            if slot.flushed:
                slot.namespace = None
                self._begin_erasing(slot)
            else:
                self._release(slot)

    # ---- the slots

    async def _erase_unused(self, slot: Slot) -> int | None:
        """Erase a slot that is not in use. Returns how many tokens were erased."""
        if slot.busy or slot.is_empty:
            return 0
        await self._free.acquire()
        if slot.busy:  # a request that waited took it first, and its prompt replaces the tokens
            self._free.release()
            return 0
        slot.busy = True
        return await asyncio.shield(self._begin_erasing(slot))

    def _choose(self, namespace: str | None, prompt: bytes) -> Slot:
        free = [slot for slot in self._slots if not slot.busy]
        if namespace is not None:
            candidates = [
                (common_bytes(slot.prompt, prompt), slot) for slot in free if slot.namespace == namespace
            ]
            common, best = max(candidates, key=lambda candidate: candidate[0], default=(0, free[0]))
            keeps_most = 2 * common >= len(best.prompt)  # else another conversation is worth an empty slot
            if common > MIN_SHARE * len(prompt) and (keeps_most or all(slot.namespace for slot in free)):
                return best
        unused = [slot for slot in free if slot.namespace is None]
        oldest = sorted(free, key=lambda slot: slot.used)[: (len(free) + 1) // 2]
        return max(unused or oldest, key=self._busy_neighbours)

    def _busy_neighbours(self, slot: Slot) -> int:
        """How many of the slots beside it are busy.

        The server computes neighbouring slots in one pass over the weights, others in passes of their own.
        """
        return sum(self._slots[id].busy for id in (slot.id - 1, slot.id + 1) if 0 <= id < len(self._slots))

    def _leave(self, use: SlotUse, namespace: str | None, prompt: bytes, conversation: str | None) -> None:
        """Record what a request has left. A refused one has left the earlier tokens, which none may reuse."""
        slot = use.slot
        self._clock += 1
        slot.used = self._clock
        if slot.flushed:
            slot.namespace = None
        elif not use.reuse:
            slot.namespace = namespace if use.replaced else None
        if use.replaced:
            slot.prompt, slot.is_empty, slot.conversation = prompt, False, conversation

    def _begin_erasing(self, slot: Slot) -> asyncio.Task[int | None]:
        """Erase a busy slot in a task of its own, since its request may be cancelled; then free it."""
        task = asyncio.get_running_loop().create_task(self._erase_and_release(slot))
        self._erasing.add(task)
        task.add_done_callback(self._erasing.discard)
        return task

    async def _erase_and_release(self, slot: Slot) -> int | None:
        try:
            count = await self._erase(slot.id)
            if count is not None:
                slot.is_empty, slot.prompt, slot.conversation = True, b"", None
            return count
        finally:
            self._release(slot)

    def _release(self, slot: Slot) -> None:
        slot.busy = slot.flushed = False
        self._free.release()


def _unusable(found: list[Slot]) -> GenerationError:
    """The error for a choice whose slots are in use, or that means none."""
    if found:
        return GenerationError("conversation_locked", "a request of this conversation is running")
    return GenerationError("state_not_found", "the engine has no such state")


def common_bytes(first: bytes, second: bytes) -> int:
    """The length of the common prefix."""
    low, high = 0, min(len(first), len(second))
    if first[:high] == second[:high]:
        return high
    while high - low > 1:  # the first `low` bytes are equal, the first `high` are not
        middle = (low + high) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle
    return low
