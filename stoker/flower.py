"""Flower, the task monitor, set up for many short tasks: `python -m stoker.flower --address=... --port=...`.

A request is three events here, and they come in batches. With uvloop and `BatchedEvents` a batch wakes
Flower's main thread once, not once for each, and `EventsState` indexes each of its tasks once; with rarer
garbage collections less time goes into looking at tasks that stay, and with `EventHeap` none into moving the
list of the latest events.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections import deque
from typing import Any

import flower.app  # type: ignore[import-untyped]
import flower.events  # type: ignore[import-untyped]
import flower.urls  # type: ignore[import-untyped]
import flower.views.monitor  # type: ignore[import-untyped]
import tornado.web
import uvloop
from celery.__main__ import main as celery

from config.load import load_settings
from telemetry.gc_tuning import tune_gc
from telemetry.logging import configure_logging

logger = logging.getLogger("flower")

MAX_TASKS = 10_000
"""The tasks that Flower remembers. With its default of 100,000 the process grows to half a gibibyte."""


class EventHeap(list[Any]):
    """The latest events of Celery's `State`, which removes the oldest one at each event once it has too many.

    That moves 40,000 places each time; this removes a sixteenth of them at once.
    """

    def pop(self, index: Any = -1, /) -> Any:
        """Remove an element, or with the oldest one many of the oldest."""
        if index != 0:
            return super().pop(index)
        oldest = self[0]
        del self[: max(1, len(self) // 16)]
        return oldest


class EventsState(flower.events.EventsState):  # type: ignore[misc]
    """Flower's state, with an `EventHeap`. Its search finds what changed from `index_changes` on.

    Most tasks have several of their events in one batch: each is indexed once then.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, taskheap=EventHeap(), **options)
        self._changed: dict[str, Any] = {}

    def _index_task(self, task: Any, evicted: str | None) -> None:
        self._changed[task.uuid] = task
        if evicted is not None and evicted not in self.tasks:
            self.search_engine.remove(evicted)

    def index_changes(self) -> None:
        """Index the tasks of the events since the last call, for the search."""
        for id, task in self._changed.items():
            if id in self.tasks:
                self.search_engine.upsert(task)
        self._changed.clear()


class BatchedEvents(flower.events.Events):  # type: ignore[misc]
    """Takes the events that arrive together in one callback of the main thread."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.begin()

    def begin(self) -> None:
        """Begin without events."""
        self._received: deque[dict[str, Any]] = deque()
        self._is_scheduled = False

    def on_event(self, event: dict[str, Any]) -> None:
        """Note an event, in the thread that receives them."""
        self._received.append(event)
        if not self._is_scheduled:
            self._is_scheduled = True
            self.io_loop.add_callback(self.take_events)

    def take_events(self) -> None:
        """Take all events that were noted, in the main thread."""
        self._is_scheduled = False  # before the first is taken: one that is noted later may need another call
        while self._received:
            try:
                self.state.event(self._received.popleft())
            except Exception:
                logger.exception("Flower cannot take an event")
        self.state.index_changes()


class GuardedMetrics(flower.views.monitor.Metrics):  # type: ignore[misc]
    """Flower's `/metrics` behind its password, as all its other pages: it names workers and tasks."""

    @tornado.web.authenticated
    async def get(self) -> None:
        """Send the metrics."""
        await super().get()


def guarded(handlers: list[Any]) -> list[Any]:
    """Return the handlers of Flower's pages with `GuardedMetrics`."""
    page = flower.views.monitor.Metrics
    return [
        (handler[0], GuardedMetrics, *handler[2:])
        if isinstance(handler, tuple) and handler[1] is page
        else handler
        for handler in handlers
    ]


def set_up_logging() -> None:
    """Log as all other processes do; `--logging=none` keeps Tornado from adding its own handler."""
    configure_logging(load_settings())
    logging.getLogger("flower.command").addFilter(_is_short)


def _is_short(record: logging.LogRecord) -> bool:
    """Whether a record of Flower's start is one line: it lists all Celery tasks."""
    return "\n" not in record.getMessage()


def main() -> None:
    """Run Flower in this process with further arguments from the command line. Does not return."""
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    tune_gc()
    set_up_logging()
    flower.events.EventsState, flower.app.Events = EventsState, BatchedEvents
    flower.urls.handlers[:] = guarded(flower.urls.handlers)
    options = ("--logging=none", f"--max-tasks={MAX_TASKS}")
    sys.argv = ["celery", "-A", "tasks.app", "flower", *options, *sys.argv[1:]]
    celery()


if __name__ == "__main__":
    main()
