"""The answers of /v1/admin (Runtime Admin API)."""

from __future__ import annotations

from typing import Any

import marshmallow
from marshmallow import fields

from api.schemas.models import STATES
from fleet.memory import ESTIMATE_SOURCES

STATE = {
    "enum": list(STATES),
    "description": "`unloaded`: nothing of it runs. `loading`: on its way. `loaded`: it answers requests."
    " `unloading`: it finishes those it has. `failed`: the last load failed or its last engine died, and"
    " `last_error` says why. Requests are taken in `loaded` only.",
}


def _said(about: str, **more: object) -> dict[str, Any]:
    return {"description": about, **more}


class Capabilities(marshmallow.Schema):
    """What a model can be asked to do."""

    modalities = fields.List(
        fields.String(), required=True, metadata=_said("What it reads: `text`, and `image` where it can.")
    )
    multi_turn = fields.Boolean(
        required=True, metadata=_said("Whether it takes a conversation, or one user message only.")
    )
    thinking_modes = fields.List(
        fields.String(), required=True, metadata=_said("The values of `thinking` that a request may send.")
    )


class Weight(marshmallow.Schema):
    """What one replica carries, and what the model weighs."""

    configured_target_inflight = fields.Integer(
        required=True, metadata=_said("Requests at once per replica, as configured.")
    )
    effective_target_inflight = fields.Integer(
        required=True,
        metadata=_said("The same as it is: what the loaded engines take, or a worker has threads for."),
    )
    vram_estimate_mib = fields.Integer(
        required=True,
        allow_none=True,
        metadata=_said("Memory of that many replicas together, in MiB; on a CPU worker the machine's."),
    )
    vram_estimate_replica_count = fields.Integer(required=True)
    vram_estimate_source = fields.String(
        required=True,
        metadata=_said(
            "Measured at the last load, the size of its files, or not known.",
            enum=list(ESTIMATE_SOURCES),
        ),
    )


class AdminModel(Weight):
    """A configured model and its live state."""

    name = fields.String(required=True)
    resolved_backend = fields.String(required=True)
    configured_enabled = fields.Boolean(required=True, metadata=_said("What the configuration says."))
    runtime_state = fields.String(required=True, metadata=STATE)
    is_loaded = fields.Boolean(required=True)
    replicas = fields.Integer(required=True, metadata=_said("How many this load has or would have."))
    replica_max = fields.Integer(required=True)
    loaded_replicas = fields.Integer(required=True, metadata=_said("How many of them answer requests."))
    inflight_requests = fields.Integer(required=True, metadata=_said("Requests that have a slot."))
    queue_depth = fields.Integer(required=True, metadata=_said("Requests that wait for one."))
    runtime_inflight = fields.Integer(
        required=True, metadata=_said("Requests that the engines work on, of all replicas.")
    )
    last_error = fields.String(required=True, allow_none=True, metadata=_said("For operators."))
    last_error_code = fields.String(
        required=True,
        allow_none=True,
        metadata=_said(
            "Why it failed: `load_failed`, `load_timeout`, `load_interrupted`, `insufficient_memory`,"
            " `no_worker`, `engine_crashed`, `engine_stalled`, `worker_lost`."
        ),
    )
    operation_id = fields.String(required=True, allow_none=True, metadata=_said("The latest load or unload."))
    loaded_at = fields.Float(required=True, allow_none=True, metadata=_said("Unix seconds."))
    load_constraints = fields.Dict(
        required=True, metadata=_said("What one load may change, by field: the source of a UI's controls.")
    )
    load_recommendations = fields.Dict(
        required=True, metadata=_said("Presets to offer first; other values may be taken too.")
    )
    load_override = fields.Dict(
        required=True,
        metadata=_said("What the load in force changed. A key that is there counts, null included."),
    )
    capabilities = fields.Nested(Capabilities, required=True)
    definition = fields.Dict(
        required=True,
        metadata=_said("As configured: the common fields and those of its backend. Secrets are hidden."),
    )


class AdminModelList(marshmallow.Schema):
    """All configured models."""

    models = fields.List(fields.Nested(AdminModel), required=True)


class OperationResult(marshmallow.Schema):
    """What a load or unload came to."""

    replicas = fields.Integer(required=True)
    memory_mib = fields.Integer(
        required=True,
        allow_none=True,
        metadata=_said("What the load was seen to take, or the unload gave back; null if not measured."),
    )
    context_tokens = fields.Integer(
        required=True,
        allow_none=True,
        metadata=_said(
            "Tokens that one request may have since this load, prompt and answer together; "
            "null where the engine does not say, and of an unload."
        ),
    )
    duration_ms = fields.Integer(required=True)


class OperationObject(marshmallow.Schema):
    """A load or unload under way, or ended."""

    id = fields.String(required=True)
    object = fields.String(required=True, metadata={"enum": ["operation"]})
    kind = fields.String(required=True, metadata={"enum": ["load", "unload"]})
    model = fields.String(required=True)
    status = fields.String(required=True, metadata={"enum": ["pending", "running", "completed", "failed"]})
    stage = fields.String(required=True, metadata=_said("What is being done, in a few words."))
    progress = fields.Float(required=True, metadata={"minimum": 0, "maximum": 1})
    eta_s = fields.Float(
        required=True,
        allow_none=True,
        metadata=_said("Seconds it will still take, by earlier ones; null when there was none."),
    )
    result = fields.Nested(OperationResult, required=True, allow_none=True)
    error = fields.String(required=True, allow_none=True)
    error_code = fields.String(required=True, allow_none=True)
    evicts = fields.String(
        required=True, allow_none=True, metadata=_said("The model that is unloaded first.")
    )
    created_at = fields.Float(required=True, metadata=_said("Unix seconds."))
    finished_at = fields.Float(required=True, allow_none=True, metadata=_said("Unix seconds."))


class ChangedModel(AdminModel):
    """A model that was asked to load or unload, and the operation to poll (null when it never had one)."""

    operation = fields.Nested(OperationObject, required=True, allow_none=True)


class GpuObject(marshmallow.Schema):
    """A GPU, as the workers on it see it."""

    index = fields.Integer(required=True, metadata=_said("The driver's, in bus order."))
    name = fields.String(required=True)
    uuid = fields.String(required=True)
    used_mib = fields.Integer(required=True)
    total_mib = fields.Integer(required=True)
    used_over_total = fields.String(required=True, metadata={"examples": ["75603MiB / 97887MiB"]})
    workers = fields.List(fields.String(), required=True)


class WorkerMemory(marshmallow.Schema):
    """A worker's device. On the CPU it is the machine's memory."""

    name = fields.String(required=True)
    device = fields.String(required=True, metadata={"enum": ["cuda", "cpu"]})
    total_mib = fields.Integer(required=True, allow_none=True)
    free_mib = fields.Integer(required=True, allow_none=True)
    promised_mib = fields.Integer(required=True, metadata=_said("Of what is free, for loads under way."))


class ModelMemory(Weight):
    """What a model weighs. An estimate for one that is not loaded is no reservation."""

    name = fields.String(required=True)
    runtime_state = fields.String(required=True, metadata=STATE)
    is_loaded = fields.Boolean(required=True)


class GpuMemory(marshmallow.Schema):
    """The memory of all GPUs, and what the models take of it."""

    gpus = fields.List(fields.Nested(GpuObject), required=True)
    workers = fields.List(fields.Nested(WorkerMemory), required=True)
    models = fields.List(fields.Nested(ModelMemory), required=True)
    error = fields.String(
        required=True, allow_none=True, metadata=_said("Why GPUs are missing here, if any are.")
    )
