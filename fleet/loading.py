"""Begins loads: checks the request, chooses workers, runs `lua/begin_load.lua` or `lua/restore_replicas.lua`.

A load of a model that is loaded, loading or unloading begins nothing new, unless replicas are missing. A load
that names a model to evict begins to unload that model as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from backends.catalogue import BACKENDS
from backends.model_shape import Device
from config.settings import ModelDefinition
from fleet.configuration_digest import definition_digest
from fleet.cooldown import Cooldown
from fleet.dynamic_model import MAX_DYNAMIC_MODELS, DynamicModel
from fleet.errors import InvalidLoadRequest, NoWorker, StateConflict, TooManyModels, check_authorized
from fleet.estimates import encode_shape
from fleet.fleet_state import FleetState
from fleet.load_request import (
    LoadOutcome,
    LoadRequest,
    assign_replicas,
    assignment_arguments,
    check_override,
    check_replicas,
    mib_argument,
)
from fleet.memory import need_in_words, required_mib
from fleet.model_row import ModelRow, fingerprint
from fleet.operation import Operation, new_operation_id
from fleet.placement import freed_by_unload, place_replicas, reserved_mib
from fleet.states import ModelState
from fleet.worker_row import WorkerRow
from governance.authorization import PLATFORM, Authorization

LOADABLE = (ModelState.UNLOADED, ModelState.FAILED)
LOAD_ATTEMPTS = 3
"""How often a load chooses workers when other loads take their memory first."""

Charges = Mapping[str, float]
"""What a switch of models costs the tenants for whose requests it is made: ms divided by their weight."""

MEMORY_RELEASE_S = 10.0
"""How long a driver may take to report the memory that an unloaded model freed."""


@dataclass(frozen=True, slots=True)
class _CurrentLoad:
    """A load that began earlier: the model's state, the operation, and the values that were requested."""

    state: ModelState
    operation: str
    replicas: int
    override: Mapping[str, Any]

    @classmethod
    def parse(cls, state: bytes, operation: bytes, replicas: bytes, override: bytes) -> _CurrentLoad:
        """Parse the answer of `begin_load.lua`."""
        parsed = ModelState(state.decode())
        return cls(parsed, operation.decode(), int(replicas or 0), orjson.loads(override))


