"""What a load, an unload or a flush would do, computed without doing it.

A plan is shown to the people who approve an operation, and compared with a plan made right before the start:
`changes_since` names what does not hold any more. It compares what decides the operation: the definition with
its options, the models' files, the states of the models concerned. What moves by itself (free memory,
running requests, remaining times) is shown and not compared.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from backends.catalogue import BACKENDS, redacted_options
from config.hub_artifact import parse
from config.settings import ModelDefinition
from fleet.configuration_digest import definition_digest
from fleet.errors import CoolingDown, InsufficientMemory, InvalidLoadRequest, NoWorker, StateConflict
from fleet.fleet import Fleet
from fleet.hub_cache import cached_path
from fleet.load_request import LoadRequest
from fleet.memory import need_in_words, required_mib
from fleet.model_row import ModelRow, effective_options, fingerprint
from fleet.option_faults import option_fault
from fleet.placement import freed_by_unload, place_replicas
from fleet.plan_memory import context_of_load, drained, evictions_for, memory_of_load, present
from fleet.states import ModelState
from fleet.worker_row import WorkerRow
from governance.proposals.payload import NotCanonical
from governance.proposals.payload import digest as canonical_digest
from store.errors import StokerError

Json = dict[str, Any]

REFUSALS = (CoolingDown, InsufficientMemory, InvalidLoadRequest, NoWorker, StateConflict)
WOULD_FAIL = "load_would_fail"
"""The code of a plan's problem if the load would begin, and fail for a reason that is known before."""

IN_MEMORY = (ModelState.LOADING, ModelState.LOADED, ModelState.UNLOADING)


@dataclass(frozen=True, slots=True)
class Plan:
    """The effect of one operation at this moment, as JSON.

    `shown` is for people, `covers` what must be the same at the start.
    """

    shown: Json
    covers: Json = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """SHA-256, in hex, of the canonical form (RFC 8785) of what the plan covers, so that signers
        can compute it, too. Integers beyond 2^53 have none, and are hashed as sorted JSON.
        """
        try:
            return canonical_digest(self.covers)
        except NotCanonical:
            return hashlib.sha256(orjson.dumps(self.covers, option=orjson.OPT_SORT_KEYS)).hexdigest()

    def document(self) -> Json:
        """The plan as JSON; `from_document` reads it again."""
        return {**self.shown, "covers": self.covers, "digest": self.digest}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Plan:
        """The plan of a `document`."""
        shown = {key: value for key, value in document.items() if key not in ("covers", "digest")}
        return cls(shown, document["covers"])


def changes_since(earlier: Plan, now: Plan) -> list[str]:
    """What the earlier plan covers and does not hold any more, one phrase each; empty if it holds."""
    return [
        f"{name} changed"
        for name in sorted(earlier.covers.keys() | now.covers.keys())
        if earlier.covers.get(name) != now.covers.get(name)
    ]


def plan_load(fleet: Fleet, model: ModelDefinition, request: LoadRequest) -> Plan:
    """The plan of a load. Raises `UnknownModel`, `InvalidLoadRequest` for what no state would allow.

    What the state of the moment refuses is the plan's `problem`.
    """
    checked = fleet.loads.checked(model, request)
    row = fleet.loads.row_to_load(model.name, request)
    evicted = None if checked.evict is None else fleet.row(checked.evict)
    workers = fleet.workers(row.name)
    required = required_mib(row, dict(checked.override))
    freed = _freed(evicted)
    # as in `Fleet.load`: if the memory that the unload frees is unknown, it is checked after the unload
    needed = None if freed is None else required
    places, problem = _places(fleet, row, checked, workers, required=needed, freed=freed)
    files = fleet.file_digests(row.name)
    artifact = parse(model.model_path, takes_ids=BACKENDS[model.backend].takes_hub_ids)
    if problem is None and places:
        problem = _fault(row, checked, places, workers)
    loads = row.state not in (ModelState.LOADED, ModelState.LOADING)
    shown: Json = {
        "operation": "model-load",
        "modelId": row.name,
        "state": str(row.state),
        "begins": problem is None and (loads or row.staying < row.replicas),
        "problem": problem,
        "lastError": _last_error(row, checked),
        "replicas": _replicas(row, checked),
        "workers": places,
        "memory": memory_of_load(row, checked.override, workers, places, freed),
        "context": context_of_load(row, checked.override, workers, freed),
        "evicts": None if evicted is None else drained(evicted),
        "evictions": _evictions(fleet, row, checked, workers, required, problem),
        "eta": _sum_s(row.load_ms, evicted.unload_ms if evicted and evicted.workers else 0),
        "definition": _definition(model, checked.override),
        "override": dict(checked.override),
        "definitionDigest": definition_digest(model, checked.override),
        "files": files,
        "downloads": None if artifact is None or files or cached_path(artifact) else str(artifact),
    }
    covers = {
        **_covered(fleet, row, definition_digest(model, checked.override)),
        "the number of replicas": _replicas(row, checked),
    }
    if evicted is not None:
        covers[f"the state of {evicted.name}"] = _state(evicted)
    return Plan(shown, covers)


def plan_unload(fleet: Fleet, name: str) -> Plan:
    """The plan of an unload. Raises `UnknownModel`."""
    row = fleet.row(name)
    shown: Json = {
        "operation": "model-unload",
        "begins": row.state in (ModelState.LOADED, ModelState.LOADING) or bool(row.workers),
        "problem": None,
        **drained(row),
        "eta": _sum_s(row.unload_ms) if row.workers else 0.0,
        "reload": _sum_s(row.load_ms),
        "override": dict(row.active_override),
        "definitionDigest": definition_digest(row.definition, row.active_override),
    }
    return Plan(shown, _covered(fleet, row, definition_digest(row.definition, row.active_override)))


