"""Finds loads that should be under way and are not, and continues them.

The process that began a load may have ended, so every worker asks every two seconds and after it stopped an
engine whether it is its turn to look (`is_due`); one of all workers looks.
"""

from __future__ import annotations

from contextlib import suppress

from config.settings import ModelDefinition
from fleet.errors import InsufficientMemory, NoWorker, StateConflict
from fleet.fleet import Fleet
from fleet.load_request import LoadOutcome, LoadRequest, assign_replicas, assignment_arguments, mib_argument
from fleet.loading import MEMORY_RELEASE_S
from fleet.memory import required_mib
from fleet.model_row import ModelRow
from fleet.model_summary import ModelSummary
from fleet.operation import new_operation_id
from fleet.placement import place_replicas
from fleet.states import ModelState
from governance.authorization import authorization_of
from scheduler.rejections import RECOVERABLE_CODES
from store.errors import UnknownModel
from store.scripts import redis_errors_translated


class Recovery:
    """Recovers models and loads after the end of a process. Methods raise `StorageUnavailable`."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet

    def is_due(self, interval_s: float) -> bool:
        """Whether this process should look now; of all workers that ask every `interval_s`, one does.

        The first one that asks does after a worker registered, and after a model was unloaded, failed or lost
        a replica.
        """
        # a bit shorter than the interval, so that a lone worker never asks too early
        return bool(self.fleet.scripts.run("recovery_due", interval_us=int(interval_s * 0.75e6)))

    def missing(self) -> list[str]:
        """The models that should be loaded and are not: enabled models, models lost with their worker, and
        crashed models whose restart is due by now.

        A model that an operator unloaded stays unloaded until it is loaded by request or the platform
        restarts.
        """
        now = self.fleet.scripts.now()
        return [model.name for model in self.fleet.summaries() if _is_missing(model, now)]

    def reload(self, name: str) -> LoadOutcome:
        """Load a missing model with the replicas and override of its last load. Raises as `Fleet.load`."""
        row = self.fleet.row(name)
        if not _is_missing(row, self.fleet.scripts.now()):
            return LoadOutcome("load", None)  # another worker was faster
        request = LoadRequest(row.least, row.override if row.wanted else {})
        return self.fleet.loads.begin(name, request, takeover=True)

    def replace_lost(self) -> list[LoadOutcome]:
        """Replace replicas that loaded models lost with their workers, and start crashed replicas again whose
        restart is due by now, as far as memory allows.

        Returns the outcomes whose workers the caller has to notify.
        """
        outcomes = []
        now = self.fleet.scripts.now()
        short = [model.name for model in self.fleet.summaries() if _replaceable(model, now)]
        for row in map(self.fleet.row, short):
            count = _replaceable(row, now)
            if not count:
                continue  # another worker was faster
            required = required_mib(row, dict(row.override))
            places = self._places_for_some(row, count, required)
            assignments = assign_replicas(row.name, new_operation_id("load"), places)
            if not assignments:
                continue  # the remaining replicas serve; a later call may find memory
            answer = self.fleet.scripts.run(
                "replace_lost",
                model=row.name,
                lease_us=self.fleet.lease_us,
                need_mib=mib_argument(required),
                places=assignment_arguments(assignments),
            )
            if answer[0] == b"ok":
                outcomes.append(LoadOutcome("load", None, assignments, begun=True))
        return outcomes

    def _places_for_some(self, row: ModelRow, most: int, required: int | None) -> list[str]:
        """Workers for as many replicas as fit, `most` at most."""
        workers = self.fleet.workers(row.name)
        for count in range(most, 0, -1):
            with suppress(NoWorker, InsufficientMemory):
                return place_replicas(row.definition, count, workers, required)
        return []

    def resume_pending(self) -> list[LoadOutcome]:
        """Continue the loads that wait for the unload of another model, where that unload has ended.

        Returns the outcomes whose workers the caller has to notify.
        """
        with redis_errors_translated():
            waiting = self.fleet.client.zrange(f"{self.fleet.scripts.prefix}evicting", 0, -1)
        outcomes = []
        for name in (item.decode() for item in waiting):
            # a model that is not configured here, or is loading again: a later call continues
            with suppress(UnknownModel, StateConflict):
                outcome = self._resume(self.fleet.row(name))
                outcomes += [outcome] if outcome else []
        return outcomes

    def _resume(self, row: ModelRow) -> LoadOutcome | None:
        operation = self.fleet.operation(row.operation_id or "")
        if operation is None or operation.evicts is None:
            return None
        evicted = self._evicted(operation.evicts)
        unload = None
        if evicted.state.is_terminal and evicted.wanted is not False:
            # the process that began the load ended before it began this unload; or the evicted model was lost
            # since, and must not be loaded again
            unload = self.fleet.evict(evicted.name, authorization_of(operation.authority))
        if evicted.workers:
            return unload
        required = required_mib(row, dict(row.override))
        try:
            places = place_replicas(row.definition, row.replicas, self.fleet.workers(row.name), required)
        except (NoWorker, InsufficientMemory) as error:
            # a driver needs a while to report the memory that the evicted model freed
            since = max(operation.created_at, evicted.changed_at or 0.0)
            if since + MEMORY_RELEASE_S < self.fleet.scripts.now():
                self.fleet.scripts.run(
                    "abort_load",
                    model=row.name,
                    operation=operation.id,
                    code=error.code,
                    message=error.message,
                )
            return None
        assignments = assign_replicas(row.name, operation.id, places)
        answer = self.fleet.scripts.run(
            "resume_pending",
            model=row.name,
            operation=operation.id,
            lease_us=self.fleet.lease_us,
            need_mib=mib_argument(required),
            places=assignment_arguments(assignments),
        )
        return LoadOutcome("load", operation, assignments, begun=True) if answer[0] == b"ok" else None

    def _evicted(self, name: str) -> ModelRow:
        """The row of a model that was to be unloaded; a dynamic one has left the catalogue since."""
        try:
            return self.fleet.row(name)
        except UnknownModel:
            return self.fleet.row_of(ModelDefinition(name, backend="stub"))


def _restart_is_due(model: ModelSummary | ModelRow, now: float) -> bool:
    return model.restart_at is not None and model.restart_at <= now


def _replaceable(model: ModelSummary | ModelRow, now: float) -> int:
    """How many replicas of a loaded model should be replaced now."""
    if model.state is not ModelState.LOADED:
        return 0
    return model.lost + (model.crashed if _restart_is_due(model, now) else 0)


def _is_missing(model: ModelSummary | ModelRow, now: float) -> bool:
    wanted = model.definition.enabled if model.wanted is None else model.wanted
    lost = model.state is ModelState.FAILED and (
        model.code in RECOVERABLE_CODES or _restart_is_due(model, now)
    )
    return wanted and (model.state is ModelState.UNLOADED or lost)
