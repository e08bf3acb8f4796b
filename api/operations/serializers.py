"""Makes the JSON objects of the Runtime Admin API from the fleet's models, operations and memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from api.inference.capabilities import modalities, multi_turn, thinking_modes
from api.operations.admin_schema import MAX_TASK_IDS
from api.operations.model_facts import configured_context
from backends.catalogue import BACKENDS, redacted_options
from backends.memory_rules import MIB
from config.commands import with_runnable_commands
from fleet.context_in_force import context_in_force
from fleet.engine_report import EngineReport, EngineRow
from fleet.memory import Gpu, computed_parts, estimate_memory
from fleet.model_row import ModelRow
from fleet.operation import Operation
from fleet.state_changes import AlertChange, CatalogueChange, Change, ProposalChange, StateChange
from fleet.states import ModelState
from fleet.worker_row import WorkerRow

Json = dict[str, Any]

MAX_REPLICAS = 256
"""Replicas in a model's `replica_list`."""

COMMON_FIELDS = (
    "model_path",
    "backend",
    "device",
    "prompt_format",
    "enabled",
    "replicas",
    "replica_max",
    "target_inflight",
    "load_timeout_s",
    "on_demand",
    "idle_unload_s",
    "pin",
)
"""The fields of a definition that all backends share."""


def serialize_model(row: ModelRow) -> Json:
    """A row of `GET /v1/admin/models`."""
    model = row.definition
    backend = BACKENDS[model.backend]
    context = context_in_force(row, row.active_override)
    return {
        **_identity(row),
        "resolved_backend": model.backend,
        "configured_enabled": model.enabled,
        "dynamic": model.origin is not None,
        "registered": model.registered,
        "origin": None if model.origin is None else dict(model.origin),
        "replicas": row.replicas,
        "replica_max": model.replica_max,
        "scaling": _scaling(row),
        "loaded_replicas": row.loaded_replicas,
        "inflight_requests": row.inflight,
        "queue_depth": row.queue_depth,
        "runtime_inflight": row.inflight,
        "last_error": row.last_error,
        "last_error_code": row.code,
        "crashes": row.crashes,
        "restart_at": row.restart_at,
        "operation_id": row.operation_id,
        "loaded_at": row.loaded_at,
        "size_mib": row.artifact_mib,
        "context_tokens": row.context or configured_context(model),
        "context_reason": None if context is None else context.reason,
        "memory_parts": _memory_parts(row),
        **_capacity(row),
        "load_constraints": backend.load_constraints,
        "load_field_descriptions": backend.load_field_descriptions,
        "nullable_load_fields": backend.nullable_load_fields,
        "load_null_meanings": backend.load_null_meanings,
        "load_recommendations": backend.recommendations,
        "load_override": dict(row.active_override),
        "last_load_override": dict(row.override),
        "last_load": None if row.last_load is None else asdict(row.last_load),
        "capabilities": {
            "modalities": list(modalities(model)),
            "multi_turn": multi_turn(model),
            "thinking_modes": list(thinking_modes(model)),
        },
        "definition": _definition(row),
    }


def serialize_replicas(
    row: ModelRow, workers: Sequence[WorkerRow], engines: Sequence[EngineRow]
) -> list[Json]:
    """The `replica_list` of a model."""
    reports = {engine.replica: engine.report for engine in engines}
    gpus = {worker.name: worker.memory.gpus for worker in workers if worker.memory}
    reuses = BACKENDS[row.definition.backend].reuses_prefixes(row.definition.options)
    listed = sorted(row.hosted, key=lambda replica: (replica.worker, replica.name))[:MAX_REPLICAS]
    return [
        {
            "name": replica.name,
            "worker": replica.worker,
            "state": replica.state,
            "accepts_requests": replica.is_ready,
            "slots": replica.slots,
            "running_requests": replica.slots_taken,
            "gpus": [{"index": gpu.index, "name": gpu.name} for gpu in gpus.get(replica.worker, ())],
            **_prefix_cache(reports.get(replica.name, EngineReport()), reuses=reuses),
        }
        for replica in listed
    ]


def _prefix_cache(report: EngineReport, *, reuses: bool) -> Json:
    return {
        "cache_capacity": report.cache_capacity,
        "cache_unit": report.cache_unit,
        "prompt_tokens": report.prompt_tokens,
        "cached_tokens": report.cached_tokens,
        "cache_hit_rate": report.cache_hit_rate if reuses else None,
    }


def _scaling(row: ModelRow) -> Json | None:
    """The bounds between which the replicas follow the load."""
    most = row.definition.scale_max
    return None if most is None else {"min": row.least, "max": max(row.least, most)}


def _identity(row: ModelRow) -> Json:
    loaded = row.state is ModelState.LOADED
    return {"name": row.name, "runtime_state": str(row.state), "is_loaded": loaded}


def _capacity(row: ModelRow) -> Json:
    """The requests in flight per replica, and the memory estimate."""
    memory = estimate_memory(row)
    configured = row.definition.target_inflight
    return {
        "configured_target_inflight": configured,
        "effective_target_inflight": row.slots or configured,  # as the engines reported it
        "vram_estimate_mib": memory.mib,
        "vram_estimate_replica_count": memory.replicas,
        "vram_estimate_source": memory.source,
    }


