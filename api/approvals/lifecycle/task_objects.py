"""Makes the JSON objects of the governed lifecycle: the task of an operation, under way and ended."""

from __future__ import annotations

from typing import Any

from fleet.operation import Operation
from fleet.states import OperationStatus

Json = dict[str, Any]

UNDER_WAY = {"load": "loading", "unload": "unloading", "flush": "flushing"}


def task_object(operation: Operation, *, is_remote: bool) -> Json:
    """The task of an operation. `is_remote`: its model runs on another server."""
    model = {"modelId": operation.model} if operation.model else {}
    if not operation.status.is_terminal:
        eta_s = operation.eta_s
        return {
            "taskId": operation.id,
            "status": UNDER_WAY[operation.kind],
            "progress": operation.progress,
            "eta": None if eta_s is None else round(eta_s, 1),
            **model,
            "stage": operation.stage,
        }
    ended: Json = {"taskId": operation.id, "status": str(operation.status), **model}
    if operation.status is not OperationStatus.COMPLETED:
        return {**ended, "error": operation.error, "errorCode": operation.code}
    if operation.kind == "flush":
        return {**ended, **flush_result(operation)}
    if operation.kind == "load":
        return {**ended, **load_result(operation.gpu_memory_mib, operation.duration_s)}
    return {**ended, **unload_result(operation.gpu_memory_mib, is_remote=is_remote)}


def loaded_object(model: str, latest: Operation | None, gpu_memory_mib: int | None) -> Json:
    """The task of a load that had nothing to do. `latest` is the model's latest operation, if it is known.

    `gpu_memory_mib` is what the model's engines took.
    """
    if latest is not None and latest.kind == "load" and latest.status is OperationStatus.COMPLETED:
        return task_object(latest, is_remote=False)
    return {"taskId": None, "status": "completed", "modelId": model, **load_result(gpu_memory_mib, None)}


def unloaded_object(model: str, latest: Operation | None, *, is_remote: bool) -> Json:
    """The task of an unload that had nothing to do: nothing was freed."""
    id = latest.id if latest is not None and latest.kind == "unload" else None
    ended = {"taskId": id, "status": "completed", "modelId": model}
    return {**ended, **unload_result(0, is_remote=is_remote)}


def flush_result(operation: Operation) -> Json:
    """What a flush removed; `reason` says why a number is unknown."""
    counted = {"entriesRemoved": operation.entries, "memoryFreedMB": operation.memory_mib}
    reason = {"reason": operation.reason} if operation.reason else {}
    return {"flushed": True, **counted, **reason}


def load_result(memory_mib: int | None, duration_s: float | None) -> Json:
    """The measurements of a load."""
    took_ms = None if duration_s is None else round(duration_s * 1000)
    return {"gpuMemoryUsedMB": memory_mib, "loadTimeMs": took_ms}


def unload_result(memory_mib: int | None, *, is_remote: bool) -> Json:
    """The measurements of an unload. The cache of an engine ends with its process."""
    return {"gpuMemoryFreedMB": memory_mib, "kvCacheFlushed": not is_remote}
