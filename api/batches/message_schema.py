"""The bodies and objects of /v1/messages/batches (Anthropic API reference, "Message Batches")."""

from __future__ import annotations

from marshmallow import Schema, fields

from api.batches.lines import MAX_LINES
from api.http.strict_fields import ListField, NestedField, ObjectField, StringField
from api.http.strict_schema import StrictSchema

MAX_ID_CHARS = 64


class MessageBatchLine(StrictSchema):
    """One request of a batch."""

    custom_id = StringField(
        "The request's name in the results; no other one has it.",
        required=True,
        pattern=rf"[a-zA-Z0-9_-]{{1,{MAX_ID_CHARS}}}",
    )
    params = ObjectField("The body of POST /v1/messages, without `stream`.", required=True)


class MessageBatchRequest(StrictSchema):
    """The body of POST /v1/messages/batches."""

    requests = ListField(
        "The requests.",
        NestedField("One of them.", MessageBatchLine, required=True),
        required=True,
        min_items=1,
        max_items=MAX_LINES,
    )


def _time(about: str) -> fields.String:
    return fields.String(required=True, allow_none=True, metadata={"description": about})


class MessageBatchCounts(Schema):
    """The requests of a batch; all but `processing` are zero until it has ended."""

    processing = fields.Integer(required=True)
    succeeded = fields.Integer(required=True)
    errored = fields.Integer(required=True)
    canceled = fields.Integer(required=True)
    expired = fields.Integer(required=True)


class MessageBatchObject(Schema):
    """A batch."""

    id = fields.String(required=True)
    type = fields.String(required=True, metadata={"enum": ["message_batch"]})
    processing_status = fields.String(required=True, metadata={"enum": ["in_progress", "canceling", "ended"]})
    request_counts = fields.Nested(MessageBatchCounts, required=True)
    created_at = fields.String(required=True)
    expires_at = fields.String(required=True)
    ended_at = _time("RFC 3339; null: it has not ended.")
    cancel_initiated_at = _time("RFC 3339; null: it was not cancelled.")
    archived_at = _time("Always null.")
    results_url = _time("The path of the results; null: it has not ended.")


class MessageBatchList(Schema):
    """A page of batches."""

    data = fields.List(fields.Nested(MessageBatchObject), required=True)
    first_id = fields.String(required=True, allow_none=True)
    last_id = fields.String(required=True, allow_none=True)
    has_more = fields.Boolean(required=True)


class DeletedMessageBatch(Schema):
    """The answer to a delete."""

    id = fields.String(required=True)
    type = fields.String(required=True, metadata={"enum": ["message_batch_deleted"]})
