"""Decides which worker takes each replica of a model. Others do it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from config.settings import ModelDefinition
from fleet.errors import InsufficientMemory, NoWorker
from fleet.worker_row import WorkerRow


def place(
    model: ModelDefinition,
    replicas: int,
    workers: Sequence[WorkerRow],
    need_mib: int | None = None,
    returned_mib: Mapping[str, int] | None = None,
) -> list[str]:
    """The worker of each replica: spread over the workers that have room, most free memory first.

    `need_mib` is what one replica takes (None: nobody knows, so nothing is refused), `returned_mib` what
    will be free besides, by worker, once another model is gone. Raises `NoWorker` when no worker fits the
    model's device (auto, cuda, cuda:N, cpu), `InsufficientMemory` when those that do have no room.
    """
    fitting = [worker for worker in workers if worker.fits(model.device) and not worker.draining]
    if not fitting:
        wanted = "" if model.device == "auto" else f" with a {model.device} device"
        raise NoWorker(f"no worker{wanted} is running; start one with `stoker worker`", retry_after_s=5)
    returned = returned_mib or {}
    room = _room(fitting, returned)
    taken: Counter[str] = Counter()
    chosen: list[str] = []
    for _ in range(replicas):
        roomy = [worker for worker in fitting if _has(room, worker, need_mib)]
        if not roomy:
            raise InsufficientMemory(_numbers(model, replicas, fitting, need_mib or 0, returned))
        best = min(
            roomy,
            key=lambda worker: (
                taken[worker.name],
                -room.get(worker.memory_id, 0),
                worker.replicas,
                worker.name,
            ),
        )
        taken[best.name] += 1
        if best.memory_id in room:
            room[best.memory_id] -= need_mib or 0
        chosen.append(best.name)
    return chosen


def _room(workers: Sequence[WorkerRow], returned: Mapping[str, int]) -> dict[str, int]:
    """What is free and promised to nobody, by memory: workers may share one."""
    room = {
        worker.memory_id: worker.memory.free_mib - worker.promised_mib
        for worker in workers
        if worker.memory and worker.memory_id
    }
    for worker in workers:
        if worker.memory_id in room:
            room[worker.memory_id] += returned.get(worker.name, 0)
    return room


def _has(room: Mapping[str, int], worker: WorkerRow, need_mib: int | None) -> bool:
    return need_mib is None or room.get(worker.memory_id, need_mib) >= need_mib


def _numbers(
    model: ModelDefinition,
    replicas: int,
    workers: Sequence[WorkerRow],
    need_mib: int,
    returned: Mapping[str, int],
) -> str:
    each = "" if replicas == 1 else f" for each of {replicas} replicas"
    there = "; ".join(
        f"{worker.name} has {worker.memory.free_mib} of {worker.memory.total_mib} MiB free"
        + (f", {worker.promised_mib} of them promised to loads under way" if worker.promised_mib else "")
        + (f", and {returned[worker.name]} more without the evicted model" if worker.name in returned else "")
        for worker in workers
        if worker.memory and worker.memory_id
    )
    return (
        f"{model.name} needs about {need_mib} MiB{each}, and {there}: unload a model, name one as evictModel,"
        " or ask for less"
    )
