"""Plans: what a load or an unload would do at this moment. `fleet.plan` makes them."""

from __future__ import annotations

from typing import Any

import marshmallow
from marshmallow import fields

from fleet.memory import ESTIMATE_SOURCES


def _about(text: str, **more: object) -> dict[str, Any]:
    return {"description": text, **more}


def _mib(key: str, about: str, *, allow_none: bool = False) -> fields.Integer:
    return fields.Integer(required=True, data_key=key, allow_none=allow_none, metadata=_about(about))


def _part(key: str, part: str) -> fields.Integer:
    return _mib(key, f"MiB of these for the {part}; null if the files do not say it.", allow_none=True)


class PlanProblem(marshmallow.Schema):
    """Why an operation would be refused now, or (`load_would_fail`) would begin and fail at once."""

    code = fields.String(required=True, metadata=_about("The error code of the refusal."))
    message = fields.String(required=True)
    param = fields.String(
        required=True,
        allow_none=True,
        metadata=_about("The field of the body that causes it; null for none."),
    )


class PlanDevice(marshmallow.Schema):
    """The memory of one worker's device."""

    worker = fields.String(required=True)
    total_mb = _mib("totalMB", "MiB in all.")
    free_mb = _mib("freeMB", "MiB that are free now.")
    promised_mb = _mib("promisedMB", "MiB of these that loads under way will take.")
    freed_by_eviction_mb = _mib(
        "freedByEvictionMB",
        "MiB that the eviction frees; null if unknown.",
        allow_none=True,
    )
    needed_mb = _mib(
        "neededMB",
        "MiB that the replicas of this load take of this memory, those on other workers that share it"
        " included; 0 if it was not chosen, null if unknown.",
        allow_none=True,
    )
    eligible = fields.Boolean(
        required=True,
        metadata=_about("Whether a replica may be placed there: its device fits, and it does not drain."),
    )


class PlanMemory(marshmallow.Schema):
    """The memory that a load needs, and what there is."""

    needed_mb = _mib("neededMB", "MiB of one replica; null if unknown.", allow_none=True)
    weights_mb = _part("weightsMB", "weights")
    kv_cache_mb = _part("kvCacheMB", "cached keys and values of all slots, and recurrent states")
    other_mb = _part("otherMB", "rest: buffers and libraries")
    source = fields.String(
        required=True,
        metadata=_about(
            "Measured at the last load, computed from the model's files, or unknown.",
            enum=list(ESTIMATE_SOURCES),
        ),
    )
    devices = fields.List(fields.Nested(PlanDevice), required=True)


class PlanContext(marshmallow.Schema):
    """The context that a load asks for, and what becomes of it, in tokens."""

    field = fields.String(required=True, metadata=_about("The option with the context."))
    requested = fields.Integer(required=True, metadata=_about("Its value in this load."))
    in_force = fields.Integer(
        required=True, data_key="inForce", metadata=_about("What of it the engine will use.")
    )
    reason = fields.String(
        required=True, allow_none=True, metadata=_about("Why that is less than requested; null if it is not.")
    )
    made_for = fields.Integer(
        required=True,
        data_key="madeFor",
        metadata=_about("The longest context of one request that the model was made for."),
    )
    largest = fields.Integer(
        required=True,
        allow_none=True,
        metadata=_about("The largest value with which one replica fits now; null if none does, or unknown."),
    )


class DrainedModel(marshmallow.Schema):
    """A model that is unloaded: its running requests may finish, its waiting ones fail."""

    model_id = fields.String(required=True, data_key="modelId")
    state = fields.String(required=True)
    replicas = fields.Integer(required=True, metadata=_about("Replicas that end."))
    running_requests = fields.Integer(required=True, data_key="runningRequests")
    waiting_requests = fields.Integer(required=True, data_key="waitingRequests")
    frees_mb = _mib("freesMB", "MiB that it frees; null if unknown.", allow_none=True)


_BEGINS = fields.Boolean(required=True, metadata=_about("Whether the operation would begin now."))
_PROBLEM = fields.Nested(
    PlanProblem, required=True, allow_none=True, metadata=_about("The refusal; null for none.")
)
_OVERRIDE = fields.Dict(
    required=True, metadata=_about("The options that are overridden. A present key counts, null included.")
)
_DEFINITION_DIGEST = fields.String(
    required=True,
    data_key="definitionDigest",
    metadata=_about("SHA-256 of the definition with these options."),
)
_COVERS = fields.Dict(required=True, metadata=_about("What decides the operation, and is compared."))
_DIGEST = fields.String(required=True, metadata=_about("SHA-256 of what has to hold at the start."))


class LoadPlan(marshmallow.Schema):
    """What a load would do at this moment."""

    operation = fields.String(required=True, metadata={"enum": ["model-load"]})
    model_id = fields.String(required=True, data_key="modelId")
    state = fields.String(required=True, metadata=_about("The model's state now."))
    begins = _BEGINS
    problem = _PROBLEM
    last_error = fields.String(
        required=True,
        data_key="lastError",
        allow_none=True,
        metadata=_about("Why the model has failed with these options, and may fail again; null otherwise."),
    )
    replicas = fields.Integer(required=True, metadata=_about("Replicas after the load."))
    workers = fields.List(
        fields.String(), required=True, metadata=_about("The workers chosen for the new replicas.")
    )
    memory = fields.Nested(PlanMemory, required=True)
    context = fields.Nested(
        PlanContext,
        required=True,
        allow_none=True,
        metadata=_about("Its context; null if it has none, or its files do not say what it was made for."),
    )
    evicts = fields.Nested(
        DrainedModel,
        required=True,
        allow_none=True,
        metadata=_about("The model that is unloaded first, and what this ends."),
    )
    evictions = fields.List(
        fields.Nested(DrainedModel),
        required=True,
        metadata=_about(
            "Where the memory does not suffice: the loaded models of which one as `evictModel` would make"
            " room, at most 8, those that cost least first."
        ),
    )
    eta = fields.Float(
        required=True,
        allow_none=True,
        metadata=_about("Seconds, by earlier loads; null before the first one."),
    )
    definition = fields.Dict(
        required=True, metadata=_about("The definition in force after the load, without secrets.")
    )
    override = _OVERRIDE
    definition_digest = _DEFINITION_DIGEST
    files = fields.Dict(
        keys=fields.String(),
        values=fields.String(),
        required=True,
        metadata=_about("The digests of the model's files by host."),
    )
    downloads = fields.String(
        required=True,
        allow_none=True,
        metadata=_about("The model on a hub that the load would download; null for none."),
    )
    covers = _COVERS
    digest = _DIGEST


class UnloadPlan(DrainedModel):
    """What an unload would do at this moment."""

    operation = fields.String(required=True, metadata={"enum": ["model-unload"]})
    begins = _BEGINS
    problem = _PROBLEM
    eta = fields.Float(
        required=True,
        allow_none=True,
        metadata=_about("Seconds, by earlier unloads; null before the first one."),
    )
    reload = fields.Float(
        required=True,
        allow_none=True,
        metadata=_about("Seconds that the next load takes, by earlier loads; null before the first one."),
    )
    override = _OVERRIDE
    definition_digest = _DEFINITION_DIGEST
    covers = _COVERS
    digest = _DIGEST
