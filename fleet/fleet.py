"""The models: what is configured and what is loaded. The API asks, the workers report, Redis decides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson
import redis

from backends.catalogue import BACKENDS
from config.settings import ModelDefinition, Settings
from fleet.errors import InvalidLoadRequest, NoWorker, StateConflict
from fleet.estimate import estimate, need_mib
from fleet.load_request import (
    NOTHING,
    Assignment,
    LoadOutcome,
    LoadRequest,
    ReplicaStart,
    assigned,
    mib_text,
    pairs,
)
from fleet.memory import DeviceMemory
from fleet.model_row import ModelRow, fingerprint
from fleet.model_row import from_ledger as model_row
from fleet.operation import Operation, from_row, new_operation, operation_id
from fleet.override import check_override, check_replicas
from fleet.placement import place
from fleet.states import ModelState
from fleet.worker_row import WorkerRow
from fleet.worker_row import from_ledger as worker_rows
from scheduler.errors import StorageUnavailable, UnknownModel
from scheduler.scripts import Scripts, call_id, redis_errors_translated

AT_REST = (ModelState.UNLOADED, ModelState.FAILED)
TRIES = 3
"""How often a load looks for a place again when somebody else was quicker."""

ENDED = ("engine_crashed", "the engine that ran this request ended")
"""What those hear that still ran on an engine that ended: code and message."""

SETTLING_S = 10.0
"""How long a driver may take to show the memory that an unloaded model gave back."""


@dataclass(frozen=True, slots=True)
class _Existing:
    """What stands in a load's way: the state, its operation, and what that load asked for."""

    state: ModelState
    operation: str
    replicas: int
    override: Mapping[str, Any]

    @classmethod
    def of(cls, state: bytes, operation: bytes, replicas: bytes, override: bytes) -> _Existing:
        """Read the ledger's answer."""
        given = ModelState(state.decode())
        return cls(given, operation.decode(), int(replicas or 0), orjson.loads(override))


