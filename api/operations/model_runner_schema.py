"""The body of /v1/capabilities, with the keys of the Model Runner API."""

from __future__ import annotations

import marshmallow
from marshmallow import fields


def _about(text: str) -> dict[str, str]:
    return {"description": text}


def _integer(about: str, *, key: str | None = None, nullable: bool = False) -> fields.Integer:
    return fields.Integer(required=True, data_key=key, allow_none=nullable, metadata=_about(about))


def _share(about: str, key: str) -> fields.Float:
    return fields.Float(required=True, data_key=key, allow_none=True, metadata=_about(f"{about} 0 to 1."))


class QueueState(marshmallow.Schema):
    """The queue of a model."""

    depth = _integer("Waiting requests.")
    max_depth = _integer("`queue.max_depth`: with so many the next one is refused.", key="maxDepth")
    avg_wait_ms = _integer(
        "Of the requests that ended in the last minutes; null without one.", key="avgWaitMs", nullable=True
    )
    p95_wait_ms = _integer("The same, 95th percentile.", key="p95WaitMs", nullable=True)


class LoadedModel(marshmallow.Schema):
    """A model that answers requests."""

    id = fields.String(required=True)
    quantization = fields.String(
        required=True,
        allow_none=True,
        metadata=_about("The type of its weights, in the words of its runtime; null if it reports none."),
    )
    context_length = _integer("Tokens of one request.", key="contextLength", nullable=True)
    loaded_at = _integer("Unix seconds.", key="loadedAt")
    gpu_memory_mb = _integer(
        "MiB that its load took on GPUs; 0 without one, null if it could not be measured.",
        key="gpuMemoryMB",
        nullable=True,
    )
    queue = fields.Nested(QueueState, required=True)


class LoadingModel(marshmallow.Schema):
    """A model that is being loaded."""

    id = fields.String(required=True)
    progress = fields.Float(required=True, metadata=_about("0 to 1."))
    eta = _integer("Seconds, by earlier loads of it; null before the first.", nullable=True)


class Models(marshmallow.Schema):
    """The models."""

    loaded = fields.List(fields.Nested(LoadedModel), required=True)
    loading = fields.List(fields.Nested(LoadingModel), required=True)
    available = fields.List(fields.String(), required=True, metadata=_about("All others, by name."))


class Resources(marshmallow.Schema):
    """The GPUs and caches of all workers. Without a GPU: no ids, memory 0, utilization null."""

    gpu_ids = fields.List(
        fields.Integer(),
        required=True,
        data_key="gpuIds",
        metadata=_about("The driver's indices; of several machines, an index may occur more than once."),
    )
    gpu_memory_total_mb = _integer("MiB.", key="gpuMemoryTotalMB")
    gpu_memory_used_mb = _integer("MiB, by all processes.", key="gpuMemoryUsedMB")
    gpu_memory_free_mb = _integer("MiB.", key="gpuMemoryFreeMB")
    gpu_utilization = _share("The mean of all GPUs; null if unknown.", "gpuUtilization")
    kv_cache_size_mb = fields.Float(
        required=True,
        data_key="kvCacheSizeMB",
        allow_none=True,
        metadata=_about("MiB of the engines that report it; null if none does."),
    )
    kv_cache_utilization = _share("Of these caches; null if none reports it.", "kvCacheUtilization")


FLAGS = ("streaming", "prefixCaching", "multiTenant", "visionInput", "audioInput", "functionCalling")


class RunnerCapabilities(marshmallow.Schema):
    """The capability descriptor of the Model Runner API."""

    runner_type = fields.String(
        required=True,
        data_key="runnerType",
        metadata=_about("Backends and versions of what is loaded (`vllm-0.32.0`), several with commas."),
    )
    runner_id = fields.String(required=True, data_key="runnerId")
    models = fields.Nested(Models, required=True)
    resources = fields.Nested(Resources, required=True)
    queue = fields.Nested(
        QueueState,
        required=True,
        metadata=_about("The fullest one of the loaded models that the key may use."),
    )
    capabilities = fields.Nested(
        marshmallow.Schema.from_dict(
            {name: fields.Boolean(required=True) for name in FLAGS}, name="CapabilityFlags"
        ),
        required=True,
        metadata=_about("What at least one of the loaded models can do."),
    )
    health = fields.String(required=True, metadata={"enum": ["healthy", "unhealthy"]})