def plan_flush(fleet: Fleet, scope: Mapping[str, str | None]) -> Plan:
    """The plan of a flush, of which `scope` has the fields (`scope`, `modelId`, `tenantId`, `tag`)."""
    named = scope.get("modelId")
    rows = [row for row in fleet.rows() if row.state is ModelState.LOADED and named in (None, row.name)]
    shown: Json = {
        "operation": "cache-flush",
        **scope,
        "begins": True,
        "problem": None,
        "models": [row.name for row in rows],
        "replicas": sum(row.loaded_replicas for row in rows),
        "runningRequests": sum(row.inflight for row in rows),
        "byModel": [
            {"modelId": row.name, "replicas": row.loaded_replicas, "runningRequests": row.inflight}
            for row in rows
        ],
    }
    return Plan(shown, {"the scope": dict(scope)})


def model_now(row: ModelRow) -> Json:
    """The model as it runs now, in the form of a plan: to be shown beside the plan of a change."""
    return {
        **present(row),
        "definition": _definition(row.definition, row.active_override),
        "override": dict(row.active_override),
        "definitionDigest": definition_digest(row.definition, row.active_override),
    }


def _places(  # noqa: PLR0913 - a load's choice depends on all of these
    fleet: Fleet,
    row: ModelRow,
    request: LoadRequest,
    workers: Sequence[WorkerRow],
    *,
    required: int | None,
    freed: Mapping[str, int] | None,
) -> tuple[list[str], Json | None]:
    """The workers of the new replicas, and why the load would be refused now."""
    try:
        fleet.loads.check_state(row, request)
        count = _replicas(row, request)
        if row.state is ModelState.LOADED:
            count -= row.staying
        if row.state is ModelState.LOADING or count <= 0:
            return [], None
        parts = need_in_words(row, request.override)
        return place_replicas(row.definition, count, workers, required, freed, parts=parts), None
    except REFUSALS as error:
        return [], plan_problem(error)


def plan_problem(error: StokerError) -> Json:
    """The refusal of an operation, as the `problem` of its plan."""
    return {"code": error.code, "message": error.message, "param": error.param}


def _evictions(  # noqa: PLR0913, PLR0917 - as `_places`
    fleet: Fleet,
    row: ModelRow,
    request: LoadRequest,
    workers: Sequence[WorkerRow],
    required: int | None,
    problem: Json | None,
) -> list[Json]:
    """The models of which one's unload would make room, if memory is what the load lacks."""
    if required is None or problem is None or problem["code"] != InsufficientMemory.default_code:
        return []
    return evictions_for(row, _replicas(row, request), required, fleet.rows(), workers)


def _fault(
    row: ModelRow, request: LoadRequest, chosen: Sequence[str], workers: Sequence[WorkerRow]
) -> Json | None:
    """Why the load would fail at once: by the model's files, or as one of the chosen workers has reported.

    Workers check the configured options: an override of what their obstacle concerns may remove it.
    """
    fault = None if row.state in IN_MEMORY else option_fault(row, request.override)
    if fault is not None:
        return {"code": WOULD_FAIL, "message": fault.message, "param": fault.option}
    for worker in workers:
        found = worker.obstacles.get(row.name) if worker.name in chosen else None
        if found is not None and found.concerns(row.definition.options, request.override):
            return {"code": WOULD_FAIL, "message": f"{worker.name}: {found.message}", "param": None}
    return None


def _last_error(row: ModelRow, request: LoadRequest) -> str | None:
    """Why the model has failed, if that was with the options of this load: another load may fail like it."""
    same = row.state is ModelState.FAILED and fingerprint(row.definition, request.override) == row.variant
    return row.last_error if same else None


def _replicas(row: ModelRow, request: LoadRequest) -> int:
    if row.state in IN_MEMORY:
        return row.replicas
    return row.definition.replicas if request.replicas is None else request.replicas


def _freed(evicted: ModelRow | None) -> Mapping[str, int] | None:
    """The memory by worker that the eviction frees: none without one, None if it is unknown."""
    return freed_by_unload(evicted) if evicted is not None and evicted.workers else {}


def _covered(fleet: Fleet, row: ModelRow, definition: str) -> Json:
    return {
        f"the definition of {row.name}": definition,
        f"the state of {row.name}": _state(row),
        **{f"the files of {row.name} on {host}": it for host, it in fleet.file_digests(row.name).items()},
    }


def _state(row: ModelRow) -> Json:
    """A model's state as far as it decides an operation: a failed model is loaded like an unloaded one."""
    if row.state in (ModelState.UNLOADED, ModelState.FAILED):
        return {"state": "not loaded"}
    return {"state": str(row.state), "replicas": row.replicas, "override": dict(row.override)}


def _definition(model: ModelDefinition, override: Mapping[str, Any]) -> Json:
    """The definition in force after the load, without secrets."""
    options = redacted_options(model)
    effective = effective_options(model, override)
    return {
        "backend": model.backend,
        "modelPath": model.model_path,
        "device": model.device,
        "options": {name: effective.get(name) if name in override else it for name, it in options.items()},
    }


def _sum_s(*times_ms: float | None) -> float | None:
    """The sum of durations in seconds; None if one of them was never measured."""
    return None if None in times_ms else round(sum(time or 0 for time in times_ms) / 1000, 1)
