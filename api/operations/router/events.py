"""The events of `GET /models/sse`, as llama-server's router names them. Pure, but for the last progress.

`model_status` follows each change of a state, so that none is missed; progress is that of the operations, as
they were read last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import orjson

from api.operations.router.status import EXIT_CODE, LOADING, download_progress, load_progress, value_of
from fleet.operation import Operation
from fleet.state_changes import CatalogueChange, Change, StateChange
from fleet.states import ModelState, OperationStatus

ALL_MODELS = "*"
"""The model of an event that concerns the list of models."""


class RouterEvent(NamedTuple):
    """An event: the model that it concerns, and its bytes on the stream."""

    model: str
    data: bytes


class EventSource:
    """Makes the events of changes and operations. It keeps the progress that it has reported."""

    def __init__(self) -> None:
        self._reported: dict[str, float] = {}

    def events(self, changes: Sequence[Change], operations: Iterable[Operation]) -> list[RouterEvent]:
        """The events of what was read: its changes in their order, and the progress of its operations."""
        running = [one for one in operations if one.status is OperationStatus.RUNNING]
        found = [event for change in changes for event in _of_change(change)]
        found += [event for one in running for event in self._of_progress(one)]
        self._reported = {one.id: one.progress for one in running}
        return found

    def _of_progress(self, operation: Operation) -> Iterator[RouterEvent]:
        if self._reported.get(operation.id) == operation.progress:
            return
        if operation.kind == "load":
            data = {"status": LOADING, "progress": load_progress(operation)}
            yield _event(operation.model, "model_status", data)
        elif operation.kind == "download":
            yield _event(operation.model, "download_progress", download_progress(operation))


def models_reload() -> RouterEvent:
    """The event of a list of models that was read again."""
    return _event(ALL_MODELS, "models_reload")


def _of_change(change: Change) -> Iterator[RouterEvent]:
    if isinstance(change, StateChange):
        yield from _of_state(change)
    elif isinstance(change, CatalogueChange):
        yield from _of_catalogue(change)


def _of_state(change: StateChange) -> Iterator[RouterEvent]:
    state = change.state
    if state is ModelState.UNLOADING:
        return  # llama-server reports the end alone
    data: dict[str, Any] = {"status": value_of(state)}
    if state is ModelState.LOADED:
        data["info"] = {}
    elif state in (ModelState.UNLOADED, ModelState.FAILED):
        data["exit_code"] = EXIT_CODE if state is ModelState.FAILED else 0
    yield _event(change.model, "model_status", data)


def _of_catalogue(change: CatalogueChange) -> Iterator[RouterEvent]:
    if change.change == "removed":
        yield _event(change.model, "model_remove")
    elif change.change == "registered":
        yield models_reload()
    elif change.change == "download" and change.status == OperationStatus.COMPLETED:
        yield _event(change.model, "download_finished")
    elif change.change == "download" and change.status != OperationStatus.PENDING:
        yield _event(change.model, "download_failed")


def _event(model: str, event: str, data: object = None) -> RouterEvent:
    """llama-server's events are `data:` lines alone, whose JSON has the name."""
    members: dict[str, object] = {"model": model, "event": event}
    if data is not None:
        members["data"] = data
    return RouterEvent(model, b"data: %b\n\n" % orjson.dumps(members))
