"""When the cache of vLLM is freed: at once, or when no request runs any more. The engine is scripted."""

from __future__ import annotations

import asyncio

import pytest

from backends.vllm.engine.cache_reset import (
    ALL_OR_NOTHING,
    FREED_WHOLE_CACHE,
    RESET_FAILED,
    RESET_WHILE_BUSY,
    CacheReset,
)


class Engine:
    """An engine with `running` requests, which refuses to free its cache while one holds a block."""

    def __init__(self, running: int = 0, *, held: int = 0) -> None:
        self.running = running
        self.held = held  # how often it refuses although no request runs: it has not taken the last end yet
        self.asked = 0
        self.freed = asyncio.Event()
        self.cache_reset = CacheReset(self._reset, lambda: self.running == 0)

    async def _reset(self) -> bool:
        self.asked += 1
        if self.running or self.held:
            self.held = max(0, self.held - 1)
            return False
        self.freed.set()
        return True

    def end(self) -> None:
        self.running -= 1
        self.cache_reset.on_end()


@pytest.mark.anyio
async def test_the_cache_of_an_idle_engine_is_freed_at_once() -> None:
    engine = Engine()
    assert await engine.cache_reset.flush(()) == FREED_WHOLE_CACHE
    assert engine.freed.is_set()


@pytest.mark.anyio
async def test_the_cache_is_not_freed_while_a_namespace_has_to_be_kept() -> None:
    engine = Engine()
    assert await engine.cache_reset.flush({"kept"}) == ALL_OR_NOTHING
    engine.cache_reset.on_end()
    await asyncio.sleep(0)
    assert engine.asked == 0


@pytest.mark.anyio
async def test_the_cache_of_a_busy_engine_is_freed_when_its_last_request_has_ended() -> None:
    engine = Engine(running=2, held=3)
    assert await engine.cache_reset.flush(()) == RESET_WHILE_BUSY
    engine.end()
    await asyncio.sleep(0)
    assert engine.asked == 1
    engine.end()
    await asyncio.wait_for(engine.freed.wait(), 5)
    engine.cache_reset.on_end()  # it is not due any more
    await asyncio.sleep(0)
    assert engine.asked == 1 + 3


@pytest.mark.anyio
async def test_an_engine_that_fails_has_a_sentence_of_its_own() -> None:
    async def broken() -> bool:
        raise RuntimeError("another version")

    assert await CacheReset(broken, lambda: True).flush(()) == RESET_FAILED
