"""The response bodies of /v1/admin (Runtime Admin API)."""

from __future__ import annotations

import marshmallow
from marshmallow import fields

from api.http.answer_fields import described
from api.operations.flush_schema import FlushScopeObject
from api.operations.load_constraints_schema import ConstraintField, PairPresets
from api.operations.models_schema import STATES
from fleet.memory import ESTIMATE_SOURCES
from fleet.operation import OPERATION_KINDS
from fleet.states import ReplicaState
from governance.authorization import AUTHORITIES

MAX_TASK_IDS = 16
"""Of an operation, the ids of tasks that are listed."""

STATE = {
    "enum": list(STATES),
    "description": "`unloaded`: no engine runs. `loading`: engines start. `loaded`: it accepts requests."
    " `unloading`: it finishes its requests. `failed`: the last load failed or the last engine died;"
    " `last_error` has the reason. Requests are accepted in `loaded` only.",
}


class Capabilities(marshmallow.Schema):
    """The capabilities of a model."""

    modalities = fields.List(
        fields.String(),
        required=True,
        metadata=described("The input types: `text`, and `image` and `audio` if it accepts them."),
    )
    multi_turn = fields.Boolean(
        required=True,
        metadata=described("Whether it accepts a conversation, or a single user message only."),
    )
    thinking_modes = fields.List(
        fields.String(),
        required=True,
        metadata=described("The values of `thinking` that it accepts."),
    )


class ModelResources(marshmallow.Schema):
    """The requests per replica and the memory estimate of a model."""

    configured_target_inflight = fields.Integer(
        required=True, metadata=described("Concurrent requests per replica, as configured.")
    )
    effective_target_inflight = fields.Integer(
        required=True,
        metadata=described(
            "The value in effect: the slots of the loaded engines, bounded by the worker's threads."
        ),
    )
    vram_estimate_mib = fields.Integer(
        required=True,
        allow_none=True,
        metadata=described(
            "Memory of that number of replicas together, in MiB; main memory on a CPU worker."
        ),
    )
    vram_estimate_replica_count = fields.Integer(required=True)
    vram_estimate_source = fields.String(
        required=True,
        metadata=described(
            "Measured at the last load, computed from the model's files, or unknown.",
            enum=list(ESTIMATE_SOURCES),
        ),
    )


class LastLoadObject(marshmallow.Schema):
    """The settings of the last load that was asked for by request."""

    replicas = fields.Integer(
        required=True, allow_none=True, metadata=described("Null: the configured number.")
    )
    override = fields.Dict(
        required=True, metadata=described("As it was asked for: it can be sent again. A present key counts.")
    )
    at = fields.Float(required=True, metadata=described("The time of the request, in unix seconds."))


class ScalingObject(marshmallow.Schema):
    """The bounds between which the number of replicas follows the load of a model."""

    min = fields.Integer(required=True, metadata=described("Replicas with which the load in effect began."))
    max = fields.Integer(required=True)


class MemoryParts(marshmallow.Schema):
    """What the memory of one replica consists of, as computed from the files, the context and the slots."""

    weights_mib = fields.Integer(required=True)
    cache_mib = fields.Integer(
        required=True, metadata=described("The cache of the requests of all its slots.")
    )
    other_mib = fields.Integer(required=True, metadata=described("Buffers, and the engine itself."))


