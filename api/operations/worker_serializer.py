"""A worker as JSON, for `/v1/admin/workers`."""

from __future__ import annotations

from typing import Any

from fleet.worker_detail import HostedReplica, WorkerDetail

Json = dict[str, Any]

VERSIONS = ("stoker", "python", "driver")
MACHINE = ("host", "pid", "cuda_visible_devices")


def serialize_worker(worker: WorkerDetail) -> Json:
    """The object of a worker, as `WorkerObject` describes it."""
    versions, memory, drain = worker.about.get("versions", {}), worker.memory, worker.drain
    return {
        "name": worker.name,
        "state": str(worker.state),
        "device": worker.device or None,
        **{name: worker.about.get(name) for name in MACHINE},
        "registered_at": worker.registered_at,
        "lost_at": worker.lost_at,
        "heartbeat_age_s": worker.heartbeat_age_s,
        "drain": drain and {"cause": drain.cause, "actor": drain.actor, "at": drain.at},
        "versions": {
            **{name: versions.get(name) for name in VERSIONS},
            "environments": versions.get("environments", {}),
        },
        "memory": memory
        and {
            "id": memory.id,
            "total_mib": memory.total_mib,
            "free_mib": memory.free_mib,
            "promised_mib": worker.promised_mib,
            "error": memory.error,
        },
        "gpus": [
            {
                "index": gpu.index,
                "uuid": gpu.uuid,
                "name": gpu.name,
                "used_mib": gpu.used_mib,
                "total_mib": gpu.total_mib,
                "utilization": gpu.utilization,
                "temperature_c": gpu.temperature_c,
                "power_w": gpu.power_w,
                "power_limit_w": gpu.power_limit_w,
            }
            for gpu in (memory.gpus if memory else ())
        ],
        "replica_count": worker.replica_count,
        "replicas": [_replica(replica) for replica in worker.replicas],
    }


def _replica(replica: HostedReplica) -> Json:
    return {
        "name": replica.name,
        "model": replica.model,
        "state": replica.state,
        "ready": replica.ready,
        "stalled": replica.stalled,
        "memory_mib": replica.memory_mib,
        "promised_mib": replica.promised_mib,
        "slots": replica.slots,
        "slots_used": replica.slots_used,
        "engine_version": replica.engine.version,
        "kv_cache_use": replica.engine.kv_cache_use,
        "pid": replica.pid,
        "up_at": replica.up_at,
    }
