"""The task events of the jobs, which Flower shows as tasks named `stoker.generate`.

Celery does not run the jobs, so it sends no events of them. These are the same events, with their true times,
sent through Celery's own event dispatcher in batches. The loop only notes what happened; a thread makes the
messages.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import orjson
from celery.events import EventDispatcher
from celery.utils.time import utcoffset

from scheduler.job import Release, Status
from store.errors import Failed
from workers.running_job import RunningJob

logger = logging.getLogger("workers")

GENERATE = "stoker.generate"
"""The name under which Flower shows a job."""

DELAY_S = 0.1
"""Flower shows a job's state at most this much later."""

MAX_WAITING = 20_000
"""Jobs whose events wait for the broker; beyond it the oldest are dropped."""

MAX_PER_MESSAGE = 500

ROUTING_KEY = "task.multi"
"""Celery's routing key of messages with several task events."""


class TaskEvents:
    """Collects what happens to jobs, on the event loop, and sends it from a thread.

    `dispatcher` is the event dispatcher of Celery's consumer; None while it is not connected. Nothing is
    collected while it is absent or sends no task events (Flower may switch them on and off).
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.consumer: Any = None
        self.began_count = 0
        self._loop = loop
        self._waiting: deque[tuple[RunningJob, float, Release | None]] = deque(maxlen=MAX_WAITING)
        self._scheduled = False
        self._thread = ThreadPoolExecutor(1, "task-events")

    @property
    def dispatcher(self) -> EventDispatcher | None:
        """The consumer's event dispatcher; it is another one after a reconnect."""
        return self.consumer.event_dispatcher if self.consumer is not None else None

    def began(self, job: RunningJob) -> None:
        """A job was taken and started."""
        self.began_count += 1
        self._note(job, job.began_at, None)

    def ended(self, job: RunningJob, release: Release) -> None:
        """A job has ended."""
        self._note(job, time.time(), release)

    def _note(self, job: RunningJob, at: float, release: Release | None) -> None:
        if not _wants_tasks(self.dispatcher):
            return
        self._waiting.append((job, at, release))
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_later(DELAY_S, self._flush_soon)

    def _flush_soon(self) -> None:
        self._scheduled = False
        self._thread.submit(self.flush)

    def flush(self) -> None:
        """Send all that was collected. Not on the loop: the broker may be slow. Never raises.

        What is collected meanwhile waits for the next call: sent at once it would be many small messages,
        whose making takes the interpreter from the loop.
        """
        left = len(self._waiting)
        try:
            while left > 0 and _wants_tasks(dispatcher := self.dispatcher):
                count = min(left, MAX_PER_MESSAGE)
                left -= count
                events = [event for _ in range(count) for event in _events(*self._waiting.popleft())]
                _publish(dispatcher, events)
        except Exception as error:
            logger.debug("task events could not be sent: %s", error)


def _wants_tasks(dispatcher: Any) -> bool:
    return (
        dispatcher is not None
        and dispatcher.enabled
        and (not dispatcher.groups or "task" in dispatcher.groups)
    )


def _publish(dispatcher: Any, events: list[dict[str, Any]]) -> None:
    """Send events in one message, as `EventDispatcher.flush` does, but encoded by orjson."""
    common = {"hostname": dispatcher.hostname, "pid": dispatcher.pid, "utcoffset": utcoffset()}
    for event in events:
        event.update(common, clock=dispatcher.clock.forward())
    with dispatcher.mutex:
        if dispatcher.producer is not None:
            dispatcher.producer.publish(
                orjson.dumps(events),
                content_type="application/json",
                content_encoding="utf-8",
                routing_key=ROUTING_KEY,
                exchange=dispatcher.exchange.name,
                declare=[dispatcher.exchange],
                headers=dispatcher.headers,
                delivery_mode=dispatcher.delivery_mode,
            )


def _events(job: RunningJob, at: float, release: Release | None) -> list[dict[str, Any]]:
    id = job.claim.id
    if release is None:
        received = {
            "type": "task-received",
            "uuid": id,
            "timestamp": at,
            "name": GENERATE,
            "args": "()",
            "kwargs": {},  # the text "{}" would be parsed by Flower at each event
            "root_id": id,
            "parent_id": None,
            "retries": 0,
            "eta": None,
            "expires": None,
        }
        return [received, {"type": "task-started", "uuid": id, "timestamp": at}]
    if release.status is Status.FAILED:
        failure = Failed(release.message, code=release.code)
        return [
            {
                "type": "task-failed",
                "uuid": id,
                "timestamp": at,
                "exception": repr(failure),
                "traceback": f"{release.code}: {release.message}",
            }
        ]
    return [
        {
            "type": "task-succeeded",
            "uuid": id,
            "timestamp": at,
            "result": repr(str(release.status)),
            "runtime": at - job.began_at,
        }
    ]
