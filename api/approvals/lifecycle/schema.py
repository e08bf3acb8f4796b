"""The bodies of the governed lifecycle, with the keys of the Model Runner API."""

from __future__ import annotations

from typing import Any

import marshmallow
from marshmallow import fields

from api.http.strict_fields import BooleanField, EnumField, IntegerField, ObjectField, StringField, UnionField
from api.http.strict_schema import StrictSchema
from config.settings import FLUSH, LOAD, UNLOAD
from fleet.flush import SCOPE_KINDS

MAX_NAME = 512
MAX_TOKEN = 16 * 1024


def _name(about: str, *, required: bool = False) -> StringField:
    return StringField(about, required=required, min_length=1, max_length=MAX_NAME)


class GovernedBody(StrictSchema):
    """What all lifecycle requests have. Absent, and null, is the same; except what is required."""

    closed = True  # what is signed is what is done: no field is ignored

    verifiedOpToken = UnionField(  # noqa: N815 - the specification's key
        "The approval of this operation: an object, its JSON, base64url of it, or a compact JWT (HS256).",
        StringField("", min_length=1, max_length=MAX_TOKEN),
        ObjectField(""),
    )
    propose = BooleanField(
        "True: nothing is done now. The operation becomes a proposal, which waits for signatures of its own;"
        " an opToken is not needed, and has no effect."
    )


class ModelLoadBody(GovernedBody):
    """A load."""

    modelId = _name("The model.", required=True)  # noqa: N815
    quantization = StringField("The type of the weights, for this load.", min_length=1, max_length=64)
    maxContextLength = IntegerField("Tokens of one request.", minimum=1)  # noqa: N815
    gpuMemoryBudgetMB = IntegerField("GPU memory that the model may use, in MiB.", minimum=1)  # noqa: N815
    evictModel = _name("A model to unload first, to free memory.")  # noqa: N815


class ModelUnloadBody(GovernedBody):
    """An unload."""

    modelId = _name("The model.", required=True)  # noqa: N815


class CacheFlushBody(GovernedBody):
    """A flush. `scope` decides which other fields are required, and which are refused."""

    scope = EnumField(
        "`all`; `model`, with `modelId`; `tenant`, with `tenantId`; `tag`, with `tenantId` and `tag`.",
        SCOPE_KINDS,
        required=True,
    )
    modelId = _name("The model whose cached prefixes are flushed.")  # noqa: N815
    tenantId = StringField("The tenant.", min_length=1, max_length=64)  # noqa: N815
    tag = StringField("The `X-Cache-Tag` of the tenant's requests.", min_length=1, max_length=64)


BODIES: dict[str, type[GovernedBody]] = {
    LOAD: ModelLoadBody,
    UNLOAD: ModelUnloadBody,
    FLUSH: CacheFlushBody,
}
"""The body of each operation."""


# ---- answers


def _about(text: str) -> dict[str, Any]:
    return {"description": text}


STATUSES = ("completed", "failed", "cancelled")


def _status(under_way: str) -> fields.String:
    return fields.String(required=True, metadata={"enum": [under_way, *STATUSES]})


def _mib(key: str, about: str) -> fields.Integer:
    return fields.Integer(data_key=key, allow_none=True, metadata=_about(about))


class TaskObject(marshmallow.Schema):
    """What all tasks have. `progress`, `eta` and `stage` are there while it is under way."""

    task_id = fields.String(
        required=True,
        allow_none=True,
        data_key="taskId",
        metadata=_about("The operation's id; null where nothing had to be done, and no operation is known."),
    )
    model_id = fields.String(data_key="modelId")
    progress = fields.Float(metadata={"minimum": 0, "maximum": 1})
    eta = fields.Float(
        allow_none=True,
        metadata=_about("Seconds left, by earlier operations of this model; null before the first one."),
    )
    stage = fields.String(metadata=_about("The present step, in a few words."))
    error = fields.String(metadata=_about("Why it failed, or that it was cancelled."))
    error_code = fields.String(data_key="errorCode", metadata=_about("The same, as a code."))


class LoadTask(TaskObject):
    """A load."""

    status = _status("loading")
    gpu_memory_used_mb = _mib(
        "gpuMemoryUsedMB", "MiB that it took on GPUs: 0 without a GPU, null if it could not be measured."
    )
    load_time_ms = fields.Integer(
        data_key="loadTimeMs",
        allow_none=True,
        metadata=_about("From the request to the end; null if the load is not known any more."),
    )


class FlushTask(TaskObject):
    """A flush."""

    status = _status("flushing")
    flushed = fields.Boolean(metadata=_about("True: no request that comes now finds what was cached before."))
    entries_removed = fields.Integer(
        data_key="entriesRemoved",
        allow_none=True,
        metadata=_about("As the engines counted, each in its own unit; null if one of them counts nothing."),
    )
    memory_freed_mb = _mib("memoryFreedMB", "MiB, as the engines counted; null if one of them does not.")
    reason = fields.String(metadata=_about("Why a number is null."))


class UnloadTask(TaskObject):
    """An unload."""

    status = _status("unloading")
    gpu_memory_freed_mb = _mib(
        "gpuMemoryFreedMB", "MiB that it freed on GPUs: 0 without a GPU, null if it could not be measured."
    )
    kv_cache_flushed = fields.Boolean(
        data_key="kvCacheFlushed",
        metadata=_about("Whether nothing is left of the model's cache; false for a model on another server."),
    )