def _memory_parts(row: ModelRow) -> Json | None:
    """The parts of one replica's memory in MiB."""
    need = computed_parts(row)
    if need is None:
        return None
    parts = {"weights": need.weights, "cache": need.cache, "other": need.buffers + need.process}
    return {f"{name}_mib": -(-size // MIB) for name, size in parts.items()}


def _definition(row: ModelRow) -> Json:
    common = {name: getattr(row.definition, name) for name in COMMON_FIELDS}
    return {**common, **redacted_options(row.definition)}


def serialize_operation(operation: Operation) -> Json:
    """An operation."""
    return {
        "id": operation.id,
        "object": "operation",
        "kind": operation.kind,
        "model": operation.model or None,
        "scope": None if operation.scope is None else asdict(operation.scope),
        "status": str(operation.status),
        "stage": operation.stage,
        "progress": operation.progress,
        "eta_s": None if operation.eta_s is None else round(operation.eta_s, 1),
        "result": _result(operation),
        "error": operation.error,
        "error_code": operation.code,
        "evicts": operation.evicts,
        "source": operation.source,
        "load_override": None if operation.override is None else dict(operation.override),
        "replicas": operation.replicas,
        "restores": operation.restores,
        "task_ids": operation.task_ids(MAX_TASK_IDS),
        "requested_by": _requester(operation),
        "duration_s": None if operation.duration_s is None else round(operation.duration_s, 3),
        "created_at": operation.created_at,
        "finished_at": operation.finished_at,
    }


def _requester(operation: Operation) -> Json | None:
    if operation.authority is None:
        return None
    fields: Json = {"signers": [], "proposal": None} | dict(operation.authority)
    return {name: fields[name] for name in ("actor", "authority", "signers", "proposal")}


def _result(operation: Operation) -> Json | None:
    if operation.duration_s is None or operation.code is not None:
        return None
    return {
        "replicas": operation.replicas,
        "memory_mib": operation.memory_mib,
        "context_tokens": operation.context_tokens,
        "entries_removed": operation.entries,
        "deleted_bytes": operation.deleted_bytes,
        "reason": operation.reason,
        "duration_ms": round(operation.duration_s * 1000),
    }


def serialize_proposal_change(change: ProposalChange) -> Json:
    """A change of a proposal: its creation, a signature, or its status."""
    return {
        "type": "proposal",
        "id": change.id,
        "proposal_id": change.proposal,
        "operation": change.kind,
        "from": change.was,
        "to": change.status,
        "at": change.at,
        "signatures": change.signatures,
        "threshold": change.threshold,
        "operation_id": change.operation,
        "message": change.message,
    }


def serialize_state_change(change: StateChange) -> Json:
    """A change of a model's state."""
    return {
        "type": "state",
        "id": change.id,
        "model": change.model,
        "from": str(change.was),
        "to": str(change.state),
        "at": change.at,
        "operation_id": change.operation,
        "code": change.code,
        "message": change.message,
    }


def serialize_catalogue_change(change: CatalogueChange) -> Json:
    """A change of a registered model, or of the operation that adds or removes it."""
    return {
        "type": "catalogue",
        "id": change.id,
        "model": change.model,
        "change": change.change,
        "status": change.status or None,
        "at": change.at,
        "operation_id": change.operation,
        "code": change.code,
        "message": change.message,
    }


def serialize_alert_change(change: AlertChange) -> Json:
    """A change of an alert."""
    return {
        "type": "alert",
        "id": change.id,
        "alert": change.alert,
        "label": change.label,
        "from": change.was,
        "to": change.state,
        "at": change.at,
        "severity": change.severity,
        "message": change.message,
    }


def serialize_change(change: Change) -> Json:
    """A change of any kind; its `type` says which."""
    if isinstance(change, AlertChange):
        return serialize_alert_change(change)
    if isinstance(change, ProposalChange):
        return serialize_proposal_change(change)
    if isinstance(change, CatalogueChange):
        return serialize_catalogue_change(change)
    return serialize_state_change(change)


def serialize_memory(rows: Sequence[ModelRow], workers: Sequence[WorkerRow]) -> Json:
    """The body of `GET /v1/admin/gpu-memory`."""
    return {
        "gpus": _gpus(workers),
        "workers": [
            {
                "name": worker.name,
                "device": worker.device,
                "total_mib": worker.memory.total_mib if worker.memory else None,
                "free_mib": worker.memory.free_mib if worker.memory else None,
                "promised_mib": worker.promised_mib,
            }
            for worker in workers
        ],
        "models": [{**_identity(row), **_capacity(row)} for row in rows],
        "error": _missing_gpus_reason(workers),
    }


def _gpus(workers: Sequence[WorkerRow]) -> list[Json]:
    """Each GPU once, even if several workers see it."""
    seen: dict[str, tuple[Gpu, list[str]]] = {}
    for worker in workers:
        for gpu in worker.memory.gpus if worker.memory else ():
            seen.setdefault(gpu.uuid, (gpu, []))[1].append(worker.name)
    return [
        {
            "index": gpu.index,
            "name": gpu.name,
            "uuid": gpu.uuid,
            "used_mib": gpu.used_mib,
            "total_mib": gpu.total_mib,
            "used_over_total": f"{gpu.used_mib}MiB / {gpu.total_mib}MiB",
            "workers": names,
        }
        for gpu, names in seen.values()
    ]


def _missing_gpus_reason(workers: Sequence[WorkerRow]) -> str | None:
    """Why GPUs are missing in the list; None if none is missing."""
    if not workers:
        return with_runnable_commands("no worker is running; start one with `stoker worker`")
    errors = {worker.name: worker.memory.error for worker in workers if worker.memory and worker.memory.error}
    if errors:
        return "; ".join(f"{name}: {error}" for name, error in errors.items())
    if all(worker.memory is None for worker in workers):
        return "no worker has read its device yet; ask again in a few seconds"
    if _gpus(workers):
        return None
    return "no worker has a GPU: all run on the CPU because of CUDA_VISIBLE_DEVICES"
