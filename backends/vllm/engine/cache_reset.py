"""Frees the prefix cache of vLLM, which frees all of it or nothing, and only while no request holds a block.

Blocks are found by hashes that begin with the salt of their request (its cache namespace), so what is not
freed can be reached by no later request with another salt, and is evicted when the cache needs its blocks.
"""

from __future__ import annotations

import asyncio
import sys
import traceback
from collections.abc import Awaitable, Callable, Collection

AGAIN_S = 0.05
"""The pause before another try while no request runs: the core has not taken the end of the last one yet."""

ALL_OR_NOTHING = "vLLM frees all of its cache or nothing; no later request can reach what was flushed"
FREED_WHOLE_CACHE = "vLLM freed all of its cache, and does not count it"
RESET_WHILE_BUSY = "vLLM frees its cache when no request runs; no later request can reach what was flushed"
RESET_FAILED = "vLLM did not free its cache; no later request can reach what was flushed"


class CacheReset:
    """Resets the cache of one engine: at once, or when no request runs any more.

    `reset` is vLLM's own `reset_prefix_cache`, false while a request holds a block; `is_idle` says whether no
    request runs. For one event loop.
    """

    def __init__(self, reset: Callable[[], Awaitable[bool]], is_idle: Callable[[], bool]) -> None:
        self._reset = reset
        self._is_idle = is_idle
        self._due = False
        self._later: asyncio.Task[None] | None = None

    async def flush(self, kept: Collection[str]) -> str:
        """Free the cache unless a namespace has to be kept. Returns in a sentence what was done."""
        if kept:
            return ALL_OR_NOTHING
        self._due = True
        try:
            if await self._reset():
                self._due = False
                return FREED_WHOLE_CACHE
        except Exception:  # of whatever version it is
            traceback.print_exc(file=sys.stderr)
            return RESET_FAILED
        self.on_end()
        return RESET_WHILE_BUSY

    def on_end(self) -> None:
        """A request has ended: if it was the last one, free the cache if that is due."""
        if self._due and self._is_idle() and (self._later is None or self._later.done()):
            self._later = asyncio.get_running_loop().create_task(self._reset_when_idle())

    async def _reset_when_idle(self) -> None:
        try:
            while self._due and self._is_idle():
                if await self._reset():
                    self._due = False
                else:
                    await asyncio.sleep(AGAIN_S)
        except Exception:
            traceback.print_exc(file=sys.stderr)
