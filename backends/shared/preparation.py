"""Bounds what a server prepares at a time: the prompts that it renders and tokenizes.

A server does so in a thread of each request, before it looks at its queue, and does not notice meanwhile that
the client is gone: so a cancelled preparation counts until it has had its time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import orjson

from generation.generation import Generation, Message, Tool, characters_of
from generation.tenant_turns import TenantTurns

MAX_BYTES = 4 << 20
"""Of all requests in preparation; a larger one is prepared alone."""

SMALL_BYTES = 64 << 10
"""A request below it neither waits nor counts."""

MESSAGE_BYTES = 512
"""What a message or a tool costs beside its text: templates take about 0.5 ms for each of thousands."""

BYTES_PER_S = 1 << 20
"""How fast servers prepare at least, for requests that were cancelled meanwhile."""


def preparation_bytes(generation: Generation) -> int:
    """About what the preparation of a request costs: bytes of text, schemas of tools, and images and
    recordings as sent.
    """
    if generation.prompt is not None:
        return len(generation.prompt) + _prompt_parts_size(generation)
    if generation.text_task is not None and generation.text_task.content:
        return sum(1 if isinstance(part, int) else len(part) for part in generation.text_task.content)
    return sum(map(_message_size, generation.messages)) + sum(map(_tool_size, generation.tools))


def _prompt_parts_size(generation: Generation) -> int:
    """Of a prompt in tokens and texts, or with a gap, what `prompt` does not have."""
    size = sum(len(part) if isinstance(part, str) else 1 for part in generation.prompt_tokens)
    if (gap := generation.infill) is not None:
        size += len(generation.suffix or "") + len(gap.begun)
        size += sum(len(name) + len(text) for name, text in gap.extra)
    return size


def _message_size(message: Message) -> int:
    content = sum(map(characters_of, message.content))
    calls = sum(len(call.name) + len(call.arguments) for call in message.tool_calls)
    return MESSAGE_BYTES + content + calls + len(message.reasoning or "")


def _tool_size(tool: Tool) -> int:
    return MESSAGE_BYTES + len(tool.name) + len(tool.description or "") + len(orjson.dumps(tool.parameters))


class Preparations:
    """The preparations of one server, on one event loop. Tenants whose requests wait take turns."""

    def __init__(self, most: int = MAX_BYTES) -> None:
        self._most = most
        self._used = 0
        self._turns: TenantTurns[tuple[int, asyncio.Future[None]]] = TenantTurns()

    @asynccontextmanager
    async def hold(self, tenant: str, size: int) -> AsyncIterator[Callable[[], None]]:
        """Wait until a request of `size` bytes may be prepared. Yields what to call when it is prepared.

        Left before that by a cancellation, the request counts until the server has had its time.
        """
        if size < SMALL_BYTES:
            yield _nothing
            return
        await self._take(tenant, size)
        counted = True

        def prepared() -> None:
            nonlocal counted
            if counted:
                counted = False
                self._give_back(size)

        try:
            yield prepared
        except asyncio.CancelledError:
            asyncio.get_running_loop().call_later(size / BYTES_PER_S, prepared)
            raise
        except BaseException:
            prepared()
            raise
        prepared()

    async def _take(self, tenant: str, size: int) -> None:
        if not self._turns and self._fits(size):
            self._used += size
            return
        turn = asyncio.get_running_loop().create_future()
        self._turns.add(tenant, (size, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._give_back(size)
            else:
                self._turns.remove(tenant, (size, turn))
                self._next()
            raise

    def _fits(self, size: int) -> bool:
        return self._used == 0 or self._used + size <= self._most

    def _give_back(self, size: int) -> None:
        self._used -= size
        self._next()

    def _next(self) -> None:
        """Let those begin whose turn it is."""
        while (entry := self._turns.first()) is not None:
            size, turn = entry
            if not self._fits(size):
                return
            self._turns.take()
            self._used += size
            turn.set_result(None)


def _nothing() -> None:
    pass
