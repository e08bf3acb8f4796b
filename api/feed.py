"""What happens to the models, told as server-sent events to one client that would otherwise poll.

Two sources. Changes of state come from the fleet's stream, in order, and can be replayed. Rows, operations
and the memory are looked at when something changed and every second, and told when they differ from what
this client has seen; so it may join at any time, and nothing that it shows stays wrong for longer than
that.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import orjson

from api import sse
from api.context import Rooms
from api.panel import Json, show_change, show_memory, show_model, show_operation
from fleet.row import ModelRow
from fleet.states import ModelState
from scheduler.errors import StokerError

logger = logging.getLogger("api")

LOOK_EVERY_S = 1.0
UNDER_WAY = (ModelState.LOADING, ModelState.UNLOADING)


@dataclass(frozen=True, slots=True)
class Told:
    """One event. Only those with an `id` can be replayed."""

    name: str
    data: Json
    id: str | None = None

    def encode(self) -> bytes:
        """As server-sent event."""
        return sse.encode_one(self.name, self.data, self.id)


class Feed:
    """One client's. `after` is the id of the last change it heard of, None to begin with what is now."""

    def __init__(self, here: Rooms, after: str | None, *, follow: bool = True) -> None:
        self._here = here
        self._after = after
        self._follow = follow
        self._seen: dict[str, bytes] = {}
        self._operations: dict[str, str] = {}  # the latest of each model that is not told to its end
        self._gone = threading.Event()
        self._told_at = time.monotonic()

    def hang_up(self) -> None:
        """The client is gone."""
        self._gone.set()

    def stream(self, on_close: Callable[[], None]) -> Iterator[bytes]:
        """The events, until the client goes or this process ends. While Redis is away there are none."""
        try:
            yield from self._until_the_end()
        finally:
            on_close()

    def _until_the_end(self) -> Iterator[bytes]:
        away = False
        while not self._gone.is_set() and self._here.life.goes_on():
            try:
                told = self._round()
                away = False
            except StokerError as error:
                if not away:
                    logger.warning("%s", error.message)
                away, told = True, []
                self._gone.wait(LOOK_EVERY_S)
            if told:
                self._told_at = time.monotonic()
                yield b"".join(event.encode() for event in told)
            elif time.monotonic() - self._told_at >= self._here.settings.api.keep_alive_s:
                self._told_at = time.monotonic()
                yield sse.KEEP_ALIVE
            if not self._follow and not away:
                return

    def _round(self) -> list[Told]:
        """What is new; waits for it a little, but not at first."""
        changes = self._here.changes
        begins = not self._seen
        if self._after is None:
            self._after = changes.last()
        news = changes.read(self._after, 0.0 if begins else LOOK_EVERY_S)
        told = [Told("state", show_change(change), change.id) for change in news]
        if news:
            self._after = news[-1].id
        rows = self._here.fleet.rows(closely=True)
        told += self._differences(rows)
        return told

    def _differences(self, rows: list[ModelRow]) -> Iterator[Told]:
        settings = self._here.settings
        for row in rows:
            yield from self._new("model", f"model {row.name}", show_model(row, settings))
            if row.state in UNDER_WAY and row.operation_id:
                self._operations[row.name] = row.operation_id
        for name, id in list(self._operations.items()):
            operation = self._here.fleet.operation(id)
            if operation is not None:
                yield from self._new("operation", f"operation {id}", show_operation(operation))
            if operation is None or operation.status.is_terminal:
                del self._operations[name]
                self._seen.pop(f"operation {id}", None)
        memory = show_memory(rows, self._here.fleet.workers(), settings)
        # a machine's free memory is never the same twice; what is told here are the GPUs
        yield from self._new("gpu_memory", "gpu_memory", {**memory, "workers": None, "models": None}, memory)

    def _new(self, name: str, key: str, compared: Json, shown: Json | None = None) -> Iterator[Told]:
        now = orjson.dumps(compared)
        if self._seen.get(key) != now:
            self._seen[key] = now
            yield Told(name, {"type": name, name: shown or compared})
