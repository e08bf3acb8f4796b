"""Reads what changed about the models, as the events of `GET /v1/admin/events`.

There are two sources. State changes come from the fleet's stream, in order, and can be replayed. Models,
operations and the memory are read as they are now; a client gets those that differ from what it has.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import orjson

from api.serializers import (
    Json,
    serialize_memory,
    serialize_model,
    serialize_operation,
    serialize_state_change,
)
from api.streaming import sse
from fleet.fleet import Fleet
from fleet.state_changes import StateChange, StateChanges
from fleet.states import ModelState

PAGE_SIZE = 100  # state changes per read
IN_TRANSITION = (ModelState.LOADING, ModelState.UNLOADING)

Position = tuple[int, int]
"""The id of a state change, comparable."""


@dataclass(frozen=True, slots=True)
class CurrentValue:
    """A model, an operation or the memory: its event, and the part of it that is compared."""

    event: bytes
    compared: bytes


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state changes after a position, and the values of all else.

    `last` is the id of the latest state change before the values were read. `pending` are the operations that
    have not ended.
    """

    last: str
    changes: tuple[tuple[Position, bytes], ...]
    values: dict[str, CurrentValue]
    pending: frozenset[str]


class SnapshotReader:
    """Reads snapshots; its methods block."""

    def __init__(self, fleet: Fleet, changes: StateChanges) -> None:
        self._fleet = fleet
        self._changes = changes

    def last(self) -> str:
        """The id of the latest state change. Raises `StorageUnavailable`."""
        return self._changes.last()

    def read(self, after: str | None, wait_s: float = 0.0, pending: Collection[str] = ()) -> Snapshot:
        """A snapshot with the state changes after the id `after` (None: without any).

        Waits up to `wait_s` for the first of them. It has the operations `pending`, those of the state
        changes, and those of the models in transition. Raises `StorageUnavailable`.
        """
        after = self._changes.last() if after is None else after
        new = self._changes.read(after, wait_s)
        while len(new) % PAGE_SIZE == 0 and (more := new and self._changes.read(new[-1].id)):
            new += more
        values: dict[str, CurrentValue] = {}
        operations = {*pending, *(change.operation for change in new if change.operation)}
        rows = self._fleet.rows()
        for row in rows:
            values[f"model {row.name}"] = _value("model", serialize_model(row))
            if row.state in IN_TRANSITION and row.operation_id:
                operations.add(row.operation_id)
        still_pending = set()
        for id in sorted(operations):
            operation = self._fleet.operation(id)
            if operation is not None:
                values[f"operation {id}"] = _value("operation", serialize_operation(operation))
                if not operation.status.is_terminal:
                    still_pending.add(id)
        memory = serialize_memory(rows, self._fleet.workers())
        # a machine's free memory differs at each read; only the GPUs and the error are compared
        compared = {"gpus": memory["gpus"], "error": memory["error"]}
        values["gpu_memory"] = _value("gpu_memory", memory, compared)
        last = new[-1].id if new else after
        return Snapshot(last, tuple(map(_encoded, new)), values, frozenset(still_pending))


def position_of(id: str) -> Position:
    """The comparable form of a state change's id."""
    milliseconds, _, sequence = id.partition("-")
    return int(milliseconds), int(sequence)


def _encoded(change: StateChange) -> tuple[Position, bytes]:
    return position_of(change.id), sse.encode_one("state", serialize_state_change(change), change.id)


def _value(kind: str, data: Json, compared: Json | None = None) -> CurrentValue:
    return CurrentValue(
        sse.encode_one(kind, {"type": kind, kind: data}), orjson.dumps(data if compared is None else compared)
    )
