"""Reports changes of the models to an administrator's client as server-sent events, so that it need not poll.

There are two sources. State changes come from the fleet's stream, in order, and can be replayed. Models,
operations and the memory are read after each state change and every second, and are sent when they differ
from the values that were last sent to this client. So a client may connect at any time, and its values are
at most a second old.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from socket import socket

import orjson

from api.serializers import (
    Json,
    serialize_memory,
    serialize_model,
    serialize_operation,
    serialize_state_change,
)
from api.services import AppServices
from api.streaming import sse
from fleet.states import ModelState
from scheduler.errors import StokerError

logger = logging.getLogger("api")

POLL_INTERVAL_S = 1.0
PAGE_SIZE = 100  # state changes per read
IN_TRANSITION = (ModelState.LOADING, ModelState.UNLOADING)


@dataclass(frozen=True, slots=True)
class ModelEvent:
    """One event. Only those with an `id` can be replayed."""

    name: str
    data: Json
    id: str | None = None

    def encode(self) -> bytes:
        """The event's bytes."""
        return sse.encode_one(self.name, self.data, self.id)


class ModelEventStream:
    """The events for one client.

    `after` is the id of the last state change that the client has received; None begins with the current
    state. Without `follow` the stream ends after the first events. Calls `on_close` when it is closed.
    """

    def __init__(
        self,
        services: AppServices,
        after: str | None,
        *,
        follow: bool = True,
        on_close: Callable[[], None] | None = None,
    ) -> None:
        self._services = services
        self._after = after
        self._follow = follow
        self._on_close = on_close
        self._sent: dict[str, bytes] = {}
        self._operations: set[str] = set()  # ids of operations whose end has not been sent yet
        self._disconnected = threading.Event()
        self._last_written_at = time.monotonic()
        self._closed = False
        self._unwatch: Callable[[], None] | None = None

    def watch(self, connection: socket | None) -> None:
        """End the stream when the client disconnects."""
        disconnects = self._services.disconnects
        watch = disconnects.watch(connection, self.disconnect)
        self._unwatch = lambda: disconnects.forget(watch)

    def disconnect(self) -> None:
        """End the stream: the client has disconnected."""
        self._disconnected.set()

    def close(self) -> None:
        """End the watch and call `on_close`. Only the first call has an effect."""
        if self._closed:
            return
        self._closed = True
        if self._unwatch is not None:
            self._unwatch()
        if self._on_close is not None:
            self._on_close()

    def stream(self) -> Iterator[bytes]:
        """The events, until the client disconnects or this process ends; none while Redis is unreachable."""
        try:
            yield from self._events()
        finally:
            self.close()

    def _events(self) -> Iterator[bytes]:
        unreachable = False
        while not self._disconnected.is_set() and self._services.shutdown.is_running():
            try:
                events = self._poll()
                unreachable = False
            except StokerError as error:
                if not unreachable:
                    logger.warning("%s", error.message)
                unreachable, events = True, []
                self._disconnected.wait(POLL_INTERVAL_S)
            if events:
                self._last_written_at = time.monotonic()
                yield b"".join(event.encode() for event in events)
            elif time.monotonic() - self._last_written_at >= self._services.settings.api.keep_alive_s:
                self._last_written_at = time.monotonic()
                yield sse.KEEP_ALIVE
            if not self._follow:
                return

    def _poll(self) -> list[ModelEvent]:
        """The new events. Waits for a state change for POLL_INTERVAL_S, except in the first call.

        An error leaves the state as it was, so that the next call returns the same events.
        """
        changes = self._services.changes
        after = changes.last() if self._after is None else self._after
        new = changes.read(after, POLL_INTERVAL_S if self._sent else 0.0)
        while len(new) % PAGE_SIZE == 0 and (more := new and changes.read(new[-1].id)):
            new += more
        events = [ModelEvent("state", serialize_state_change(change), change.id) for change in new]
        sent = dict(self._sent)
        operations = self._operations | {change.operation for change in new if change.operation}
        events += self._differences(sent, operations)
        self._after, self._sent, self._operations = (new[-1].id if new else after), sent, operations
        return events

    def _differences(self, sent: dict[str, bytes], operations: set[str]) -> list[ModelEvent]:
        """The events for all that differs from `sent`. Updates `sent`; removes operations that have ended."""
        services, events = self._services, []
        rows = services.fleet.rows(count_running=True)
        for row in rows:
            events += _changed(sent, "model", row.name, serialize_model(row, services.settings))
            if row.state in IN_TRANSITION and row.operation_id:
                operations.add(row.operation_id)
        for id in sorted(operations):
            operation = services.fleet.operation(id)
            if operation is not None:
                events += _changed(sent, "operation", id, serialize_operation(operation))
            if operation is None or operation.status.is_terminal:
                operations.remove(id)
                sent.pop(f"operation {id}", None)
        memory = serialize_memory(rows, services.fleet.workers(), services.settings)
        # a machine's free memory differs at each read; only the GPUs and the error are compared
        compared = {"gpus": memory["gpus"], "error": memory["error"]}
        return events + _changed(sent, "gpu_memory", "", memory, compared=compared)


def _changed(
    sent: dict[str, bytes], kind: str, name: str, data: Json, *, compared: Json | None = None
) -> list[ModelEvent]:
    """One event if `compared` (else `data`) differs from what was sent; else none. Updates `sent`."""
    key, now = f"{kind} {name}", orjson.dumps(compared or data)
    if sent.get(key) == now:
        return []
    sent[key] = now
    return [ModelEvent(kind, {"type": kind, kind: data})]
