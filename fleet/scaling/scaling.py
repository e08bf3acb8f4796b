"""Takes the steps by which replicas follow the load, and reads what they are chosen by.

Any worker looks, as for recovery. What a look has to know of earlier ones is in Redis (`scaling:<model>`),
for models whose replicas follow the load alone; others cost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fleet.fleet import Fleet
from fleet.load_request import (
    LoadOutcome,
    assign_replicas,
    assignment_arguments,
    mib_argument,
    parse_assignments,
)
from fleet.memory import required_mib
from fleet.model_row import ModelRow
from fleet.operation import new_operation_id
from fleet.scaling.choice import Choice, ModelLoad, Snapshot, Step, choose_steps
from fleet.states import ModelState
from governance.authorization import PLATFORM
from store.scripts import redis_errors_translated

NOTES_KEPT_S = 15.0
"""What a look has noted is forgotten if no further look follows for so long."""

MAX_NEEDS = 64
"""Models that wait for memory of which a look takes notice."""


class Scaling:
    """Adds and releases replicas of loaded models. Methods raise `StorageUnavailable`."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    def look(self, lacking: Sequence[str] = ()) -> list[LoadOutcome]:
        """Take the steps that are due. `lacking` are models that could not be loaded for lack of memory.

        Returns the outcomes whose workers the caller has to notify.
        """
        loads = self._loads()
        if not loads:
            return []
        needs = list(self._needs(lacking)) if any(_may_change(load) for load in loads) else []
        snapshot = Snapshot(self._fleet.scripts.now(), loads, self._fleet.workers(), needs)
        choice = choose_steps(snapshot, self._fleet.settings.scaling)
        self._note(choice)
        outcomes = (self._grow(step) if step.worker else self._release(step) for step in choice.steps)
        return [outcome for outcome in outcomes if outcome is not None]

    def _loads(self) -> list[ModelLoad]:
        """The loaded models whose replicas follow the load."""
        models = [model for model in self._fleet.current_models() if model.scale_max is not None]
        rows = (
            [row for row in self._fleet.read_rows(models) if row.state is ModelState.LOADED] if models else []
        )
        if not rows:
            return []
        answer = self._fleet.scripts.run("read_load", models=[row.name for row in rows])
        return [_parse(row, *fields) for row, fields in zip(rows, answer, strict=True)]

    def _needs(self, lacking: Sequence[str]) -> list[ModelRow]:
        """The models that wait for memory: for another's unload, for requests, or to be loaded again."""
        with redis_errors_translated():
            waiting = [
                name.decode()
                for key in ("evicting", "demand")
                for name in self._fleet.client.zrange(f"{self._fleet.scripts.prefix}{key}", 0, MAX_NEEDS - 1)
            ]
        models = self._fleet.catalogue.models
        named = dict.fromkeys([*lacking, *waiting])
        concerned = [models[name] for name in named if name in models][:MAX_NEEDS]
        rows = self._fleet.read_rows(concerned) if concerned else []
        return [row for row in rows if row.state is not ModelState.LOADED]

    def _note(self, choice: Choice) -> None:
        times = [[name, *map(_microseconds, since)] for name, since in choice.notes.items()]
        self._fleet.scripts.run(
            "note_load", kept_ms=int(NOTES_KEPT_S * 1000), loads=[item for line in times for item in line]
        )

    def _grow(self, step: Step) -> LoadOutcome | None:
        row, operation = step.load.row, new_operation_id("load")
        assignments = assign_replicas(row.name, operation, [step.worker or ""])
        answer = self._fleet.scripts.run(
            "restore_replicas",
            model=row.name,
            operation=operation,
            lease_us=self._fleet.lease_us,
            need_mib=mib_argument(required_mib(row, dict(row.override))),
            authorization=PLATFORM.argument(),
            grows_from=row.replicas,
            reason=step.reason,
            places=assignment_arguments(assignments),
        )
        if answer[0] != b"ok":
            return None  # the model or the memory has changed: the next look chooses again
        return LoadOutcome("load", self._fleet.begun(operation, row.name), assignments, begun=True)

    def _release(self, step: Step) -> LoadOutcome | None:
        answer = self._fleet.scripts.run(
            "release_replica",
            model=step.load.row.name,
            wanted=step.load.row.replicas,
            replica=step.replica or "",
            reason=step.reason,
        )
        released = parse_assignments([item.decode() for item in answer[1:]])
        return LoadOutcome("unload", None, released, begun=True) if answer[0] == b"ok" else None


def _may_change(load: ModelLoad) -> bool:
    """Whether another model's need for memory makes a difference to this one."""
    return load.surplus > 0 or load.wait_s > 0


def _parse(row: ModelRow, *fields: Any) -> ModelLoad:
    run_ms, is_changing, failed_us, beyond_us, quiet_us = fields
    return ModelLoad(
        row,
        None if run_ms is None else float(run_ms),
        bool(is_changing),
        _seconds(failed_us),
        _seconds(beyond_us),
        _seconds(quiet_us),
    )


def _seconds(value: bytes | None) -> float | None:
    return int(value) / 1e6 if value else None


def _microseconds(value: float | None) -> int | str:
    return "" if value is None else round(value * 1e6)
