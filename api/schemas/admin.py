"""The response bodies of /v1/admin (Runtime Admin API)."""

from __future__ import annotations

from typing import Any

import marshmallow
from marshmallow import fields

from api.schemas.models import STATES
from fleet.memory import ESTIMATE_SOURCES

STATE = {
    "enum": list(STATES),
    "description": "`unloaded`: no engine runs. `loading`: engines start. `loaded`: it accepts requests."
    " `unloading`: it finishes its requests. `failed`: the last load failed or the last engine died;"
    " `last_error` has the reason. Requests are accepted in `loaded` only.",
}


def _described(description: str, **more: object) -> dict[str, Any]:
    return {"description": description, **more}


class Capabilities(marshmallow.Schema):
    """The capabilities of a model."""

    modalities = fields.List(
        fields.String(),
        required=True,
        metadata=_described("The input types: `text`, and `image` if it accepts images."),
    )
    multi_turn = fields.Boolean(
        required=True,
        metadata=_described("Whether it accepts a conversation, or a single user message only."),
    )
    thinking_modes = fields.List(
        fields.String(),
        required=True,
        metadata=_described("The values of `thinking` that it accepts."),
    )


class ModelResources(marshmallow.Schema):
    """The requests per replica and the memory estimate of a model."""

    configured_target_inflight = fields.Integer(
        required=True, metadata=_described("Concurrent requests per replica, as configured.")
    )
    effective_target_inflight = fields.Integer(
        required=True,
        metadata=_described(
            "The value in effect: the slots of the loaded engines, bounded by the worker's threads."
        ),
    )
    vram_estimate_mib = fields.Integer(
        required=True,
        allow_none=True,
        metadata=_described(
            "Memory of that number of replicas together, in MiB; main memory on a CPU worker."
        ),
    )
    vram_estimate_replica_count = fields.Integer(required=True)
    vram_estimate_source = fields.String(
        required=True,
        metadata=_described(
            "Measured at the last load, the size of the model's files, or unknown.",
            enum=list(ESTIMATE_SOURCES),
        ),
    )


class AdminModel(ModelResources):
    """A configured model and its live state."""

    name = fields.String(required=True)
    resolved_backend = fields.String(required=True)
    configured_enabled = fields.Boolean(required=True, metadata=_described("`enabled` in the configuration."))
    runtime_state = fields.String(required=True, metadata=STATE)
    is_loaded = fields.Boolean(required=True)
    replicas = fields.Integer(
        required=True, metadata=_described("Replicas of the load in effect, or of the next one.")
    )
    replica_max = fields.Integer(required=True)
    loaded_replicas = fields.Integer(required=True, metadata=_described("Replicas that accept requests."))
    inflight_requests = fields.Integer(required=True, metadata=_described("Requests with a slot."))
    queue_depth = fields.Integer(required=True, metadata=_described("Requests that wait for a slot."))
    runtime_inflight = fields.Integer(
        required=True, metadata=_described("Requests that the engines of all replicas are processing.")
    )
    last_error = fields.String(required=True, allow_none=True, metadata=_described("For operators."))
    last_error_code = fields.String(
        required=True,
        allow_none=True,
        metadata=_described(
            "Why it failed: `load_failed`, `out_of_memory`, `load_timeout`, `load_interrupted`,"
            " `insufficient_memory`, `no_worker`, `engine_crashed`, `engine_stalled`, `worker_lost`."
        ),
    )
    crashes = fields.Integer(
        required=True, metadata=_described("Crashes of its engines within `restart.window_s`.")
    )
    restart_at = fields.Float(
        required=True,
        allow_none=True,
        metadata=_described("When a crashed model or replica is started again, in unix seconds."),
    )
    operation_id = fields.String(
        required=True, allow_none=True, metadata=_described("The latest load or unload.")
    )
    loaded_at = fields.Float(required=True, allow_none=True, metadata=_described("Unix seconds."))
    load_constraints = fields.Dict(
        required=True,
        metadata=_described(
            "The constraints of the fields that one load may change: the source of a UI's controls."
        ),
    )
    load_field_descriptions = fields.Dict(
        keys=fields.String(),
        values=fields.String(),
        required=True,
        metadata=_described("The meaning of each field in `load_constraints`, for people."),
    )
    load_recommendations = fields.Dict(
        required=True, metadata=_described("Suggested presets; other values may be valid too.")
    )
    load_override = fields.Dict(
        required=True,
        metadata=_described("The overrides of the load in effect. A present key counts, null included."),
    )
    last_load_override = fields.Dict(
        required=True,
        metadata=_described("The overrides of the latest load, also after it has failed or was unloaded."),
    )
    capabilities = fields.Nested(Capabilities, required=True)
    definition = fields.Dict(
        required=True,
        metadata=_described(
            "The configuration: the common fields and those of its backend. Secrets are hidden."
        ),
    )


