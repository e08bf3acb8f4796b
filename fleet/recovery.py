"""What should be going on and is not: whoever looks finds it, since whoever began it may be dead.

Every worker looks now and then, and when it has stopped an engine.
"""

from __future__ import annotations

from contextlib import suppress

from fleet.errors import InsufficientMemory, NoWorker, StateConflict
from fleet.estimate import need_mib
from fleet.fleet import SETTLING_S, Fleet
from fleet.load_request import LoadOutcome, LoadRequest, assigned, mib_text, pairs
from fleet.model_row import ModelRow
from fleet.operation import operation_id
from fleet.placement import place
from fleet.states import ModelState
from scheduler.errors import UnknownModel
from scheduler.ledger import RECOVERABLE_CODES
from scheduler.scripts import redis_errors_translated


class Recovery:
    """Looks after all models. Methods raise `StorageUnavailable` when Redis is away."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet

    def missing(self) -> list[str]:
        """The models that should be loaded and are not: enabled ones, and those lost with their worker.

        One that an operator unloaded stays unloaded until somebody loads it or the platform starts anew.
        """
        return [row.name for row in self.fleet.rows() if self._is_missing(row)]

    def _is_missing(self, row: ModelRow) -> bool:
        should = row.definition.enabled if row.wanted is None else row.wanted
        lost = row.state is ModelState.FAILED and row.code in RECOVERABLE_CODES
        return should and (row.state is ModelState.UNLOADED or lost)

    def reload(self, name: str) -> LoadOutcome:
        """Load a model again as it was loaded last. Raises as `load` does."""
        row = self.fleet.row(name)
        if not self._is_missing(row):
            return LoadOutcome("load", None)  # somebody was quicker
        request = LoadRequest(row.replicas, row.override if row.wanted else {})
        return self.fleet.begin(name, request, takeover=True)

    def replace_lost(self) -> list[LoadOutcome]:
        """Replace replicas that loaded models lost with their workers, as far as there is room.

        Returns what is to be rung for.
        """
        changes = []
        for row in self.fleet.rows():
            if row.state is not ModelState.LOADED or not row.lost:
                continue
            need = need_mib(row, dict(row.override))
            assignments = assigned(row.name, operation_id("load"), self._places(row, need))
            if not assignments:
                continue  # the others go on; a look later there may be room
            answer = self.fleet.scripts.run(
                "replace_lost", row.name, self.fleet.lease_us, mib_text(need), *pairs(assignments)
            )
            if answer[0] == b"ok":
                changes.append(LoadOutcome("load", None, assignments, begun=True))
        return changes

    def _places(self, row: ModelRow, need: int | None) -> list[str]:
        """Where as many of the lost replicas can be as there is room for."""
        workers = self.fleet.workers(row.name)
        for count in range(row.lost, 0, -1):
            with suppress(NoWorker, InsufficientMemory):
                return place(row.definition, count, workers, need)
        return []

    def resume_pending(self) -> list[LoadOutcome]:
        """Go on with the loads that waited for another model's end, as far as that has come.

        Every worker calls it now and then and when it has stopped an engine, so that it does not matter who
        began them. Returns what is to be rung for.
        """
        with redis_errors_translated():
            waiting = self.fleet.client.zrange(f"{self.fleet.scripts.prefix}evicting", 0, -1)
        changes = []
        for name in (item.decode() for item in waiting):
            with suppress(UnknownModel, StateConflict):  # not configured here, or on its way again: not now
                change = self._go_on(self.fleet.row(name))
                changes += [change] if change else []
        return changes

    def _go_on(self, row: ModelRow) -> LoadOutcome | None:
        operation = self.fleet.operation(row.operation_id or "")
        if operation is None or operation.evicts is None:
            return None
        evicted = self.fleet.row(operation.evicts)
        first = None
        if evicted.state.is_terminal and evicted.wanted is not False:
            # whoever began the load did not come so far; or it was lost meanwhile, and shall not come back
            first = self.fleet.unload(evicted.name)
        if evicted.workers:
            return first
        need = need_mib(row, dict(row.override))
        try:
            places = place(row.definition, row.replicas, self.fleet.workers(row.name), need)
        except (NoWorker, InsufficientMemory) as error:
            # a driver needs a while to show what the evicted model gave back
            since = max(operation.created_at, evicted.changed_at or 0.0)
            if since + SETTLING_S < self.fleet.scripts.now():
                self.fleet.scripts.run("abort_load", row.name, operation.id, error.code, error.message)
            return None
        assignments = assigned(row.name, operation.id, places)
        answer = self.fleet.scripts.run(
            "resume_pending", row.name, operation.id, self.fleet.lease_us, mib_text(need), *pairs(assignments)
        )
        return LoadOutcome("load", operation, assignments, begun=True) if answer[0] == b"ok" else None
