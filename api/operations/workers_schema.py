"""The bodies of /v1/admin/workers."""

from __future__ import annotations

from typing import Any

import marshmallow
from marshmallow import fields

from fleet.states import ReplicaState
from fleet.worker_detail import MAX_REPLICAS, WorkerState


def _nullable(description: str) -> dict[str, Any]:
    return {"required": True, "allow_none": True, "metadata": {"description": description}}


def _described(description: str) -> dict[str, Any]:
    return {"required": True, "metadata": {"description": description}}


class WorkerVersions(marshmallow.Schema):
    """The software of a worker, as it was when the worker registered."""

    stoker = fields.String(**_nullable("The version of Stoker."))
    python = fields.String(**_nullable("The version of the worker's own Python."))
    driver = fields.String(**_nullable("The version of the GPU's driver; null on the CPU."))
    environments = fields.Dict(
        keys=fields.String(),
        values=fields.String(),
        **_described("The installed environments of backends: name and version."),
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
    actor = fields.String(**_nullable("The tenant whose key drained it."))
    at = fields.Float(**_nullable("When an operator drained it, in unix seconds."))


class HostedMemory(marshmallow.Schema):
    """The memory of a worker's device. Workers with the same `id` share it."""

    id = fields.String(required=True)
    total_mib = fields.Integer(**_described("0 if its GPUs cannot be read: `error` has the reason."))
    free_mib = fields.Integer(required=True)
    promised_mib = fields.Integer(**_described("The part of the free memory that loads under way will take."))
    error = fields.String(**_nullable("Why no GPU could be read."))


class WorkerGpu(marshmallow.Schema):
    """A GPU of a worker. A figure that its driver does not report is null."""

    index = fields.Integer(required=True)
    uuid = fields.String(required=True)
    name = fields.String(required=True)
    used_mib = fields.Integer(required=True)
    total_mib = fields.Integer(required=True)
    utilization = fields.Float(**_nullable("The share of the last moment in which it computed, 0 to 1."))
    temperature_c = fields.Integer(**_nullable("Degrees Celsius."))
    power_w = fields.Float(**_nullable("Watts."))
    power_limit_w = fields.Float(**_nullable("Watts."))


class WorkerReplica(marshmallow.Schema):
    """A replica that a worker hosts."""

    name = fields.String(required=True)
    model = fields.String(required=True)
    state = fields.String(required=True, metadata={"enum": [str(state) for state in ReplicaState]})
    ready = fields.Boolean(**_described("Whether it accepts new requests."))
    stalled = fields.Boolean(**_described("Whether it makes no progress at the moment."))
    memory_mib = fields.Integer(**_nullable("What its load took; null if it could not be measured."))
    promised_mib = fields.Integer(**_nullable("The memory that is reserved for it until it is up."))
    slots = fields.Integer(**_described("How many requests it runs at once; 0 until it is up."))
    slots_used = fields.Integer(**_described("How many it runs now."))
    engine_version = fields.String(**_nullable("The version of its runtime, as the engine reports it."))
    kv_cache_use = fields.Float(**_nullable("The share of its KV cache in use, 0 to 1."))
    pid = fields.Integer(**_nullable("The process of its engine; null for a remote model."))
    up_at = fields.Float(**_nullable("Since when it accepts requests, in unix seconds."))


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
    device = fields.String(**_nullable("`cuda` or `cpu`."))
    host = fields.String(**_nullable("The name of its machine."))
    pid = fields.Integer(**_nullable("Its process."))
    cuda_visible_devices = fields.String(**_nullable("The variable in its environment."))
    registered_at = fields.Float(**_nullable("Unix seconds."))
    lost_at = fields.Float(**_nullable("When it was removed, in unix seconds."))
    heartbeat_age_s = fields.Float(**_nullable("Since its last heartbeat, by the clock of Redis."))
    drain = fields.Nested(WorkerDrain, **_nullable("Null unless it drains."))
    versions = fields.Nested(WorkerVersions, required=True)
    memory = fields.Nested(HostedMemory, **_nullable("Null before its first report."))
    gpus = fields.List(fields.Nested(WorkerGpu), required=True)
    replica_count = fields.Integer(required=True)
    replicas = fields.List(
        fields.Nested(WorkerReplica), **_described(f"By name, the first {MAX_REPLICAS} of them.")
    )


class WorkerList(marshmallow.Schema):
    """A page of workers, by name."""

    object = fields.String(required=True, metadata={"enum": ["list"]})
    data = fields.List(fields.Nested(WorkerObject), required=True)
    has_more = fields.Boolean(required=True)
    first_id = fields.String(required=True, allow_none=True)
    last_id = fields.String(**_nullable("`after` of the next page."))
