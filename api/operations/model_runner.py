"""The state of the platform as the Model Runner API describes a runner (`GET /v1/capabilities`).

It is read at most every five seconds, and each caller gets the part that its key may see.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from api.http.read_cache import SharedRead
from api.inference.capabilities import media_tasks, modalities, multi_turn
from backends.catalogue import BACKENDS
from config.settings import ModelDefinition, QueueSettings, Settings
from config.version import version
from fleet.engine_report import EngineRow
from fleet.fleet import Fleet
from fleet.memory import Gpu
from fleet.model_row import ModelRow, effective_options
from fleet.operation import Operation
from fleet.states import ModelState
from fleet.worker_row import WorkerRow
from scheduler.waits import WaitTimes

MAX_AGE_S = 5.0

Json = dict[str, Any]


@dataclass(frozen=True)
class RunnerState:
    """What was read of the platform at about one instant. `loads` has the operations of loading models,
    `waits` the waits of the last minutes by model."""

    runner_id: str
    rows: Sequence[ModelRow]
    engines: Sequence[EngineRow]
    workers: Sequence[WorkerRow]
    loads: dict[str, Operation]
    waits: Mapping[str, WaitTimes]


class RunnerStateReader(SharedRead[RunnerState]):
    """Reads the state when it is asked for, at most once in `max_age_s`."""

    def __init__(
        self,
        fleet: Fleet,
        read_waits: Callable[[], Mapping[str, WaitTimes]],
        max_age_s: float = MAX_AGE_S,
    ) -> None:
        super().__init__(runner_reader(fleet, read_waits), max_age_s)


def runner_reader(
    fleet: Fleet, read_waits: Callable[[], Mapping[str, WaitTimes]]
) -> Callable[[], RunnerState]:
    """Return the function that reads the state. It raises `StorageUnavailable`."""

    def read() -> RunnerState:
        rows = fleet.rows()
        loads = {}
        for row in rows:
            operation = fleet.operation(row.operation_id or "") if row.state is ModelState.LOADING else None
            if operation is not None:
                loads[row.name] = operation
        return RunnerState(fleet.runner_id(), rows, fleet.engines(), fleet.workers(), loads, read_waits())

    return read


def runner_document(
    state: RunnerState, settings: Settings, may_see: Callable[[str], bool], *, healthy: bool
) -> Json:
    """The capability descriptor, with the models for which `may_see` is true."""
    loaded = [row for row in state.rows if row.state is ModelState.LOADED]
    visible = [row for row in state.rows if may_see(row.name)]
    queues = {row.name: _queue(row, state, settings.queue) for row in loaded}
    return {
        "runnerType": _runner_type(loaded, state.engines),
        "runnerId": state.runner_id,
        "models": _models(visible, state, queues),
        "resources": {**_gpu_resources(state.workers), **_cache_resources(state.engines)},
        "queue": _fullest([queues[row.name] for row in visible if row.name in queues], settings.queue),
        "capabilities": _flags(loaded, multi_tenant=settings.tenancy.enabled),
        "health": "healthy" if healthy else "unhealthy",
    }


def _runner_type(loaded: Sequence[ModelRow], engines: Sequence[EngineRow]) -> str:
    """`vllm-0.6.0`; several backends in the order of their names; without a loaded model, Stoker itself."""
    backends = {row.name: row.definition.backend for row in loaded}
    kinds = {
        "-".join(filter(None, (backends[engine.model], engine.report.version)))
        for engine in engines
        if engine.model in backends
    }
    return ",".join(sorted(kinds)) or f"stoker-{version()}"


def _queue(row: ModelRow, state: RunnerState, queue: QueueSettings) -> Json:
    waits = state.waits.get(row.name, WaitTimes())
    return {
        "depth": row.queue_depth,
        "maxDepth": queue.max_depth,
        "avgWaitMs": waits.average_ms,
        "p95WaitMs": waits.p95_ms,
    }


def _fullest(queues: Sequence[Json], queue: QueueSettings) -> Json:
    """The queue with the most waiting requests; among equals the one with the longest waits."""
    nothing = {"depth": 0, "maxDepth": queue.max_depth, "avgWaitMs": None, "p95WaitMs": None}
    return max(queues, key=lambda one: (one["depth"], one["avgWaitMs"] or 0), default=nothing)


def _models(rows: Sequence[ModelRow], state: RunnerState, queues: Mapping[str, Json]) -> Json:
    return {
        "loaded": [
            {**_loaded(row, state.engines), "queue": queues[row.name]}
            for row in rows
            if row.state is ModelState.LOADED
        ],
        "loading": [_loading(row, state.loads) for row in rows if row.state is ModelState.LOADING],
        "available": [row.name for row in rows if row.state not in (ModelState.LOADED, ModelState.LOADING)],
    }


def _loaded(row: ModelRow, engines: Sequence[EngineRow]) -> Json:
    own = [engine for engine in engines if engine.model == row.name]
    contexts = [engine.report.context for engine in own if engine.report.context is not None]
    return {
        "id": row.name,
        "quantization": next((one.report.quantization for one in own if one.report.quantization), None),
        "contextLength": min(contexts, default=None),
        "loadedAt": int(row.loaded_at or 0),
        "gpuMemoryMB": gpu_memory_mib(engines, row.name),
    }


def gpu_memory_mib(engines: Sequence[EngineRow], model: str) -> int | None:
    """What the engines of a model took on GPUs; None if one of them could not be measured."""
    memory = [engine.memory_mib for engine in engines if engine.model == model and engine.device == "cuda"]
    return None if None in memory else sum(mib for mib in memory if mib is not None)


def _loading(row: ModelRow, loads: dict[str, Operation]) -> Json:
    operation = loads.get(row.name)
    eta_s = None if operation is None else operation.eta_s
    return {
        "id": row.name,
        "progress": 0.0 if operation is None else operation.progress,
        "eta": None if eta_s is None else round(eta_s),
    }


def _gpu_resources(workers: Sequence[WorkerRow]) -> Json:
    """The GPUs of all workers, each once. Without one: no ids, memory 0 and the utilization unknown."""
    gpus: dict[str, Gpu] = {}
    for worker in workers:
        for gpu in worker.memory.gpus if worker.memory else ():
            gpus.setdefault(gpu.uuid, gpu)
    busy = [gpu.utilization for gpu in gpus.values() if gpu.utilization is not None]
    total, used = (sum(getattr(gpu, name) for gpu in gpus.values()) for name in ("total_mib", "used_mib"))
    return {
        "gpuIds": [gpu.index for gpu in gpus.values()],
        "gpuMemoryTotalMB": total,
        "gpuMemoryUsedMB": used,
        "gpuMemoryFreeMB": total - used,
        "gpuUtilization": round(sum(busy) / len(busy), 2) if busy else None,
    }


def _cache_resources(engines: Sequence[EngineRow]) -> Json:
    """The KV caches of the engines that report them: their sizes, and their use weighted by size."""
    reports = [engine.report for engine in engines]
    sizes = [report.kv_cache_mib for report in reports if report.kv_cache_mib is not None]
    weights = [
        (report.kv_cache_mib or 1.0, report.kv_cache_use)
        for report in reports
        if report.kv_cache_use is not None and (report.kv_cache_mib is not None or not sizes)
    ]
    whole = sum(size for size, _ in weights)
    return {
        "kvCacheSizeMB": round(sum(sizes), 1) if sizes else None,
        "kvCacheUtilization": round(sum(size * use for size, use in weights) / whole, 2) if whole else None,
    }


def _takes_audio(model: ModelDefinition) -> bool:
    """Whether its messages may have recordings, or it transcribes them."""
    return "audio" in modalities(model) or "transcribe" in media_tasks(model)


def _flags(loaded: Sequence[ModelRow], *, multi_tenant: bool) -> dict[str, bool]:
    """What at least one of the loaded models can do."""
    options = [
        (BACKENDS[row.definition.backend], effective_options(row.definition, row.active_override))
        for row in loaded
        if not media_tasks(row.definition)  # audio and images have no prefix
    ]
    return {
        "streaming": bool(loaded),
        "prefixCaching": any(backend.reuses_prefixes(values) for backend, values in options),
        "multiTenant": multi_tenant,
        "visionInput": any("image" in modalities(row.definition) for row in loaded),
        "audioInput": any(_takes_audio(row.definition) for row in loaded),
        "functionCalling": any(multi_turn(row.definition) for row in loaded),
    }
