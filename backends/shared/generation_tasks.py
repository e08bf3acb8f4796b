"""An engine that runs each generation in a task of the event loop."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from typing import Generic, TypeVar

from backends.base import Finish, Sink
from backends.shared.end_of_generation import fail, finish
from engines.engine_process.errors import EngineLost
from generation.generation import Generation


class RunningGeneration:
    """A generation and its task. Subclasses add what an engine has to know of it."""

    def __init__(self, id: str, generation: Generation, sink: Sink) -> None:
        self.id = id
        self.generation = generation
        self.sink = sink
        self.cancelled = False
        self.task: asyncio.Task[None] | None = None
        """None until the task has begun."""


R = TypeVar("R", bound=RunningGeneration)


class TaskEngine(Generic[R]):
    """Fulfils `Engine.submit` and `Engine.cancel`; a subclass answers."""

    def __init__(self) -> None:
        self._running: dict[str, R] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @abstractmethod
    def _new(self, id: str, generation: Generation, sink: Sink) -> R:
        """Return the record of a new generation."""

    @abstractmethod
    async def _answer(self, running: R) -> Finish:
        """Run a generation. Raises `EngineError`. Is cancelled by `cancel`."""

    @abstractmethod
    async def _cancelled(self, running: R) -> Finish:
        """Return how a cancelled generation ended; `_answer` may not have begun. Raises `EngineError`."""

    def submit(self, id: str, generation: Generation, sink: Sink) -> None:
        """Start a task for one generation; its outcome goes to the sink."""
        running = self._running[id] = self._new(id, generation, sink)
        task = asyncio.get_running_loop().create_task(self._run(running))
        self._tasks.add(task)  # the loop itself keeps no reference
        task.add_done_callback(self._tasks.discard)

    def cancel(self, id: str) -> None:
        """Cancel the task of a generation; unknown ids are ignored."""
        running = self._running.get(id)
        if running is not None and not running.cancelled:
            running.cancelled = True
            if running.task is not None:
                running.task.cancel()

    async def _run(self, running: R) -> None:
        try:
            finish_ = await self._answer_or_cancel(running)
        except Exception as error:
            self._end(running)
            fail(running.id, running.sink, error)
        except asyncio.CancelledError:
            self._end(running)
            fail(running.id, running.sink, EngineLost("engine_crashed", "the worker was stopped"))
            raise
        else:
            self._end(running)
            finish(running.id, running.sink, finish_)

    async def _answer_or_cancel(self, running: R) -> Finish:
        if not running.cancelled:
            running.task = asyncio.current_task()
            try:
                return await self._answer(running)
            except asyncio.CancelledError:
                if not running.cancelled:
                    raise
        return await self._cancelled(running)

    def _end(self, running: R) -> None:
        if self._running.get(running.id) is running:
            del self._running[running.id]
