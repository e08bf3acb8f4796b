"""The memory in the plan of a load: the parts of the need, each device, the context, and what makes room."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from backends.memory_rules import MIB
from fleet.context_in_force import context_in_force
from fleet.errors import InsufficientMemory, NoWorker
from fleet.estimates import computed_need
from fleet.memory import estimate_memory, memory_source, required_mib
from fleet.model_row import ModelRow
from fleet.placement import freed_by_unload, place_replicas
from fleet.states import ModelState
from fleet.worker_row import WorkerRow

Json = dict[str, Any]
Freed = Mapping[str, int] | None
"""The memory (MiB) by worker that an eviction frees: empty without one, None if it is unknown."""

MAX_EVICTIONS = 8
"""How many models a plan names of which the unload would make room."""

CONTEXT_STEP = 256
"""The largest context that fits is a multiple of this, unless it is the one that the model was made for."""


def memory_of_load(
    row: ModelRow,
    override: Mapping[str, Any],
    workers: Sequence[WorkerRow],
    places: Sequence[str],
    freed: Freed,
) -> Json:
    """The need of one replica and its parts, and the memory of each worker's device, in MiB.

    `places` are the workers that were chosen.
    """
    required = required_mib(row, override)
    taken = Counter(worker.memory_id for name in places for worker in workers if worker.name == name)
    return {
        "neededMB": required,
        **_parts(row, override, required),
        "source": memory_source(row, required, override),
        "devices": [
            {
                "worker": worker.name,
                "totalMB": worker.memory.total_mib,
                "freeMB": worker.memory.free_mib,
                "promisedMB": worker.promised_mib,
                "freedByEvictionMB": None if freed is None else freed.get(worker.name, 0),
                "neededMB": None if required is None else required * taken[worker.memory_id],
                "eligible": is_eligible(row, worker),
            }
            for worker in workers
            if worker.memory
        ],
    }


def is_eligible(row: ModelRow, worker: WorkerRow) -> bool:
    """Whether replicas of the model may be placed on this worker, as far as its memory allows it."""
    return worker.fits(row.definition.device) and not worker.draining


def _parts(row: ModelRow, override: Mapping[str, Any], required: int | None) -> Json:
    """Weights and cache as computed, and as `otherMB` the rest of the need, which may be measured."""
    names = ("weightsMB", "kvCacheMB", "otherMB")
    computed = None if required is None else computed_need(row, override)
    if required is None or computed is None:
        return dict.fromkeys(names)
    weights, cache = computed.weights // MIB, computed.cache // MIB
    other = required - weights - cache
    return dict.fromkeys(names) if other < 0 else dict(zip(names, (weights, cache, other), strict=True))


def context_of_load(
    row: ModelRow, override: Mapping[str, Any], workers: Sequence[WorkerRow], freed: Freed
) -> Json | None:
    """The context that a load asks for, the one in force, and the largest one that fits, in tokens.

    None for a model without a context, or of which no file was read.
    """
    context = context_in_force(row, override)
    if context is None:
        return None
    option = context.rule.option

    def fits(tokens: int) -> bool:
        return _has_room(row, {**override, option: tokens}, workers, freed)

    return {
        "field": option,
        "requested": context.requested,
        "inForce": context.tokens,
        "reason": context.reason,
        "madeFor": context.made_for,
        "largest": _largest(context.most, max(CONTEXT_STEP, context.rule.multiple), fits),
    }


def _has_room(row: ModelRow, override: Mapping[str, Any], workers: Sequence[WorkerRow], freed: Freed) -> bool:
    """Whether the memory of a worker is known to suffice for one replica with this override."""
    computed = computed_need(row, override)
    if computed is None or freed is None:
        return False
    return any(
        computed.mib <= worker.memory.free_mib - worker.promised_mib + freed.get(worker.name, 0)
        for worker in workers
        if worker.memory and worker.memory_id and is_eligible(row, worker)
    )


def _largest(most: int, step: int, fits: Callable[[int], bool]) -> int | None:
    """The largest number of tokens that fits: `most`, else a multiple of `step`; None if none does."""
    if fits(most):
        return most
    low, high = 0, most // step
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle * step) else (low, middle - 1)
    return low * step or None


def evictions_for(
    row: ModelRow, count: int, required: int, rows: Sequence[ModelRow], workers: Sequence[WorkerRow]
) -> list[Json]:
    """The loaded models of which one's unload makes room for `count` replicas, those that cost least first.

    What they cost are their requests, then the memory that is freed beyond need.
    """
    found = [
        other
        for other in rows
        if other.name != row.name
        and other.state is ModelState.LOADED
        and other.workers
        and _makes_room(row, count, required, workers, freed_by_unload(other))
    ]
    found.sort(key=lambda other: (other.inflight + other.queue_depth, estimate_memory(other).mib, other.name))
    return [drained(other) for other in found[:MAX_EVICTIONS]]


def _makes_room(row: ModelRow, count: int, required: int, workers: Sequence[WorkerRow], freed: Freed) -> bool:
    if freed is None:
        return False
    try:
        place_replicas(row.definition, count, workers, required, freed)
    except (InsufficientMemory, NoWorker):
        return False
    return True


def drained(row: ModelRow) -> Json:
    """A model that is unloaded: running requests may finish, waiting ones fail."""
    return {**present(row), "freesMB": estimate_memory(row).mib if row.workers else 0}


def present(row: ModelRow) -> Json:
    """The state of a model, its replicas and its requests at the moment."""
    return {
        "modelId": row.name,
        "state": str(row.state),
        "replicas": len(row.workers),
        "runningRequests": row.inflight,
        "waitingRequests": row.queue_depth,
    }
