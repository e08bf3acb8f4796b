"""Runs generations in engines from a test's thread, on an event loop in another thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cache
from queue import SimpleQueue
from typing import TypeVar

from backends.base import Engine, Finish
from engines.engine_process.errors import EngineError
from generation.generation import Generation
from streams.events import Delta
from workers.io_loop import IoLoop

T = TypeVar("T")


@cache
def engine_loop() -> asyncio.AbstractEventLoop:
    """Return the event loop of this process' engines, which runs in a thread until the process ends."""
    io_loop = IoLoop()
    io_loop.start()
    return io_loop.loop


class RecordingSink:
    """Passes deltas to `emit`, and keeps the outcomes."""

    def __init__(self, emit: Callable[[Delta], None]) -> None:
        self.delta = emit
        self.outcomes: SimpleQueue[Finish | EngineError] = SimpleQueue()

    def finish(self, finish: Finish) -> None:
        """See `Sink.finish`."""
        self.outcomes.put(finish)

    def fail(self, error: EngineError) -> None:
        """See `Sink.fail`."""
        self.outcomes.put(error)

    def result(self) -> Finish:
        """Wait for the end of the generation; an error is raised."""
        outcome = self.outcomes.get()
        if isinstance(outcome, Finish):
            return outcome
        raise outcome


def submit(
    engine: Engine, id: str, generation: Generation, emit: Callable[[Delta], None] = lambda _delta: None
) -> RecordingSink:
    """Submit a generation. `emit` is called on the event loop."""
    sink = RecordingSink(emit)
    on_loop(engine.submit, id, generation, sink)
    return sink


def run_generation(
    engine: Engine, id: str, generation: Generation, emit: Callable[[Delta], None] = lambda _delta: None
) -> Finish:
    """Run one generation to its end; an error is raised. `emit` is called on the event loop."""
    return submit(engine, id, generation, emit).result()


def on_loop(function: Callable[..., T], *arguments: object) -> T:
    """Call a function on the event loop and return what it returns."""

    async def call() -> T:
        return function(*arguments)

    return asyncio.run_coroutine_threadsafe(call(), engine_loop()).result()