class AdminModel(ModelResources):
    """A configured model and its live state."""

    name = fields.String(required=True)
    resolved_backend = fields.String(required=True)
    configured_enabled = fields.Boolean(required=True, metadata=described("`enabled` in the configuration."))
    runtime_state = fields.String(required=True, metadata=STATE)
    is_loaded = fields.Boolean(required=True)
    replicas = fields.Integer(
        required=True, metadata=described("Replicas of the load in effect, or of the next one.")
    )
    replica_max = fields.Integer(required=True)
    scaling = fields.Nested(
        ScalingObject,
        required=True,
        allow_none=True,
        metadata=described("Null: the number of replicas does not follow the load."),
    )
    loaded_replicas = fields.Integer(required=True, metadata=described("Replicas that accept requests."))
    inflight_requests = fields.Integer(required=True, metadata=described("Requests with a slot."))
    queue_depth = fields.Integer(required=True, metadata=described("Requests that wait for a slot."))
    runtime_inflight = fields.Integer(
        required=True, metadata=described("Requests that the engines of all replicas are processing.")
    )
    dynamic = fields.Boolean(
        required=True,
        metadata=described(
            "Whether the configuration does not name it: its unload removes it, unless it is `registered`."
        ),
    )
    registered = fields.Boolean(
        required=True,
        metadata=described("Whether it was added (`POST /v1/admin/models`): it stays until it is removed."),
    )
    origin = fields.Dict(
        keys=fields.String(),
        values=fields.String(),
        required=True,
        allow_none=True,
        metadata=described(
            "Of a dynamic model: `kind` (`path` or `hub`), `file`, `files` (a digest of its weights),"
            " and the `repository` and `revision` of a hub."
        ),
    )
    last_error = fields.String(required=True, allow_none=True, metadata=described("For operators."))
    last_error_code = fields.String(
        required=True,
        allow_none=True,
        metadata=described(
            "Why it failed: `load_failed`, `out_of_memory`, `load_timeout`, `load_interrupted`,"
            " `insufficient_memory`, `no_worker`, `engine_crashed`, `engine_stalled`, `worker_lost`."
        ),
    )
    crashes = fields.Integer(
        required=True, metadata=described("Crashes of its engines within the last hour.")
    )
    restart_at = fields.Float(
        required=True,
        allow_none=True,
        metadata=described("When a crashed model or replica is started again, in unix seconds."),
    )
    operation_id = fields.String(
        required=True, allow_none=True, metadata=described("The latest load or unload.")
    )
    loaded_at = fields.Float(required=True, allow_none=True, metadata=described("Unix seconds."))
    size_mib = fields.Integer(
        required=True,
        allow_none=True,
        metadata=described("MiB of its files; null until a worker has read them."),
    )
    context_tokens = fields.Integer(
        required=True,
        allow_none=True,
        metadata=described("The most tokens of one request: of the last load, else as configured."),
    )
    context_reason = fields.String(
        required=True,
        allow_none=True,
        metadata=described("Why an engine uses less context than is set, with numbers; null if it does not."),
    )
    memory_parts = fields.Nested(
        MemoryParts,
        required=True,
        allow_none=True,
        metadata=described("Null where the files say too little, and of a remote model."),
    )
    load_constraints = fields.Dict(
        keys=fields.String(),
        values=ConstraintField(),
        required=True,
        metadata=described(
            "The constraints of the fields that one load may change: the source of a UI's controls."
        ),
    )
    load_field_descriptions = fields.Dict(
        keys=fields.String(),
        values=fields.String(),
        required=True,
        metadata=described("The meaning of each field in `load_constraints`, for people."),
    )
    nullable_load_fields = fields.List(
        fields.String(),
        required=True,
        metadata=described(
            "The fields in `load_constraints` that a load may set to null, which is not the same as no value."
        ),
    )
    load_null_meanings = fields.Dict(
        keys=fields.String(),
        values=fields.String(),
        required=True,
        metadata=described(
            "What null means in each of these fields, and in those that only a configuration may set to null."
        ),
    )
    load_recommendations = fields.Dict(
        keys=fields.String(),
        values=fields.Nested(PairPresets),
        required=True,
        metadata=described("Suggested presets; other values may be valid too."),
    )
    load_override = fields.Dict(
        required=True,
        metadata=described("The overrides of the load in effect. A present key counts, null included."),
    )
    last_load_override = fields.Dict(
        required=True,
        metadata=described("The overrides of the latest load, also after it has failed or was unloaded."),
    )
    last_load = fields.Nested(
        LastLoadObject,
        required=True,
        allow_none=True,
        metadata=described(
            "The settings of the last load that was asked for by request, also after the unload; null if"
            " there was none. Loads that the platform begins by itself do not count."
        ),
    )
    capabilities = fields.Nested(Capabilities, required=True)
    definition = fields.Dict(
        required=True,
        metadata=described(
            "The configuration: the common fields and those of its backend. Secrets are hidden."
        ),
    )


