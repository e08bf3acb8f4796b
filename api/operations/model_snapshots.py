"""Reads what changed about the models, as the events of `GET /v1/admin/events`.

There are two sources. Changes of states, of added models, proposals and alerts come from the fleet's stream,
in order, and can be replayed. Models, operations and the memory are read as they are now; a client gets those
that differ from what it has.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import orjson

from api.http import sse
from api.operations.serializers import (
    Json,
    serialize_change,
    serialize_memory,
    serialize_model,
    serialize_operation,
)
from fleet.fleet import Fleet
from fleet.operation import Operation
from fleet.state_changes import Change, StateChanges
from fleet.states import ModelState

PAGE_SIZE = 100  # state changes per read
LATEST = 10
"""Operations that each snapshot has, whatever they are: a flush changes no state, and may end at once."""

IN_TRANSITION = (ModelState.LOADING, ModelState.UNLOADING)

MODEL = "model "
"""The keys of the models' values begin with it."""

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
    have not ended. `began_at` is when the reading of the values began (monotonic clock, seconds).
    `raw_changes` and `operations` are what the events were made of.
    """

    last: str
    changes: tuple[tuple[Position, bytes], ...]
    values: dict[str, CurrentValue]
    pending: frozenset[str]
    began_at: float
    raw_changes: tuple[Change, ...] = ()
    operations: tuple[Operation, ...] = ()


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
        changes, those of the models in transition, and the latest ones. Raises `StorageUnavailable`.
        """
        after = self._changes.last() if after is None else after
        new = self._changes.read(after, wait_s)
        while len(new) % PAGE_SIZE == 0 and (more := new and self._changes.read(new[-1].id)):
            new += more
        values: dict[str, CurrentValue] = {}
        began_at = time.monotonic()
        operations = {*pending, *(change.operation for change in new if change.operation)}
        rows = self._fleet.rows()
        for row in rows:
            values[f"{MODEL}{row.name}"] = _value("model", serialize_model(row))
            if row.state in IN_TRANSITION and row.operation_id:
                operations.add(row.operation_id)
        found = {one.id: one for one in self._fleet.operation_index.latest(LATEST)}
        for id in operations - found.keys():
            if (operation := self._fleet.operation(id)) is not None:
                found[id] = operation
        for id, operation in sorted(found.items()):
            values[f"operation {id}"] = _value("operation", serialize_operation(operation))
        still_pending = {id for id, operation in found.items() if not operation.status.is_terminal}
        memory = serialize_memory(rows, self._fleet.workers())
        # a machine's free memory differs at each read; only the GPUs and the error are compared
        compared = {"gpus": memory["gpus"], "error": memory["error"]}
        values["gpu_memory"] = _value("gpu_memory", memory, compared)
        last = new[-1].id if new else after
        encoded, pending_ids = tuple(map(_encoded, new)), frozenset(still_pending)
        return Snapshot(last, encoded, values, pending_ids, began_at, tuple(new), tuple(found.values()))


def removals(before: Mapping[str, CurrentValue], now: Mapping[str, CurrentValue]) -> list[bytes]:
    """The events of the models that are no longer among the values."""
    names = [key.removeprefix(MODEL) for key in before if key.startswith(MODEL) and key not in now]
    return [sse.encode_one("model_removed", {"type": "model_removed", "name": name}) for name in names]


def position_of(id: str) -> Position:
    """The comparable form of a state change's id."""
    milliseconds, _, sequence = id.partition("-")
    return int(milliseconds), int(sequence)


def _encoded(change: Change) -> tuple[Position, bytes]:
    data = serialize_change(change)
    event = sse.encode_one(data["type"], data, change.id)
    return position_of(change.id), event


def _value(kind: str, data: Json, compared: Json | None = None) -> CurrentValue:
    return CurrentValue(
        sse.encode_one(kind, {"type": kind, kind: data}), orjson.dumps(data if compared is None else compared)
    )