class AdminModelList(marshmallow.Schema):
    """All configured models."""

    models = fields.List(fields.Nested(AdminModel), required=True)


class OperationResult(marshmallow.Schema):
    """The result of a load or unload."""

    replicas = fields.Integer(required=True)
    memory_mib = fields.Integer(
        required=True,
        allow_none=True,
        metadata=_described(
            "Memory that the load took or the unload released, in MiB; null if not measured."
        ),
    )
    context_tokens = fields.Integer(
        required=True,
        allow_none=True,
        metadata=_described(
            "Maximum tokens of one request since this load, prompt and answer together; "
            "null if the engine does not report it, and for an unload."
        ),
    )
    duration_ms = fields.Integer(required=True)


class OperationObject(marshmallow.Schema):
    """A running or finished load or unload."""

    id = fields.String(required=True)
    object = fields.String(required=True, metadata={"enum": ["operation"]})
    kind = fields.String(required=True, metadata={"enum": ["load", "unload"]})
    model = fields.String(required=True)
    status = fields.String(
        required=True, metadata={"enum": ["pending", "running", "completed", "failed", "cancelled"]}
    )
    stage = fields.String(required=True, metadata=_described("The present step, in a few words."))
    progress = fields.Float(required=True, metadata={"minimum": 0, "maximum": 1})
    eta_s = fields.Float(
        required=True,
        allow_none=True,
        metadata=_described("Estimated seconds left, from earlier operations; null if there were none."),
    )
    result = fields.Nested(OperationResult, required=True, allow_none=True)
    error = fields.String(required=True, allow_none=True)
    error_code = fields.String(required=True, allow_none=True)
    evicts = fields.String(
        required=True, allow_none=True, metadata=_described("The model that is unloaded first.")
    )
    load_override = fields.Dict(
        required=True,
        allow_none=True,
        metadata=_described("The overrides that the load was asked for; null for an unload."),
    )
    created_at = fields.Float(required=True, metadata=_described("Unix seconds."))
    finished_at = fields.Float(required=True, allow_none=True, metadata=_described("Unix seconds."))


class ChangedModel(AdminModel):
    """A model after a load or unload request, and the operation to poll (null if it never had one)."""

    operation = fields.Nested(OperationObject, required=True, allow_none=True)


class GpuObject(marshmallow.Schema):
    """A GPU, as reported by its workers."""

    index = fields.Integer(required=True, metadata=_described("The driver's index, in PCI bus order."))
    name = fields.String(required=True)
    uuid = fields.String(required=True)
    used_mib = fields.Integer(required=True)
    total_mib = fields.Integer(required=True)
    used_over_total = fields.String(required=True, metadata={"examples": ["75603MiB / 97887MiB"]})
    workers = fields.List(fields.String(), required=True)


class WorkerMemory(marshmallow.Schema):
    """The memory of a worker's device; on a CPU worker, main memory."""

    name = fields.String(required=True)
    device = fields.String(required=True, metadata={"enum": ["cuda", "cpu"]})
    total_mib = fields.Integer(required=True, allow_none=True)
    free_mib = fields.Integer(required=True, allow_none=True)
    promised_mib = fields.Integer(
        required=True, metadata=_described("Free memory that is reserved for running loads.")
    )


class ModelMemory(ModelResources):
    """The memory of a model. The estimate of an unloaded model is no reservation."""

    name = fields.String(required=True)
    runtime_state = fields.String(required=True, metadata=STATE)
    is_loaded = fields.Boolean(required=True)


class GpuMemory(marshmallow.Schema):
    """The memory of all GPUs, of the workers and of the models."""

    gpus = fields.List(fields.Nested(GpuObject), required=True)
    workers = fields.List(fields.Nested(WorkerMemory), required=True)
    models = fields.List(fields.Nested(ModelMemory), required=True)
    error = fields.String(
        required=True, allow_none=True, metadata=_described("The reason why GPUs are missing, if any are.")
    )