class Fleet:
    """All configured models. Methods raise `StorageUnavailable` when Redis is away."""

    def __init__(self, client: redis.Redis, settings: Settings) -> None:
        self.settings = settings
        self.client: Any = client
        self.scripts = Scripts(client, settings.redis.prefix, Path(__file__).parent / "lua")

    # ---- asking

    def definition(self, name: str, param: str = "model") -> ModelDefinition:
        """The configured model. Raises `UnknownModel`."""
        try:
            return self.settings.models[name]
        except KeyError:
            raise UnknownModel(f"model {name!r} is not configured", param=param) from None

    def row(self, name: str) -> ModelRow:
        """One model. Raises `UnknownModel`."""
        return self._look([self.definition(name)], closely=True)[0]

    def rows(self, *, closely: bool = False) -> list[ModelRow]:
        """All models at one instant, in the order of the configuration; `closely` counts what runs, too."""
        return self._look(list(self.settings.models.values()), closely=closely)

    def workers(self, asker: str = "") -> list[WorkerRow]:
        """The workers that are registered now, by name; what is promised to `asker` itself is not counted."""
        return worker_rows(self.scripts.run("read_workers", asker))

    def operation(self, id: str) -> Operation | None:
        """A load or unload by its id; kept for a day after its end."""
        with redis_errors_translated():
            row = self.client.hgetall(f"{self.scripts.prefix}operation:{id}")
        under_way = b"finished_us" not in row
        return from_row(id, row, self.scripts.now() if under_way else 0.0) if row else None

    @property
    def lease_us(self) -> int:
        """How long what a worker was given may go without a sign of life, in microseconds."""
        return self.settings.lease.lease_ms * 1000

    def _look(self, definitions: list[ModelDefinition], *, closely: bool) -> list[ModelRow]:
        names = [model.name for model in definitions]
        answer = self.scripts.run("read_models", int(closely), *names)
        groups = [answer[at : at + 3] for at in range(0, len(answer), 3)]
        return [model_row(model, *group) for model, group in zip(definitions, groups, strict=True)]

    # ---- loading

    def load(self, name: str, request: LoadRequest = NOTHING) -> LoadOutcome:
        """Begin to load a model; the caller rings the workers it names.

        Already loaded or loading: nothing happens and the latest operation is returned, unless the wish asks
        for something else than what is there. Raises `UnknownModel`, `InvalidLoadRequest`, `NoWorker`,
        `InsufficientMemory`, `StateConflict` (while it, or what it evicts, is on its way elsewhere).
        """
        model = self.definition(name)
        check_override(model, request.override)
        if request.replicas is not None:
            check_replicas(model, request.replicas)
        if request.evict is not None:
            self._check_eviction(name, request.evict)
        override = BACKENDS[model.backend].expanded(model.options, request.override)
        return self.begin(name, replace(request, override=override))

    def begin(self, name: str, request: LoadRequest, *, takeover: bool = False) -> LoadOutcome:
        """The same for a wish that has been checked; a takeover gives way to an operator's unload."""
        for _ in range(TRIES):
            row = self.row(name)
            if row.state not in AT_REST:
                there = _Existing(row.state, row.operation_id or "", row.replicas, row.override)
                return self._already(name, request, there)
            evicted = self._evicted(request)
            answer, change = self._try(row, request, evicted, takeover)
            if change is not None:
                return change if request.evict is None else self._with_eviction(change, request.evict)
            if answer[0] == b"over":
                return LoadOutcome("load", None)
            if answer[0] == b"state":
                return self._already(name, request, _Existing.of(*answer[1:]))
        raise NoWorker("the workers that were chosen are going or got other work; retry", retry_after_s=5)

    def _try(
        self, row: ModelRow, request: LoadRequest, evicted: ModelRow | None, takeover: bool
    ) -> tuple[Any, LoadOutcome | None]:
        """Choose workers and try to begin: what the ledger says, and what it came to if it begins."""
        count = row.definition.replicas if request.replicas is None else request.replicas
        need = need_mib(row, dict(request.override))
        operation = operation_id("load")
        returned = _returned(evicted)
        workers = self.workers(row.name)
        # when nobody knows what comes back, nothing is refused before it has
        places = place(row.definition, count, workers, None if returned is None else need, returned)
        assignments = assigned(row.name, operation, places) if evicted is None else ()
        answer = self.scripts.run(
            "begin_load",
            row.name,
            operation,
            count,
            self.lease_us,
            orjson.dumps(dict(request.override)),
            mib_text(need),
            fingerprint(row.definition, request.override),
            "" if evicted is None else evicted.name,
            int((self.settings.limits.unload_timeout_s + SETTLING_S) * 2e6),
            "" if evicted is None else _kept(places, workers, need),
            int(takeover),
            *pairs(assignments),
        )
        # an answer that was lost is asked for again, and is then that of a load under way: this one
        ours = answer[0] == b"ok" or (answer[0] == b"state" and answer[2] == operation.encode())
        if not ours:
            return answer, None
        return answer, LoadOutcome("load", self._begun(operation, row.name), assignments, begun=True)

    def _begun(self, id: str, model: str) -> Operation:
        """An operation that has begun, as it is; Redis may have gone since."""
        with suppress(StorageUnavailable):
            if (found := self.operation(id)) is not None:
                return found
        return new_operation(id, model)

    def _already(self, name: str, request: LoadRequest, there: _Existing) -> LoadOutcome:
        """The answer of a model that is loaded, or on its way."""
        if there.state is ModelState.UNLOADING:
            raise StateConflict(f"model {name} is being unloaded", code="model_unloading", param="model")
        same = request.override == there.override and request.replicas in (None, there.replicas)
        if request.asks and not (same and there.state is ModelState.LOADING):
            raise InvalidLoadRequest(
                f"model {name} is {there.state}: replicas and overrides can be chosen while it is unloaded",
                param=next(iter(request.override), "replicas"),
            )
        return LoadOutcome("load", self.operation(there.operation) if there.operation else None)

    # ---- unloading another one first

    def _check_eviction(self, name: str, evict: str) -> None:
        self.definition(evict, param="evictModel")
        if evict == name:
            raise InvalidLoadRequest("evictModel names the model itself", param="evictModel")

    def _evicted(self, request: LoadRequest) -> ModelRow | None:
        """The model that has to go first; None when there is none, or nothing is left of it."""
        if request.evict is None:
            return None
        row = self.row(request.evict)
        if row.state is ModelState.LOADING:
            raise StateConflict(
                f"model {request.evict} is being loaded", code="model_loading", param="evictModel"
            )
        return row if row.workers else None

    def _with_eviction(self, change: LoadOutcome, evict: str) -> LoadOutcome:
        """The same with the other model's unload begun; if it ends here, a worker's look begins it.

        Of one that is gone already it says that nobody shall bring it back.
        """
        try:
            first = self.unload(evict)
        except StateConflict:
            return change
        return change if change.assignments else replace(change, first=first)

    # ---- unloading

    def unload(self, name: str) -> LoadOutcome:
        """Begin to unload a model; the caller rings the workers it names.

        Already unloaded or unloading: nothing happens.
        Raises `UnknownModel`, `StateConflict` (while it loads).
        """
        self.definition(name)
        operation = operation_id("unload")
        answer = [item.decode() for item in self.scripts.run("begin_unload", name, operation)]
        if answer[0] == "ok":
            named = zip(answer[1::2], answer[2::2], strict=True)
            assignments = tuple(Assignment(*pair) for pair in named)
            return LoadOutcome("unload", self._begun(operation, name), assignments, begun=True)
        state, latest = answer[1], answer[2]
        if (
            latest == operation
        ):  # the first answer was lost; the workers' heartbeats find what no bell told them
            return LoadOutcome("unload", self._begun(operation, name), begun=True)
        if state == ModelState.LOADING:
            raise StateConflict(f"model {name} is being loaded", code="model_loading", param="model")
        return LoadOutcome("unload", self.operation(latest) if latest else None)

    def reset_to_configuration(self) -> None:
        """The platform starts anew: no worker is alive, and only the configuration counts."""
        self.scripts.run("reset_to_configuration", *self.settings.models)

    # ---- the workers' reports

    def report_memory(self, worker: str, incarnation: str, memory: DeviceMemory) -> None:
        """What a worker's device has left."""
        known = memory.id if memory.total_mib else ""
        self.scripts.run(
            "report_memory", worker, incarnation, known, memory.free_mib, memory.to_json().decode()
        )

    def report_load_error(self, name: str, message: str) -> None:
        """Why a model that should be loaded is not."""
        self.scripts.run("report_load_error", name, message)

    def report_artifacts(self, sizes_mib: Mapping[str, int]) -> None:
        """How large the files of these models are."""
        if sizes_mib:
            self.scripts.run("report_artifacts", *(item for pair in sizes_mib.items() for item in pair))

    def replica_starting(
        self, replica: str, worker: str, incarnation: str, call: str | None = None
    ) -> ReplicaStart | None:
        """A worker takes up its replica; None when there is nothing to take up.

        Whoever repeats the call after an error says the same `call` again, and gets the first one's answer.
        """
        answer = self.scripts.run("replica_starting", replica, worker, incarnation, call or call_id())
        return ReplicaStart(answer[0].decode(), orjson.loads(answer[1])) if answer else None

    def replica_progress(self, replica: str, progress: float, stage: str) -> bool:
        """How far a load or unload is; False when nobody waits for it any more."""
        return bool(self.scripts.run("replica_progress", replica, f"{progress:.3f}", stage))

    def replica_up(  # noqa: PLR0913 - an engine is known by all of these
        self,
        replica: str,
        worker: str,
        incarnation: str,
        slots: int,
        pid: int | None,
        *,
        memory_mib: int | None = None,
        context: int | None = None,
    ) -> bool:
        """The engine can answer; False when nobody waits for it any more: stop it.

        `pid` is None where it has no process on this machine; `context` in tokens, None if it does not say.
        """
        known = (slots, pid or "", mib_text(memory_mib), context or "")
        answer: Any = self.scripts.run("replica_up", replica, worker, incarnation, *known)
        return bool(answer != b"gone")

    def replica_down(  # noqa: PLR0913 - two audiences, tenants and operators, each with code and message
        self,
        replica: str,
        worker: str,
        incarnation: str,
        *,
        code: str,
        message: str,
        job: tuple[str, str] = ENDED,
    ) -> None:
        """The engine is gone. `code` and `message` are for operators, those of `job` for tenants."""
        self.scripts.run("replica_down", replica, worker, incarnation, code, message, *job)


def _kept(places: Sequence[str], workers: Sequence[WorkerRow], need: int | None) -> bytes | str:
    """What is kept for a load until it gets it: MiB by memory, as JSON; "" when nobody knows."""
    memories = {worker.name: worker.memory_id for worker in workers}
    kept = Counter(memories[name] for name in places)
    return orjson.dumps({memory: count * need for memory, count in kept.items()}) if need else ""


def _returned(evicted: ModelRow | None) -> dict[str, int] | None:
    """What each worker gets back when that model is gone; None when nobody knows."""
    if evicted is None:
        return {}
    known = estimate(evicted)
    if known.mib is None:
        return None
    share = known.mib // max(1, known.replicas)
    back: dict[str, int] = {}
    for worker in evicted.workers:
        back[worker] = back.get(worker, 0) + share
    return back
