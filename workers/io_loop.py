"""The event loop of a worker: one thread that runs all jobs."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

import uvloop

logger = logging.getLogger("workers")

T = TypeVar("T")

CANCEL_AGAIN_S = 0.1
"""A task that has not ended this long after its cancellation is cancelled again."""


class IoLoop:
    """An event loop in a daemon thread. `loop` exists from the beginning and runs after `start`."""

    def __init__(self) -> None:
        self.loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="io-loop", daemon=True)
        self._asked_at: float | None = None
        self._spawned: list[Future[object]] = []

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Cancel all tasks of the loop, stop it and wait for its thread. Not from the loop's own thread."""
        if self._thread.is_alive():
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join()

    def call(self, coroutine: Coroutine[Any, Any, T], timeout_s: float = 10.0) -> T:
        """Run a coroutine on the loop and return its result. Raises `TimeoutError` after `timeout_s`."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(timeout_s)

    def spawn(self, coroutine: Coroutine[Any, Any, object]) -> None:
        """Start a coroutine on the loop, which runs until it ends or the loop stops. From any thread."""
        task = asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        self._spawned.append(task)
        task.add_done_callback(_log_failure)

    def silence_s(self) -> float:
        """For how long the loop has not run a callback that an earlier call of this method gave it."""
        if self._asked_at is None:
            self._asked_at = time.monotonic()
            self.loop.call_soon_threadsafe(self._answer)
            return 0.0
        asked_at = self._asked_at
        return 0.0 if asked_at is None else time.monotonic() - asked_at

    def _answer(self) -> None:
        self._asked_at = None

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
            self.loop.run_until_complete(self._cancel_tasks())
        finally:
            self.loop.close()

    async def _cancel_tasks(self) -> None:
        """Cancel all tasks until none is left: one may begin another, or lose a cancellation (a library's
        `except`, `asyncio.wait_for` of Python 3.11), and would keep the loop's thread for ever."""
        while tasks := asyncio.all_tasks() - {asyncio.current_task()}:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=CANCEL_AGAIN_S)


def _log_failure(task: Future[object]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.error("a part of the event loop failed", exc_info=error)
