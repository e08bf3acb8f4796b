"""Chooses the worker of each replica. It changes nothing: the scripts assign, and check the choice again."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping, Sequence

from config.commands import with_runnable_commands
from config.settings import ModelDefinition
from fleet.errors import InsufficientMemory, NoWorker
from fleet.memory import estimate_memory, required_mib
from fleet.model_row import ModelRow
from fleet.states import ModelState, ReplicaState
from fleet.worker_row import WorkerRow

NAMED_WORKERS = 8
"""How many workers an error names."""


def place_replicas(  # noqa: PLR0913 - a choice depends on all of these
    model: ModelDefinition,
    replicas: int,
    workers: Sequence[WorkerRow],
    required_mib: int | None = None,
    freed_mib: Mapping[str, int] | None = None,
    *,
    parts: str = "",
) -> list[str]:
    """Choose a worker for each replica: spread over the workers, most free memory first.

    A worker that has reported an obstacle to a load of the model is chosen only if all have.

    `required_mib` is the need of one replica (None: unknown, and memory is not checked). `freed_mib` is the
    memory by worker that the unload of another model will free; `parts` names for people the parts of the
    need. Raises `NoWorker` if no worker has the
    model's device (auto, cuda, cuda:N, cpu), `InsufficientMemory` if those that have it lack the memory.
    """
    candidates = [worker for worker in workers if worker.fits(model.device) and not worker.draining]
    if not candidates:
        wanted = "" if model.device == "auto" else f" with a {model.device} device"
        message = f"no worker{wanted} is running; start one with `stoker worker`"
        drained = [worker.name for worker in workers if worker.fits(model.device)]
        if drained:
            message = (
                f"all workers{wanted} are draining ({', '.join(drained[:NAMED_WORKERS])}); end a drain "
                "with `stoker drain NAME --end`, or start another worker with `stoker worker`"
            )
        raise NoWorker(with_runnable_commands(message), retry_after_s=5)
    candidates = [worker for worker in candidates if model.name not in worker.obstacles] or candidates
    freed = freed_mib or {}
    available = _available_mib(candidates, freed)
    placed: Counter[str] = Counter()
    chosen: list[str] = []

    def preference(worker: WorkerRow) -> tuple[int, int, int, str]:
        return placed[worker.name], -available.get(worker.memory_id, 0), worker.replicas, worker.name

    # a heap, so that the work does not grow with replicas times workers; a worker's place in it may be out of
    # date, since replicas on another worker may take the same memory
    heap = [(preference(worker), worker) for worker in candidates]
    heapq.heapify(heap)
    while len(chosen) < replicas:
        if not heap:
            raise InsufficientMemory(
                _shortage(model, replicas, candidates, required_mib or 0, freed, parts=parts)
            )
        stored, best = heapq.heappop(heap)
        if not _has_memory(available, best, required_mib):
            continue  # the memory only shrinks
        if stored == preference(best):
            placed[best.name] += 1
            if best.memory_id in available:
                available[best.memory_id] -= required_mib or 0
            chosen.append(best.name)
        heapq.heappush(heap, (preference(best), best))
    return chosen


def reserved_mib(places: Sequence[str], workers: Sequence[WorkerRow], required_mib: int) -> dict[str, int]:
    """The memory, by memory id, that a load reserves on the workers that were chosen for its replicas."""
    memory_ids = {worker.name: worker.memory_id for worker in workers}
    replicas = Counter(memory_ids[name] for name in places)
    return {memory_id: count * required_mib for memory_id, count in replicas.items()}


def freed_by_unload(row: ModelRow) -> dict[str, int] | None:
    """The memory, by worker, that the unload of this model frees; None if it is unknown."""
    estimate = estimate_memory(row)
    if estimate.mib is None:
        return None
    share = estimate.mib // max(1, estimate.replicas)
    return {worker: share * count for worker, count in Counter(row.workers).items()}


def freed_by_release(row: ModelRow) -> dict[str, int]:
    """The memory, by worker, that the replicas of a loaded model free that are more than its load asked for.

    They follow the load, and go when another model waits for memory; those that stop already count, too. What
    is not known counts as nothing.
    """
    if row.state is not ModelState.LOADED:
        return {}
    each = required_mib(row, dict(row.override)) or 0
    ready = sorted((one.slots_taken, one.name, one.worker) for one in row.hosted if one.is_ready)
    surplus = ready[: max(0, min(row.replicas - row.least, len(ready) - 1))]
    leaving = [one.worker for one in row.hosted if one.state == ReplicaState.STOPPING]
    released = Counter([*leaving, *(worker for _, _, worker in surplus)])
    return {worker: each * count for worker, count in released.items()}


def _available_mib(workers: Sequence[WorkerRow], freed: Mapping[str, int]) -> dict[str, int]:
    """The memory that is free and not promised to a load, by memory id: workers may share a device."""
    available = {
        worker.memory_id: worker.memory.free_mib - worker.promised_mib
        for worker in workers
        if worker.memory and worker.memory_id
    }
    for worker in workers:
        if worker.memory_id in available:
            available[worker.memory_id] += freed.get(worker.name, 0)
    return available


def _has_memory(available: Mapping[str, int], worker: WorkerRow, required_mib: int | None) -> bool:
    return required_mib is None or available.get(worker.memory_id, required_mib) >= required_mib


def _shortage(  # noqa: PLR0913 - the message has all of these
    model: ModelDefinition,
    replicas: int,
    workers: Sequence[WorkerRow],
    required_mib: int,
    freed: Mapping[str, int],
    *,
    parts: str,
) -> str:
    each = "" if replicas == 1 else f" for each of {replicas} replicas"
    each += f" ({parts})" if parts else ""
    measured = [(worker, worker.memory) for worker in workers if worker.memory and worker.memory_id]
    # of many workers those with the most free memory are named
    most_free = sorted(measured, key=lambda pair: -pair[1].free_mib)[:NAMED_WORKERS]
    named = measured if len(measured) <= NAMED_WORKERS else most_free
    devices = "; ".join(
        f"{worker.name} has {memory.free_mib} of {memory.total_mib} MiB free"
        + (f", {worker.promised_mib} of them reserved for loads under way" if worker.promised_mib else "")
        + (f", and {freed[worker.name]} more without the evicted model" if worker.name in freed else "")
        for worker, memory in named
    )
    others = (
        ""
        if named is measured
        else (f"; {len(measured) - NAMED_WORKERS} other workers have no more free memory")
    )
    advice = "unload a model, name one as evictModel, or ask for less"
    if parts and required_mib > max((memory.total_mib for _, memory in measured), default=required_mib):
        advice = "no worker has so much: lower the context or target_inflight, or use a smaller model"
    return f"{model.name} needs about {required_mib} MiB{each}, and {devices}{others}: {advice}"
