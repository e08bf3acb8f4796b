"""The bodies of /v1/admin/workers."""

from __future__ import annotations

import marshmallow
from marshmallow import fields

from api.http.answer_fields import nullable, required
from fleet.states import ReplicaState
from fleet.worker_detail import MAX_REPLICAS, WorkerState


class WorkerVersions(marshmallow.Schema):
    """The software of a worker, as it was when the worker registered."""

    stoker = fields.String(**nullable("The version of Stoker."))
    python = fields.String(**nullable("The version of the worker's own Python."))
    driver = fields.String(**nullable("The version of the GPU's driver; null on the CPU."))
    environments = fields.Dict(
        keys=fields.String(),
        values=fields.String(),
        **required("The installed environments of backends: name and version."),
    )


class WorkerDrain(marshmallow.Schema):
    """Why a worker drains: it gets no new requests and no new replicas."""

    cause = fields.String(
        required=True,
        metadata={
            "enum": ["operator", "shutdown"],
            "description": "`operator`: until the drain is ended, also after a restart of the worker. "
            "`shutdown`: its process ends.",
        },
    )
    actor = fields.String(**nullable("The tenant whose key drained it."))
    at = fields.Float(**nullable("When an operator drained it, in unix seconds."))


class HostedMemory(marshmallow.Schema):
    """The memory of a worker's device. Workers with the same `id` share it."""

    id = fields.String(required=True)
    total_mib = fields.Integer(**required("0 if its GPUs cannot be read: `error` has the reason."))
    free_mib = fields.Integer(required=True)
    promised_mib = fields.Integer(**required("The part of the free memory that loads under way will take."))
    error = fields.String(**nullable("Why no GPU could be read."))


class WorkerGpu(marshmallow.Schema):
    """A GPU of a worker. A figure that its driver does not report is null."""

    index = fields.Integer(required=True)
    uuid = fields.String(required=True)
    name = fields.String(required=True)
    used_mib = fields.Integer(required=True)
    total_mib = fields.Integer(required=True)
    utilization = fields.Float(**nullable("The share of the last moment in which it computed, 0 to 1."))
    temperature_c = fields.Integer(**nullable("Degrees Celsius."))
    power_w = fields.Float(**nullable("Watts."))
    power_limit_w = fields.Float(**nullable("Watts."))


class WorkerReplica(marshmallow.Schema):
    """A replica that a worker hosts."""

    name = fields.String(required=True)
    model = fields.String(required=True)
    state = fields.String(required=True, metadata={"enum": [str(state) for state in ReplicaState]})
    ready = fields.Boolean(**required("Whether it accepts new requests."))
    stalled = fields.Boolean(**required("Whether it makes no progress at the moment."))
    memory_mib = fields.Integer(**nullable("What its load took; null if it could not be measured."))
    promised_mib = fields.Integer(**nullable("The memory that is reserved for it until it is up."))
    slots = fields.Integer(**required("How many requests it runs at once; 0 until it is up."))
    slots_used = fields.Integer(**required("How many it runs now."))
    engine_version = fields.String(**nullable("The version of its runtime, as the engine reports it."))
    kv_cache_use = fields.Float(**nullable("The share of its KV cache in use, 0 to 1."))
    pid = fields.Integer(**nullable("The process of its engine; null for a remote model."))
    up_at = fields.Float(**nullable("Since when it accepts requests, in unix seconds."))


class WorkerObject(marshmallow.Schema):
    """A worker. All but its name, its state and its drain are null or empty unless it is `live`."""

    name = fields.String(required=True)
    state = fields.String(
        required=True,
        metadata={
            "enum": [str(state) for state in WorkerState],
            "description": "`live`; `lost`: removed within the last day, since it sent no heartbeat; `away`: "
            "drained by an operator, and not registered.",
        },
    )
    device = fields.String(**nullable("`cuda` or `cpu`."))
    host = fields.String(**nullable("The name of its machine."))
    pid = fields.Integer(**nullable("Its process."))
    cuda_visible_devices = fields.String(**nullable("The variable in its environment."))
    registered_at = fields.Float(**nullable("Unix seconds."))
    lost_at = fields.Float(**nullable("When it was removed, in unix seconds."))
    heartbeat_age_s = fields.Float(**nullable("Since its last heartbeat, by the clock of Redis."))
    drain = fields.Nested(WorkerDrain, **nullable("Null unless it drains."))
    versions = fields.Nested(WorkerVersions, required=True)
    memory = fields.Nested(HostedMemory, **nullable("Null before its first report."))
    gpus = fields.List(fields.Nested(WorkerGpu), required=True)
    replica_count = fields.Integer(required=True)
    replicas = fields.List(
        fields.Nested(WorkerReplica), **required(f"By name, the first {MAX_REPLICAS} of them.")
    )


class WorkerList(marshmallow.Schema):
    """A page of workers, by name."""

    object = fields.String(required=True, metadata={"enum": ["list"]})
    data = fields.List(fields.Nested(WorkerObject), required=True)
    has_more = fields.Boolean(required=True)
    first_id = fields.String(required=True, allow_none=True)
    last_id = fields.String(**nullable("`after` of the next page."))
