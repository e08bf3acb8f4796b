"""Decides whether a model fits into the memory of a worker, and which models would have to go for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from config.settings import ModelDefinition
from fleet.adding.defaults import BestWorker, best_worker
from fleet.errors import InsufficientMemory, NoWorker
from fleet.memory import need_in_words, required_mib
from fleet.model_row import ModelRow
from fleet.placement import freed_by_unload, place_replicas
from fleet.states import ModelState
from fleet.worker_row import WorkerRow

FITS, FITS_WITH_EVICTION, TOO_LARGE, UNKNOWN = "fits", "fits_with_eviction", "too_large", "unknown"
VERDICTS = (FITS, FITS_WITH_EVICTION, TOO_LARGE, UNKNOWN)


@dataclass(frozen=True, slots=True)
class Fit:
    """Whether one replica fits into the memory of a worker at this moment.

    `free_mib` and `total_mib` are those of the best worker, `evicts` the models that would be unloaded for
    it. Numbers are None where nobody has measured them.
    """

    verdict: str
    reason: str
    need_mib: int | None = None
    free_mib: int | None = None
    total_mib: int | None = None
    evicts: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As a part of a plan."""
        return {
            "verdict": self.verdict,
            "need_mib": self.need_mib,
            "free_mib": self.free_mib,
            "total_mib": self.total_mib,
            "evicts": list(self.evicts),
            "reason": self.reason,
        }


def fit_of(row: ModelRow, rows: Sequence[ModelRow], workers: Sequence[WorkerRow]) -> Fit:
    """The verdict on the model of `row`, beside the models of `rows` that are loaded now."""
    model = row.definition
    need = required_mib(row, {})
    best = best_worker(workers, model.device)
    if need is None:
        return _unknown("its files do not say how much memory it needs", None, best)
    if best is None:
        return _unknown("no worker for it has reported its memory", need, best)
    parts = need_in_words(row, {})
    known = replace(
        _unknown("", need, best),
        reason=f"it needs about {need} MiB" + (f" ({parts})" if parts else ""),
    )
    try:
        place_replicas(model, 1, workers, need)
    except NoWorker as error:
        return replace(known, verdict=UNKNOWN, reason=error.message)
    except InsufficientMemory:
        return _with_eviction(known, model, need, rows, workers)
    return replace(
        known,
        verdict=FITS,
        reason=f"{known.reason}; {best.name} has {best.free_mib} of {best.total_mib} MiB free",
    )


def _unknown(reason: str, need: int | None, best: BestWorker | None) -> Fit:
    return Fit(
        UNKNOWN,
        reason,
        need,
        None if best is None else best.free_mib,
        None if best is None else best.total_mib,
    )


def _with_eviction(
    known: Fit, model: ModelDefinition, need: int, rows: Sequence[ModelRow], workers: Sequence[WorkerRow]
) -> Fit:
    """The worker where the fewest models have to go; of the models only those that requests load."""
    loaded = [
        row for row in rows if row.workers and row.name != model.name and row.state is ModelState.LOADED
    ]
    choices = [
        (worker, *_evicted(worker, need, [row for row in loaded if may_evict(row.definition)]))
        for worker in workers
        if worker.memory_id and worker.memory and worker.fits(model.device) and not worker.draining
    ]
    enough = [(len(names), worker.name, worker, names) for worker, free, names in choices if free >= need]
    if enough:
        _, _, worker, names = min(enough, key=lambda choice: choice[:2])
        memory = worker.memory
        assert memory is not None  # noqa: S101 - the choices have memory
        free = max(0, memory.free_mib - worker.promised_mib)
        return replace(
            known,
            verdict=FITS_WITH_EVICTION,
            free_mib=free,
            total_mib=memory.total_mib,
            evicts=tuple(names),
            reason=f"{known.reason}; {worker.name} has {free} of {memory.total_mib} MiB free, and enough"
            f" without {' and '.join(names)}",
        )
    largest = max((worker.memory.total_mib for worker, _, _ in choices if worker.memory), default=0)
    reason = f"{known.reason}; no worker has more than {known.free_mib} MiB free"
    if need > largest:
        reason += (
            f", nor more than {largest} in all: lower the context or target_inflight, or choose a smaller one"
        )
    else:
        others = [row.name for row in loaded if not may_evict(row.definition)]
        named = f" ({', '.join(others[:8])})" if others else ""
        reason += f": unload a model first{named}, or choose a smaller one"
    return replace(known, verdict=TOO_LARGE, total_mib=largest, reason=reason)


def may_evict(model: ModelDefinition) -> bool:
    """Whether a model may be unloaded to make room for another one."""
    return model.on_demand == "load" and not model.pin


def _evicted(worker: WorkerRow, need: int, rows: Sequence[ModelRow]) -> tuple[int, list[str]]:
    """The memory of a worker without the models that have to go, and their names: the largest ones first."""
    memory = worker.memory
    free = 0 if memory is None else memory.free_mib - worker.promised_mib
    shares: dict[str, int] = {}
    for row in rows:
        freed: Mapping[str, int] = freed_by_unload(row) or {}
        if worker.name in freed:
            shares[row.name] = freed[worker.name]
    names: list[str] = []
    for name, share in sorted(shares.items(), key=lambda item: (-item[1], item[0])):
        if free >= need:
            break
        free += share
        names.append(name)
    return free, names
