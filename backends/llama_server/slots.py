"""Assigns the slots of llama-server to requests, so that no prefix is shared between cache namespaces.

A slot of llama-server keeps the tokens of its last request, and the server itself reuses them for any other
one. So the adapter chooses the slot of each request (`id_slot`), remembers whose tokens are in it, and
forbids their reuse (`cache_prompt: false`) to all other namespaces.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

COMPARED_BYTES = 256 * 1024
"""Of a prompt, how much is kept to find the slot with the longest common prefix."""

MIN_SHARE = 0.1
"""The least share of a prompt that has to be in a slot for the slot to be chosen, as in llama-server."""


@dataclass(eq=False)
class Slot:
    """A slot: the namespace whose tokens it has (None: no request may reuse them), and their prompt.

    `used` is the logical time of its last use, 0 before the first.
    """

    id: int
    namespace: str | None = None
    prompt: bytes = b""
    used: int = 0
    busy: bool = False


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

    def __init__(self, count: int) -> None:
        self._slots = [Slot(id) for id in range(count)]
        self._free = asyncio.Semaphore(count)
        self._clock = 0

    @asynccontextmanager
    async def use(self, namespace: str | None, prompt: bytes) -> AsyncIterator[SlotUse]:
        """Take a slot for a request; wait until one is free. `prompt` are its messages, in any fixed form."""
        prompt = prompt[:COMPARED_BYTES]
        async with self._free:
            slot = self._choose(namespace, prompt)
            use = SlotUse(slot, reuse=namespace is not None and slot.namespace == namespace)
            slot.busy = True
            try:
                yield use
            finally:
                self._release(use, namespace, prompt)

    def _choose(self, namespace: str | None, prompt: bytes) -> Slot:
        free = [slot for slot in self._slots if not slot.busy]
        if namespace is not None:
            own = [(common_bytes(slot.prompt, prompt), slot) for slot in free if slot.namespace == namespace]
            common, best = max(own, key=lambda one: one[0], default=(0, free[0]))
            keeps_most = 2 * common >= len(best.prompt)  # else another conversation is worth an empty slot
            if common > MIN_SHARE * len(prompt) and (keeps_most or all(slot.namespace for slot in free)):
                return best
        return min(free, key=lambda slot: (slot.namespace is not None, slot.used))

    def _release(self, use: SlotUse, namespace: str | None, prompt: bytes) -> None:
        """Free a slot. A refused request has left the earlier tokens in it, which no request may reuse."""
        slot = use.slot
        self._clock += 1
        slot.used, slot.busy = self._clock, False
        if not use.reuse:
            slot.namespace = namespace if use.replaced else None
        if use.replaced:
            slot.prompt = prompt


def common_bytes(one: bytes, other: bytes) -> int:
    """The length of the common prefix."""
    low, high = 0, min(len(one), len(other))
    if one[:high] == other[:high]:
        return high
    while high - low > 1:  # the first `low` bytes are equal, the first `high` are not
        middle = (low + high) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle
    return low
