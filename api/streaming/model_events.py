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

from api.serializers import Json, show_change, show_memory, show_model, show_operation
from api.services import AppServices
from api.streaming import sse
from fleet.states import ModelState
from scheduler.errors import StokerError

logger = logging.getLogger("api")

LOOK_EVERY_S = 1.0
PAGE = 100  # changes read at once
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

    def __init__(self, here: AppServices, after: str | None, *, follow: bool = True) -> None:
        self._here = here
        self._after = after
        self._follow = follow
        self._seen: dict[str, bytes] = {}
        self._operations: set[str] = set()  # those that are not told to their end
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
            if not self._follow:
                return

    def _round(self) -> list[Told]:
        """What is new; waits for it a little, but not at first. All of it counts as told, or nothing."""
        changes = self._here.changes
        after = changes.last() if self._after is None else self._after
        news = changes.read(after, LOOK_EVERY_S if self._seen else 0.0)
        while len(news) % PAGE == 0 and (more := news and changes.read(news[-1].id)):
            news += more
        told = [Told("state", show_change(change), change.id) for change in news]
        seen = dict(self._seen)
        operations = self._operations | {change.operation for change in news if change.operation}
        told += self._differences(seen, operations)
        self._after, self._seen, self._operations = (news[-1].id if news else after), seen, operations
        return told

    def _differences(self, seen: dict[str, bytes], operations: set[str]) -> list[Told]:
        """What is not as it was `seen`, which it brings up to date; operations that ended are dropped."""
        here, told = self._here, []
        rows = here.fleet.rows(count_running=True)
        for row in rows:
            told += _new(seen, "model", row.name, show_model(row, here.settings))
            if row.state in UNDER_WAY and row.operation_id:
                operations.add(row.operation_id)
        for id in sorted(operations):
            operation = here.fleet.operation(id)
            if operation is not None:
                told += _new(seen, "operation", id, show_operation(operation))
            if operation is None or operation.status.is_terminal:
                operations.remove(id)
                seen.pop(f"operation {id}", None)
        memory = show_memory(rows, here.fleet.workers(), here.settings)
        # a machine's free memory is never the same twice; what is followed here are the GPUs
        gpus = {"gpus": memory["gpus"], "error": memory["error"]}
        return told + _new(seen, "gpu_memory", "", memory, compared=gpus)


def _new(
    seen: dict[str, bytes], kind: str, name: str, shown: Json, *, compared: Json | None = None
) -> list[Told]:
    """One event, if what is compared is not as it was seen."""
    key, now = f"{kind} {name}", orjson.dumps(compared or shown)
    if seen.get(key) == now:
        return []
    seen[key] = now
    return [Told(kind, {"type": kind, kind: shown})]
