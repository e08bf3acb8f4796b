"""The fleet: reads the state of models, workers and operations, and begins loads, unloads and flushes."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import orjson
import redis

from backends.catalogue import BACKENDS
from config.settings import ModelDefinition, Settings
from fleet.catalogue import POLL_S
from fleet.configuration_digest import definition_digest
from fleet.cooldown import Cooldown
from fleet.drain import Drains
from fleet.dynamic_model import MAX_DYNAMIC_MODELS
from fleet.engine_report import EngineRow, parse_engine_rows
from fleet.errors import InvalidLoadRequest, NotAuthorized, NoWorker, StateConflict, TooManyModels
from fleet.flush import MAX_EPOCHS, MAX_OPEN, FlushScope
from fleet.load_request import (
    AS_CONFIGURED,
    Assignment,
    LoadOutcome,
    LoadRequest,
    assign_replicas,
    assignment_arguments,
    check_override,
    check_replicas,
    mib_argument,
)
from fleet.memory import required_mib
from fleet.model_row import PARTS, ModelRow, fingerprint, parse_model_row
from fleet.model_summary import FIELDS, ModelSummary, parse_model_summary
from fleet.operation import Operation, begun_operation, new_operation_id, parse_operation
from fleet.operation_index import OperationIndex
from fleet.placement import freed_by_unload, place_replicas, reserved_mib
from fleet.serving_state import ServingState, parse_serving_state
from fleet.state_changes import StateChanges
from fleet.states import ModelState, OperationStatus
from fleet.worker_detail import MAX_REPLICAS, WorkerDetail, parse_worker_page
from fleet.worker_reports import WorkerReports
from fleet.worker_row import WorkerRow, parse_worker_rows
from governance.authorization import PLATFORM, Authorization
from scheduler.errors import StorageUnavailable
from scheduler.scripts import call_id, redis_errors_translated

LOADABLE = (ModelState.UNLOADED, ModelState.FAILED)
LOAD_ATTEMPTS = 3
"""How often a load chooses workers when other loads take their memory first."""

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


class Fleet(WorkerReports):
    """All models of the catalogue, their workers and operations. Methods raise `StorageUnavailable`.

    The API calls `load` and `unload`, Redis decides in one script each, and the workers do the work and
    report (`WorkerReports`).
    """

    def __init__(self, client: redis.Redis, settings: Settings) -> None:
        super().__init__(client, settings)
        self.cooldown = Cooldown(self.scripts, settings.governance)
        self.operation_index = OperationIndex(self.scripts)
        self.drains = Drains(self.scripts)
        self.state_changes = StateChanges(client, settings.redis.prefix)

    # ---- reading

    def definition(self, name: str, param: str = "model") -> ModelDefinition:
        """The definition of a model. Raises `UnknownModel`, which names the request's field `param`."""
        return self.catalogue.current(name, param)

    def row(self, name: str) -> ModelRow:
        """One model. Raises `UnknownModel`."""
        return self.row_of(self.definition(name))

    def file_digests(self, name: str) -> dict[str, str]:
        """The digests of a model's files by host, as the workers reported them within the last seconds."""
        with redis_errors_translated():
            found = self.client.hgetall(f"{self.scripts.prefix}model_files:{name}")
        return {host.decode(): it.decode() for host, it in found.items()}

    def rows(self) -> list[ModelRow]:
        """All models at one instant, in the catalogue's order."""
        return self._read(self._all(after_s=0.0))

    def row_of(self, model: ModelDefinition) -> ModelRow:
        """One model of which the caller has the definition: it may have left the catalogue meanwhile."""
        return self._read([model])[0]

    def summaries(self) -> list[ModelSummary]:
        """The main fields of all models, as `rows` would have them; cheap with many replicas."""
        models = self._all(after_s=0.0)
        answer = self.scripts.run("read_summaries", *(model.name for model in models))
        groups = [answer[at : at + FIELDS] for at in range(0, len(answer), FIELDS)]
        return [parse_model_summary(model, group) for model, group in zip(models, groups, strict=True)]

    def workers(self, for_model: str = "") -> list[WorkerRow]:
        """The registered workers by name; memory that is reserved for `for_model` itself counts as free."""
        return parse_worker_rows(self.scripts.run("read_workers", for_model))

    def worker_page(self, after: str = "", limit: int = 100) -> tuple[list[WorkerDetail], bool]:
        """A page of the workers by name, with their replicas, and whether more follow.

        They are those that are registered, those that were lost within the last day, and those that an
        operator drains.
        """
        answer = self.scripts.run("list_workers", after, limit, MAX_REPLICAS, "")
        return parse_worker_page(answer, self.lease_us)

    def worker(self, name: str) -> WorkerDetail | None:
        """The worker of this name, None if `worker_page` would not have it."""
        answer = self.scripts.run("list_workers", "", 1, MAX_REPLICAS, name)
        return next(iter(parse_worker_page(answer, self.lease_us)[0]), None)

    def serving_state(self) -> ServingState:
        """Whether the models are served; cheap with many replicas."""
        models = self._all()
        answer = self.scripts.run("read_serving_state", *(model.name for model in models))
        return parse_serving_state(models, answer)

    def runner_id(self) -> str:
        """The configured id of the platform, else one that is made once and stays in Redis."""
        if self.settings.runner_id is not None:
            return self.settings.runner_id
        key = f"{self.scripts.prefix}runner_id"
        with redis_errors_translated():
            self.client.set(key, f"stoker-{secrets.token_hex(6)}", nx=True)
            return str(self.client.get(key).decode())

    def engines(self) -> list[EngineRow]:
        """The engines of all replicas that are up, model by model in the catalogue's order."""
        return parse_engine_rows(self.scripts.run("read_engines", *(model.name for model in self._all())))

    def operation(self, id: str) -> Operation | None:
        """A load, unload or flush by its id. Redis holds it for a day after its end."""
        with redis_errors_translated():
            row = self.client.hgetall(f"{self.scripts.prefix}operation:{id}")
        under_way = b"finished_us" not in row
        return parse_operation(id, row, self.scripts.now() if under_way else 0.0) if row else None

    @property
    def lease_us(self) -> int:
        """How long a replica stays assigned to a worker without a heartbeat, in microseconds."""
        return self.settings.lease.lease_ms * 1000

    def _all(self, after_s: float = POLL_S) -> list[ModelDefinition]:
        """The models of the catalogue, which is at most `after_s` old."""
        self.catalogue.refresh(after_s=after_s)
        return list(self.catalogue.models.values())

    def _read(self, definitions: list[ModelDefinition]) -> list[ModelRow]:
        names = [model.name for model in definitions]
        answer = self.scripts.run("read_models", int(self.settings.restart.window_s * 1e6), *names)
        groups = [answer[at : at + PARTS] for at in range(0, len(answer), PARTS)]
        return [parse_model_row(model, *group) for model, group in zip(definitions, groups, strict=True)]

    # ---- loading

    def load(
        self, name: str, request: LoadRequest = AS_CONFIGURED, authorization: Authorization = PLATFORM
    ) -> LoadOutcome:
        """Begin to load a model. The caller notifies the workers that the outcome names.

        If the model is loaded and replicas are missing, the load restores them while the others serve. If it
        is complete, or loading, nothing happens, the outcome has the latest operation, and the authorization
        is used up all the same. A refused load uses nothing up. Raises `UnknownModel`, `InvalidLoadRequest`
        (also if the request differs from the current load), `NoWorker`, `InsufficientMemory`,
        `StateConflict` (the model is being unloaded, or the model to evict is being loaded),
        `CoolingDown`, `NotAuthorized`.
        """
        model = request.dynamic.definition if request.dynamic else self.definition(name)
        outcome = self.begin(name, self.checked(model, request), authorization)
        return outcome if outcome.begun else self._use(authorization, outcome, name)

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
            self.cooldown.check(row.name)
            self._model_to_evict(request)

    def begin(
        self,
        name: str,
        request: LoadRequest,
        authorization: Authorization = PLATFORM,
        *,
        takeover: bool = False,
    ) -> LoadOutcome:
        """Begin to load with a request that was checked before.

        With `takeover`, nothing happens if an operator has unloaded the model since, or before its restart is
        due.
        """
        for _ in range(LOAD_ATTEMPTS):
            row = self.row_to_load(name, request)
            if takeover and row.state is ModelState.LOADED:
                return LoadOutcome("load", None)  # another process was faster
            if row.state is ModelState.LOADED and _restores(row, request):
                if (restored := self._restore(row, authorization)) is not None:
                    return restored
                continue
            if row.state not in LOADABLE:
                current = _CurrentLoad(row.state, row.operation_id or "", row.replicas, row.override)
                return self._existing_load(name, request, current)
            if not takeover:
                self.cooldown.check(name)
            answer, outcome = self._attempt(
                row, request, self._model_to_evict(request), authorization, takeover
            )
            if outcome is not None:
                if not takeover:
                    self.cooldown.record(name, "load")
                return outcome
            if answer[0] == b"over":
                return LoadOutcome("load", None)
            if answer[0] == b"full":
                raise TooManyModels(
                    f"there are {MAX_DYNAMIC_MODELS} models that the configuration does not name: unload one",
                    param="modelId",
                )
            if answer[0] == b"state":
                return self._existing_load(name, request, _CurrentLoad.parse(*answer[1:]))
        raise NoWorker("the workers that were chosen are going or got other work; retry", retry_after_s=5)

    def row_to_load(self, name: str, request: LoadRequest) -> ModelRow:
        """The row of a model as this request loads it; it need not be in the catalogue yet."""
        if request.dynamic is None:
            row = self.row(name)
        else:
            row = replace(self.row_of(request.dynamic.definition), artifact_mib=request.dynamic.size_mib)
        return row if request.need_mib is None else replace(row, artifact_mib=request.need_mib)

    def _attempt(
        self,
        row: ModelRow,
        request: LoadRequest,
        evicted: ModelRow | None,
        authorization: Authorization,
        takeover: bool,
    ) -> tuple[Any, LoadOutcome | None]:
        """Choose workers and run `begin_load`. Returns its answer, and the outcome if the load has begun."""
        count = row.definition.replicas if request.replicas is None else request.replicas
        required = required_mib(row, dict(request.override))
        operation = new_operation_id("load")
        freed = {} if evicted is None else freed_by_unload(evicted)
        workers = self.workers(row.name)
        # if the memory that the unload frees is unknown, the memory is checked after the unload
        places = place_replicas(row.definition, count, workers, None if freed is None else required, freed)
        assignments = assign_replicas(row.name, operation, places) if evicted is None else ()
        answer = self.scripts.run(
            "begin_load",
            row.name,
            operation,
            count,
            self.lease_us,
            orjson.dumps(dict(request.override)),
            mib_argument(required),
            fingerprint(row.definition, request.override),
            "" if evicted is None else evicted.name,
            int((self.settings.limits.unload_timeout_s + MEMORY_RELEASE_S) * 2e6),
            _reservation(places, workers, required) if evicted else "",
            int(takeover),
            authorization.argument(definition_digest(row.definition, request.override)),
            "" if request.dynamic is None else request.dynamic.to_json(),
            MAX_DYNAMIC_MODELS,
            0 if request.dynamic is None else request.dynamic.size_mib,
            "" if takeover else request.last_load(),
            *assignment_arguments(assignments),
        )
        _check_authorized(answer)
        # the script runs again after a lost answer, and then finds the load that its first run began
        begun = answer[0] == b"ok" or (answer[0] == b"state" and answer[2] == operation.encode())
        if not begun:
            return answer, None
        outcome = LoadOutcome("load", self._begun(operation, row.name), assignments, begun=True)
        if request.evict is not None:
            outcome = self._with_eviction(outcome, request.evict, authorization.for_consequence())
        return answer, outcome

    def _restore(self, row: ModelRow, authorization: Authorization) -> LoadOutcome | None:
        """Begin to restore the missing replicas of a loaded model; None if the state changed meanwhile."""
        required = required_mib(row, dict(row.override))
        missing = row.replicas - len(row.workers)
        places = place_replicas(row.definition, missing, self.workers(row.name), required)
        operation = new_operation_id("load")
        assignments = assign_replicas(row.name, operation, places)
        answer = self.scripts.run(
            "restore_replicas",
            row.name,
            operation,
            self.lease_us,
            mib_argument(required),
            authorization.argument(),
            *assignment_arguments(assignments),
        )
        _check_authorized(answer)
        if answer[0] == b"under_way":
            return LoadOutcome("load", self.operation(row.operation_id or ""))
        if answer[0] != b"ok":
            return None
        return LoadOutcome("load", self._begun(operation, row.name), assignments, begun=True)

    def check_unused(self, authorization: Authorization) -> None:
        """Raise `NotAuthorized` if a nonce was used. The script that begins an operation decides again."""
        keys = [f"{self.scripts.prefix}op_nonce:{digest}" for digest in authorization.nonces]
        with redis_errors_translated():
            if keys and self.client.exists(*keys):
                raise NotAuthorized("nonce_used")

    def _use(
        self, authorization: Authorization, outcome: LoadOutcome, model: str, call: str = ""
    ) -> LoadOutcome:
        """Use the authorization up although nothing was begun, and return the outcome.

        By `call` a repeated call is distinguished from another one; "" for a new one. Raises `NotAuthorized`.
        """
        if authorization.is_single_use:
            latest = outcome.operation.id if outcome.operation else ""
            arguments = call or call_id(), authorization.argument(), outcome.kind, model, latest
            _check_authorized(self.scripts.run("use_authorization", *arguments))
        return outcome

    def _begun(self, id: str, model: str, scope: FlushScope | None = None) -> Operation:
        """The operation that has just begun, also if Redis cannot be read at the moment."""
        with suppress(StorageUnavailable):
            if (found := self.operation(id)) is not None:
                return found
        return begun_operation(id, model, scope)

    def _existing_load(self, name: str, request: LoadRequest, current: _CurrentLoad) -> LoadOutcome:
        """The outcome of a load of a model that is loaded, loading or unloading."""
        if current.state is ModelState.UNLOADING:
            raise StateConflict(f"model {name} is being unloaded", code="model_unloading", param="model")
        operation = self.operation(current.operation) if current.operation else None
        if request.dynamic is not None and request.dynamic.definition != self.catalogue.current(name):
            raise InvalidLoadRequest(
                f"model {name} is {current.state} with another definition: unload it first", param="modelId"
            )
        if request.evict is not None and not self._evicts_already(request.evict, current.state, operation):
            raise InvalidLoadRequest(
                f"model {name} is {current.state}: evictModel is accepted while it is unloaded;"
                f" unload {request.evict} by a request of its own",
                param="evictModel",
            )
        same = request.override == current.override and request.replicas in (None, current.replicas)
        if request.is_specified and not (same and current.state is ModelState.LOADING):
            raise InvalidLoadRequest(
                f"model {name} is {current.state}: replicas and overrides can be chosen while it is unloaded",
                param=next(iter(request.override), "replicas"),
            )
        return LoadOutcome("load", operation)

    # ---- eviction: another model is unloaded first

    def _check_eviction(self, name: str, evict: str) -> None:
        self.definition(evict, param="evictModel")
        if evict == name:
            raise InvalidLoadRequest("evictModel names the model itself", param="evictModel")

    def _evicts_already(self, evict: str, state: ModelState, operation: Operation | None) -> bool:
        """Whether a load that is under way unloads that model as well, or found it unloaded."""
        if state is not ModelState.LOADING or operation is None:
            return False
        return operation.evicts == evict or self.row(evict).state is ModelState.UNLOADED

    def _model_to_evict(self, request: LoadRequest) -> ModelRow | None:
        """The model to unload first; None if the request names none, or that model has no replica left."""
        if request.evict is None:
            return None
        row = self.row(request.evict)
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
            eviction = self.evict(evict, authorization)
        except StateConflict:
            return outcome
        if outcome.assignments and not eviction.begun:
            return outcome
        return replace(outcome, eviction=eviction)

    # ---- unloading

    def unload(self, name: str, authorization: Authorization = PLATFORM) -> LoadOutcome:
        """Begin to unload a model, or cancel its load. The caller notifies the workers named in the outcome.

        If the model is unloading, or unloaded and not to be loaded again, nothing happens, and the
        authorization is used up all the same. Without replicas (it has failed, or waits for a worker) the
        operation ends at once. Raises `UnknownModel`, `NotAuthorized`.
        """
        outcome = self._unload(name, "any", authorization)
        if not outcome.begun:
            return self._use(authorization, outcome, name)
        self.cooldown.record(name, "unload")
        return outcome

    def evict(self, name: str, authorization: Authorization = PLATFORM) -> LoadOutcome:
        """Begin to unload a model for another one. As `unload`, but a load under way is not cancelled.

        Raises `UnknownModel`, `StateConflict` (the model is being loaded).
        """
        outcome = self._unload(name, "none", authorization)
        if outcome.kind == "load":
            raise StateConflict(f"model {name} is being loaded", code="model_loading", param="model")
        return outcome

    def cancel_load(self, load: Operation, authorization: Authorization = PLATFORM) -> LoadOutcome:
        """Cancel a load by its operation. The caller notifies the workers that the outcome names.

        The outcome is the unload that ends the engines; after a load that restored replicas of a loaded model
        it has no operation, since the model stays loaded. If the load is cancelled already, nothing happens.
        Raises `UnknownModel`, `StateConflict` (the operation has ended otherwise, or is no load),
        `NotAuthorized`.
        """
        self.check_cancellable(load)
        outcome = self._unload(load.model, load.id, authorization)
        if outcome.begun:
            return replace(outcome, cancelled=load)
        arguments = load.model, load.id, authorization.argument()
        answer = [item.decode() for item in _check_authorized(self.scripts.run("cancel_restore", *arguments))]
        if answer[0] == "ok":
            return LoadOutcome("unload", None, _assignments(answer[1:]), cancelled=load)
        ended = self.operation(load.id) or load
        if ended.status is not OperationStatus.CANCELLED:
            problem = f"{load.id} is {ended.status}: only a load under way can be cancelled"
            raise StateConflict(problem, code="operation_not_cancellable", param="id")
        return self._use(authorization, outcome, load.model, load.id)

    def check_cancellable(self, operation: Operation) -> None:
        """Raise `StateConflict` unless the operation is a load."""
        if operation.kind != "load":
            article = "an unload" if operation.kind == "unload" else f"a {operation.kind}"
            problem = f"{operation.id} is {article}: only a load under way can be cancelled"
            raise StateConflict(problem, code="operation_not_cancellable", param="id")

    def _unload(self, name: str, cancels: str, authorization: Authorization) -> LoadOutcome:
        """Run `begin_unload`; `cancels` is which load it may cancel.

        The outcome has the kind `load` if the model is loading and nothing was done.
        """
        enabled = int(self.definition(name).enabled)
        operation = new_operation_id("unload")
        arguments = name, operation, cancels, enabled, authorization.argument()
        answer = [item.decode() for item in _check_authorized(self.scripts.run("begin_unload", *arguments))]
        if answer[0] == "ok":
            return LoadOutcome("unload", self._begun(operation, name), _assignments(answer[1:]), begun=True)
        state, latest = answer[1], answer[2]
        if latest == operation:
            # the first answer was lost, and the assignments with it: the workers' heartbeats find them
            return LoadOutcome("unload", self._begun(operation, name), begun=True)
        kind = "load" if state == ModelState.LOADING else "unload"
        return LoadOutcome(kind, self.operation(latest) if latest else None)

    # ---- flushing

    def flush(self, scope: FlushScope, authorization: Authorization = PLATFORM) -> LoadOutcome:
        """Begin to flush the prefix caches of a scope. The caller notifies the workers named in the outcome.

        What was cached before is unreachable for requests that come after the operation's end, for certain;
        what the engines free of it is the operation's result. A tenant or tag of which nothing is cached is
        no error.
        Raises `InvalidFlush`, `UnknownModel`, `StateConflict` (too many flushes are under way),
        `NotAuthorized`.
        """
        scope.check()
        concerned = self._all() if scope.model is None else [self.definition(scope.model)]
        operation, model = new_operation_id("flush"), scope.model or ""
        answer = _check_authorized(
            self.scripts.run(
                "begin_flush",
                operation,
                scope.epoch,
                scope.to_json(),
                model,
                str(scope),
                MAX_OPEN,
                MAX_EPOCHS,
                authorization.argument(),
                *(each.name for each in concerned),
            )
        )
        if answer[0] == b"full":
            problem = f"{MAX_OPEN} flushes are under way: wait for their ends, or flush everything at once"
            raise StateConflict(problem, code="too_many_flushes", retry_after_s=1)
        assignments = _assignments([item.decode() for item in answer[1:]])
        return LoadOutcome("flush", self._begun(operation, model, scope), assignments, begun=True)

    def reset_to_configuration(self) -> None:
        """Forget all workers, all loads and unloads by request, and dynamic models.

        Called when the whole platform starts.
        """
        # dynamic models are forgotten: the script removes them
        while self.scripts.run("reset_to_configuration", *self.settings.models) == b"more":
            pass


def _check_authorized(answer: list[bytes]) -> list[bytes]:
    """The answer of a script. Raises `NotAuthorized` if it refused the caller's authorization."""
    if answer[0] == b"refused":
        raise NotAuthorized(answer[1].decode())
    return answer


def _assignments(items: Sequence[str]) -> tuple[Assignment, ...]:
    """Parse replica, worker, ... of a script's answer."""
    return tuple(Assignment(*pair) for pair in zip(items[::2], items[1::2], strict=True))


def _restores(row: ModelRow, request: LoadRequest) -> bool:
    """Whether the request, which must not differ from the current load, restores missing replicas."""
    same = not request.override or request.override == row.override
    missing = len(row.workers) < row.replicas and request.replicas in (None, row.replicas)
    return missing and same and request.evict is None


def _reservation(places: Sequence[str], workers: Sequence[WorkerRow], required: int | None) -> bytes | str:
    """The memory to reserve until the unload ends, as JSON; "" if the need is unknown."""
    return orjson.dumps(reserved_mib(places, workers, required)) if required else ""