class ReplicaGpu(marshmallow.Schema):
    """A GPU of a replica's worker."""

    index = fields.Integer(required=True, metadata=described("The driver's index, in PCI bus order."))
    name = fields.String(required=True)


class ReplicaObject(marshmallow.Schema):
    """A replica of a model on a worker."""

    name = fields.String(required=True)
    worker = fields.String(required=True)
    state = fields.String(
        required=True,
        metadata=described("What its worker does with it.", enum=[str(state) for state in ReplicaState]),
    )
    accepts_requests = fields.Boolean(required=True)
    slots = fields.Integer(required=True, metadata=described("Requests at once; 0 until its engine is up."))
    running_requests = fields.Integer(required=True)
    gpus = fields.List(
        fields.Nested(ReplicaGpu),
        required=True,
        metadata=described("Those that its worker sees; none on a CPU worker."),
    )
    cache_capacity = fields.Integer(
        required=True,
        allow_none=True,
        metadata=described("How much of earlier prompts its prefix cache keeps; null if unknown."),
    )
    cache_unit = fields.String(
        required=True,
        allow_none=True,
        metadata=described("The unit of `cache_capacity`: `tokens` or `sequences`."),
    )
    prompt_tokens = fields.Integer(
        required=True,
        allow_none=True,
        metadata=described("Of its requests that ended, as of the last seconds; null until it is counted."),
    )
    cached_tokens = fields.Integer(
        required=True, allow_none=True, metadata=described("Those of them that its prefix cache had.")
    )
    cache_hit_rate = fields.Float(
        required=True,
        allow_none=True,
        metadata=described("`cached_tokens` of each prompt token, 0 to 1; null before the first request."),
    )


class ModelDetail(AdminModel):
    """A model, its live state and its replicas."""

    replica_list = fields.List(
        fields.Nested(ReplicaObject),
        required=True,
        metadata=described("The replicas that workers have, by worker; the first 256."),
    )


class UnreadableModelObject(marshmallow.Schema):
    """A model that was added and that this host cannot use; it can be removed."""

    name = fields.String(required=True)
    problem = fields.String(required=True, metadata={"description": "Why, in one sentence."})


class AdminModelList(marshmallow.Schema):
    """All models: those of the configuration and the dynamic ones."""

    models = fields.List(fields.Nested(AdminModel), required=True)
    unreadable = fields.List(
        fields.Nested(UnreadableModelObject),
        required=True,
        metadata={"description": "Added models that this host cannot use, for example after an update."},
    )


class OperationResult(marshmallow.Schema):
    """The result of an operation."""

    replicas = fields.Integer(required=True)
    memory_mib = fields.Integer(
        required=True,
        allow_none=True,
        metadata=described(
            "Memory that the load took or the unload released, or that the removed entries of a cache took, "
            "in MiB; null if not measured."
        ),
    )
    context_tokens = fields.Integer(
        required=True,
        allow_none=True,
        metadata=described(
            "Maximum tokens of one request since this load, prompt and answer together; "
            "null if the engine does not report it, and for an unload or a flush."
        ),
    )
    entries_removed = fields.Integer(
        required=True,
        allow_none=True,
        metadata=described(
            "Of a flush: what the engines removed, each in its own unit; null if one did not count it. Of a"
            " removal: the files that were deleted."
        ),
    )
    deleted_bytes = fields.Integer(
        required=True, allow_none=True, metadata=described("Of a removal: the size of these files.")
    )
    reason = fields.String(
        required=True,
        allow_none=True,
        metadata=described("Of a flush: why one of its numbers is null. Of a removal: why some files stay."),
    )
    duration_ms = fields.Integer(required=True)