class LoadService:
    """Begins loads. `evict` begins the unload of another model. Methods raise `StorageUnavailable`."""

    def __init__(
        self, fleet: FleetState, cooldown: Cooldown, evict: Callable[[str, Authorization], LoadOutcome]
    ) -> None:
        self._fleet = fleet
        self._cooldown = cooldown
        self._evict = evict

    def checked(self, model: ModelDefinition, request: LoadRequest) -> LoadRequest:
        """The request as `begin` takes it. Raises `InvalidLoadRequest`, `UnknownModel` (to be evicted)."""
        check_override(model, request.override)
        if request.replicas is not None:
            check_replicas(model, request.replicas)
        if request.evict is not None:
            self._check_eviction(model.name, request.evict)
        override = BACKENDS[model.backend].expanded(model.options, request.override)
        asked = {**request.override, **request.mapped}
        return replace(request, override={**override, **request.mapped}, mapped={}, asked=asked)

    def check_state(self, row: ModelRow, request: LoadRequest) -> None:
        """Raise what `begin` would raise because of the states of the models in `row` and at this moment."""
        if row.state is ModelState.LOADED and _restores(row, request):
            return
        if row.state not in LOADABLE or row.workers:
            state = ModelState.UNLOADING if row.state in LOADABLE else row.state
            self._existing_load(
                row.name,
                request,
                _CurrentLoad(state, row.operation_id or "", row.replicas, row.override),
            )
        else:
            self._cooldown.check(row.name)
            self._model_to_evict(request)

    def begin(
        self,
        name: str,
        request: LoadRequest,
        authorization: Authorization = PLATFORM,
        *,
        takeover: bool = False,
        charges: Charges | None = None,
    ) -> LoadOutcome:
        """Begin to load with a request that was checked before.

        With `takeover`, nothing happens if an operator has unloaded the model since, or before its restart is
        due. A load for waiting requests has `charges`; nothing happens if none waits any more, before a
        restart is due, and in the pause after a failure.
        """
        for _ in range(LOAD_ATTEMPTS):
            row = self.row_to_load(name, request)
            by_platform = takeover or charges is not None
            if by_platform and row.state is ModelState.LOADED:
                return LoadOutcome("load", None)  # another process was faster
            if row.state is ModelState.LOADED and _restores(row, request):
                if (restored := self._restore(row, authorization)) is not None:
                    return restored
                continue
            if row.state not in LOADABLE:
                current = _CurrentLoad(row.state, row.operation_id or "", row.replicas, row.override)
                return self._existing_load(name, request, current)
            if not by_platform:
                self._cooldown.check(name)
            answer, outcome = self._attempt(
                row, request, self._model_to_evict(request), authorization, takeover, charges
            )
            if outcome is not None:
                if not by_platform:
                    self._cooldown.record(name, "load")
                return outcome
            if answer[0] == b"over":
                return LoadOutcome("load", None)
            if answer[0] == b"full":
                raise TooManyModels(
                    f"the limit of {MAX_DYNAMIC_MODELS} models that the configuration does not name is "
                    "reached: unload one",
                    param="modelId",
                )
            if answer[0] == b"registered":
                raise StateConflict(f"model {name} was registered a moment ago: load it again")
            if answer[0] == b"state":
                return self._existing_load(name, request, _CurrentLoad.parse(*answer[1:]))
        raise NoWorker("the chosen workers are shutting down or got other work; retry", retry_after_s=5)

    def row_to_load(self, name: str, request: LoadRequest) -> ModelRow:
        """The row of a model as this request loads it; it need not be in the catalogue yet."""
        if request.dynamic is None:
            row = self._fleet.row(name)
        else:
            row = replace(
                self._fleet.row_of(request.dynamic.definition),
                artifact_mib=request.dynamic.size_mib,
                shape=self.shape(request.dynamic),
            )
        return row if request.need_mib is None else replace(row, artifact_mib=request.need_mib, shape="")

    def shape(self, model: DynamicModel) -> str:
        """The shape of a model whose files no worker has read yet, for the largest GPU that may run it.

        In the form of Redis; "" if its files do not say it.
        """
        if model.shape is None:
            return ""
        workers = self._fleet.workers(model.definition.name)
        memories = [worker.memory for worker in workers if worker.fits(model.definition.device)]
        gpus = [memory.total_mib for memory in memories if memory is not None and memory.gpus]
        return encode_shape(model.shape, Device(bool(gpus), max(gpus, default=0))).decode()

    def _attempt(  # noqa: PLR0913, PLR0917 - all that a load consists of
        self,
        row: ModelRow,
        request: LoadRequest,
        evicted: ModelRow | None,
        authorization: Authorization,
        takeover: bool,
        charges: Charges | None,
    ) -> tuple[Any, LoadOutcome | None]:
        """Choose workers and run `begin_load`. Returns its answer, and the outcome if the load has begun."""
        count = row.definition.replicas if request.replicas is None else request.replicas
        required = required_mib(row, dict(request.override))
        operation = new_operation_id("load")
        freed = {} if evicted is None else freed_by_unload(evicted)
        limits, unloaded = self._fleet.settings.limits, (evicted or row).definition
        workers = self._fleet.workers(row.name)
        # if the memory that the unload frees is unknown, the memory is checked after the unload
        needed = None if freed is None else required
        places = place_replicas(
            row.definition, count, workers, needed, freed, parts=need_in_words(row, request.override)
        )
        assignments = assign_replicas(row.name, operation, places) if evicted is None else ()
        answer = self._fleet.scripts.run(
            "begin_load",
            model=row.name,
            operation=operation,
            replicas=count,
            lease_us=self._fleet.lease_us,
            override=orjson.dumps(dict(request.override)),
            need_mib=mib_argument(required),
            variant=fingerprint(row.definition, request.override),
            evicts="" if evicted is None else evicted.name,
            evict_us=int((limits.unload_limit_s(unloaded) + MEMORY_RELEASE_S) * 2e6),
            reserved=_reservation(places, workers, required) if evicted else "",
            automatic=int(takeover),
            authorization=authorization.argument(definition_digest(row.definition, request.override)),
            dynamic_model="" if request.dynamic is None else request.dynamic.to_json(),
            max_dynamic_models=MAX_DYNAMIC_MODELS,
            files_mib=0 if request.dynamic is None else request.dynamic.size_mib,
            files_shape="" if request.dynamic is None else row.shape,
            last_load="" if takeover or charges is not None else request.last_load(),
            charges="" if charges is None else orjson.dumps(dict(charges)),
            places=assignment_arguments(assignments),
        )
        check_authorized(answer)
        # the script runs again after a lost answer, and then finds the load that its first run began
        begun = answer[0] == b"ok" or (answer[0] == b"state" and answer[2] == operation.encode())
        if not begun:
            return answer, None
        outcome = LoadOutcome("load", self._fleet.begun(operation, row.name), assignments, begun=True)
        if request.evict is not None:
            outcome = self._with_eviction(outcome, request.evict, authorization.for_consequence())
        return answer, outcome

    def _restore(self, row: ModelRow, authorization: Authorization) -> LoadOutcome | None:
        """Begin to restore the missing replicas of a loaded model; None if the state changed meanwhile."""
        required = required_mib(row, dict(row.override))
        missing = row.replicas - row.staying
        places = place_replicas(row.definition, missing, self._fleet.workers(row.name), required)
        operation = new_operation_id("load")
        assignments = assign_replicas(row.name, operation, places)
        answer = self._fleet.scripts.run(
            "restore_replicas",
            model=row.name,
            operation=operation,
            lease_us=self._fleet.lease_us,
            need_mib=mib_argument(required),
            authorization=authorization.argument(),
            grows_from="",
            reason="",
            places=assignment_arguments(assignments),
        )
        check_authorized(answer)
        if answer[0] == b"under_way":
            return LoadOutcome("load", self._fleet.operation(row.operation_id or ""))
        if answer[0] != b"ok":
            return None
        return LoadOutcome("load", self._fleet.begun(operation, row.name), assignments, begun=True)

    def _existing_load(self, name: str, request: LoadRequest, current: _CurrentLoad) -> LoadOutcome:
        """The outcome of a load of a model that is loaded, loading or unloading."""
        if current.state is ModelState.UNLOADING:
            raise StateConflict(f"model {name} is being unloaded", code="model_unloading", param="model")
        operation = self._fleet.operation(current.operation) if current.operation else None
        if request.dynamic is not None and request.dynamic.definition != self._fleet.catalogue.current(name):
            raise InvalidLoadRequest(
                f"model {name} is {current.state} with another definition: unload it first", param="modelId"
            )
        if request.evict is not None and not self._evicts_already(request.evict, current.state, operation):
            raise InvalidLoadRequest(
                f"model {name} is {current.state}: evictModel is accepted only while it is unloaded; "
                f"unload {request.evict} with a separate request",
                param="evictModel",
            )
        same = request.override == current.override and request.replicas in (None, current.replicas)
        if request.is_specified and not (same and current.state is ModelState.LOADING):
            chosen = ", ".join(request.parameters) or "replicas and overrides"
            raise InvalidLoadRequest(
                f"model {name} is {current.state}: {chosen} can be chosen only while it is unloaded",
                param=next(iter((*request.parameters, *request.override)), "replicas"),
            )
        return LoadOutcome("load", operation)

    # ---- eviction: another model is unloaded first

    def _check_eviction(self, name: str, evict: str) -> None:
        self._fleet.definition(evict, param="evictModel")
        if evict == name:
            raise InvalidLoadRequest("evictModel names the model itself", param="evictModel")

    def _evicts_already(self, evict: str, state: ModelState, operation: Operation | None) -> bool:
        """Whether a load that is under way unloads that model as well, or found it unloaded."""
        if state is not ModelState.LOADING or operation is None:
            return False
        return operation.evicts == evict or self._fleet.row(evict).state is ModelState.UNLOADED

    def _model_to_evict(self, request: LoadRequest) -> ModelRow | None:
        """The model to unload first; None if the request names none, or that model has no replica left."""
        if request.evict is None:
            return None
        row = self._fleet.row(request.evict)
        if row.state is ModelState.LOADING:
            raise StateConflict(
                f"model {request.evict} is being loaded", code="model_loading", param="evictModel"
            )
        return row if row.workers else None

    def _with_eviction(self, outcome: LoadOutcome, evict: str, authorization: Authorization) -> LoadOutcome:
        """Begin to unload the other model. If this process ends before, `Recovery.resume_pending` does it.

        For a model that has no replica left, this only records that it must not be loaded again.
        """
        try:
            eviction = self._evict(evict, authorization)
        except StateConflict:
            return outcome
        if outcome.assignments and not eviction.begun:
            return outcome
        return replace(outcome, eviction=eviction)


def _restores(row: ModelRow, request: LoadRequest) -> bool:
    """Whether the request, which must not differ from the current load, restores missing replicas."""
    same = not request.override or request.override == row.override
    missing = row.staying < row.replicas and request.replicas in (None, row.replicas)
    return missing and same and request.evict is None


def _reservation(places: Sequence[str], workers: Sequence[WorkerRow], required: int | None) -> bytes | str:
    """The memory to reserve until the unload ends, as JSON; "" if the need is unknown."""
    return orjson.dumps(reserved_mib(places, workers, required)) if required else ""
