"""The response bodies of /v1/queue and /v1/admin/queue."""

from __future__ import annotations

import marshmallow
from marshmallow import fields

from api.http.answer_fields import described
from scheduler.job import Status


class QueuePlace(marshmallow.Schema):
    """Where a request stands. All but the first four fields are null unless it waits."""

    id = fields.String(required=True)
    object = fields.String(required=True, metadata={"enum": ["queue.place"]})
    model = fields.String(required=True)
    status = fields.String(required=True, metadata={"enum": [str(status) for status in Status]})
    position = fields.Integer(
        required=True, allow_none=True, metadata=described("1 is the next one, by fair share as it stands.")
    )
    positionIsEstimate = fields.Boolean(  # noqa: N815 - JSON keys as the Model Runner API writes them
        required=True, allow_none=True, metadata=described("True behind the first 100 requests.")
    )
    queueDepth = fields.Integer(  # noqa: N815
        required=True, allow_none=True, metadata=described("How many requests wait for the model.")
    )
    waitedMs = fields.Integer(required=True, allow_none=True)  # noqa: N815
    estimatedWaitMs = fields.Integer(  # noqa: N815
        required=True,
        allow_none=True,
        metadata=described("From how long the latest requests held their slots; null while not known."),
    )
    reason = fields.String(
        required=True,
        allow_none=True,
        metadata=described("What it waits for: `waiting for a slot`, `model is loading 41 %`, ..."),
    )


class QueuedTenant(marshmallow.Schema):
    """What a tenant has waiting and running of one model."""

    tenant = fields.String(required=True)
    queueDepth = fields.Integer(required=True)  # noqa: N815
    byPriority = fields.Dict(required=True, metadata=described("Waiting requests: high, normal, low."))  # noqa: N815
    running = fields.Integer(required=True)
    oldestWaitMs = fields.Integer(required=True, allow_none=True)  # noqa: N815
    oldestId = fields.String(required=True, allow_none=True)  # noqa: N815


class QueuedModel(marshmallow.Schema):
    """What waits and runs of one model."""

    model = fields.String(required=True)
    queueDepth = fields.Integer(required=True)  # noqa: N815
    maxDepth = fields.Integer(required=True)  # noqa: N815
    oldestWaitMs = fields.Integer(required=True, allow_none=True)  # noqa: N815
    slots = fields.Integer(
        required=True, metadata=described("Of the replicas that accept requests; 0 when none does.")
    )
    running = fields.Integer(required=True)
    tenants = fields.List(
        fields.Nested(QueuedTenant),
        required=True,
        metadata=described(
            "The tenant that waits longest comes first; at most 100 tenants of each priority."
        ),
    )


class QueueListing(marshmallow.Schema):
    """The queues of all models."""

    models = fields.List(fields.Nested(QueuedModel), required=True)


class CancelledRequest(marshmallow.Schema):
    """A request that an operator cancelled."""

    id = fields.String(required=True)
    tenant = fields.String(required=True)
    status = fields.String(
        required=True,
        metadata=described("`running` for a request whose engine is asked to stop; else its last status."),
    )


class CancelledTenant(marshmallow.Schema):
    """A tenant's requests that an operator cancelled."""

    tenant = fields.String(required=True)
    models = fields.List(fields.String(), required=True)
    cancelled = fields.Integer(required=True, metadata=described("Waiting requests that have ended."))
    left = fields.Integer(
        required=True, metadata=described("Waiting requests that end within the next seconds.")
    )
    stopping = fields.Integer(
        required=True, metadata=described("Running requests whose engines are asked to stop.")
    )