class Requester(marshmallow.Schema):
    """Who asked for an operation, and how that was authorised."""

    actor = fields.String(required=True, metadata=described("A tenant's name, or `platform`."))
    authority = fields.String(required=True, metadata={"enum": list(AUTHORITIES)})
    signers = fields.List(
        fields.String(), required=True, metadata=described("Those who signed the opToken or the proposal.")
    )
    proposal = fields.String(required=True, allow_none=True, metadata=described("The proposal's id."))


class OperationObject(marshmallow.Schema):
    """A running or finished operation."""

    id = fields.String(required=True)
    object = fields.String(required=True, metadata={"enum": ["operation"]})
    kind = fields.String(required=True, metadata={"enum": [*OPERATION_KINDS]})
    model = fields.String(
        required=True,
        allow_none=True,
        metadata=described("Null for a flush of more than one model."),
    )
    scope = fields.Nested(FlushScopeObject, required=True, allow_none=True, metadata=described("Of a flush."))
    status = fields.String(
        required=True, metadata={"enum": ["pending", "running", "completed", "failed", "cancelled"]}
    )
    stage = fields.String(required=True, metadata=described("The present step, in a few words."))
    progress = fields.Float(required=True, metadata={"minimum": 0, "maximum": 1})
    eta_s = fields.Float(
        required=True,
        allow_none=True,
        metadata=described("Estimated seconds left, from earlier operations; null if there were none."),
    )
    result = fields.Nested(OperationResult, required=True, allow_none=True)
    error = fields.String(required=True, allow_none=True)
    error_code = fields.String(required=True, allow_none=True)
    evicts = fields.String(
        required=True, allow_none=True, metadata=described("The model that is unloaded first.")
    )
    source = fields.String(
        required=True,
        allow_none=True,
        metadata=described("Of a download: what is downloaded, in the form of a `model_path` on a hub."),
    )
    load_override = fields.Dict(
        required=True,
        allow_none=True,
        metadata=described("The overrides that the load was asked for; null for an unload."),
    )
    replicas = fields.Integer(
        required=True,
        metadata=described("The replicas that it starts, ends or flushes; it has a Celery task for each."),
    )
    restores = fields.Boolean(
        required=True,
        metadata=described("Of a load: whether it restores missing replicas of a loaded model."),
    )
    task_ids = fields.List(
        fields.String(),
        required=True,
        metadata=described(
            f"The ids of the Celery tasks of the first {MAX_TASK_IDS} replicas. There is none while the"
            " operation waits for the unload of another model, or if its message was lost."
        ),
    )
    requested_by = fields.Nested(Requester, required=True, allow_none=True)
    duration_s = fields.Float(
        required=True, allow_none=True, metadata=described("Of an operation that has ended, in seconds.")
    )
    created_at = fields.Float(required=True, metadata=described("Unix seconds."))
    finished_at = fields.Float(required=True, allow_none=True, metadata=described("Unix seconds."))


class OperationList(marshmallow.Schema):
    """A page of operations, the newest first."""

    object = fields.String(required=True, metadata={"enum": ["list"]})
    data = fields.List(fields.Nested(OperationObject), required=True)
    has_more = fields.Boolean(required=True)
    first_id = fields.String(required=True, allow_none=True)
    last_id = fields.String(
        required=True,
        allow_none=True,
        metadata=described(
            "The `after` of the next page: the last operation that was looked at; `data` need not have it."
        ),
    )
    flower_url = fields.String(
        required=True,
        allow_none=True,
        metadata=described(
            "The address of Flower (`flower.url`), which shows a task at `/task/<id>`; null without one."
        ),
    )


class ChangedModel(AdminModel):
    """A model after a load or unload request, and the operation to poll (null if it never had one)."""

    operation = fields.Nested(OperationObject, required=True, allow_none=True)


class GpuObject(marshmallow.Schema):
    """A GPU, as reported by its workers."""

    index = fields.Integer(required=True, metadata=described("The driver's index, in PCI bus order."))
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
        required=True, metadata=described("Free memory that is reserved for running loads.")
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
        required=True, allow_none=True, metadata=described("The reason why GPUs are missing, if any are.")
    )
