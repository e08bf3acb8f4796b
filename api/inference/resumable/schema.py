"""The bodies of the stream routes (llama-server development documentation, "Resumable streaming")."""

from __future__ import annotations

import marshmallow
from marshmallow import fields

from api.http.strict_fields import ListField, StringField
from api.http.strict_schema import StrictSchema
from api.inference.generation_headers import MAX_CONVERSATION_ID_CHARS

MAX_LOOKUP = 64


class StreamLookup(StrictSchema):
    """Conversation ids to look up."""

    closed = False

    conversation_ids = ListField(
        "Ids, at most 64; each also stands for the same with `::` and a model's name behind it.",
        StringField("An id.", required=True, min_length=1, max_length=MAX_CONVERSATION_ID_CHARS),
        max_items=MAX_LOOKUP,
        required=True,
    )


class StreamState(marshmallow.Schema):
    """A stream that can be read again."""

    conversation_id = fields.String(required=True)
    is_done = fields.Boolean(required=True)
    total_bytes = fields.Integer(required=True, metadata={"description": "So far, keep-alives not counted."})
    started_at = fields.Integer(required=True, metadata={"description": "Unix seconds."})
    completed_at = fields.Integer(required=True, metadata={"description": "Unix seconds; 0 before the end."})


class LlamaServerErrorObject(marshmallow.Schema):
    """The error's members."""

    code = fields.Integer(required=True, metadata={"description": "The HTTP status."})
    message = fields.String(required=True)
    type = fields.String(required=True)


class LlamaServerError(marshmallow.Schema):
    """An error in llama-server's form."""

    error = fields.Nested(LlamaServerErrorObject, required=True)


class ReadAgainError(marshmallow.Schema):
    """An error in llama-server's form, or that of an answer in one piece, in the form of its API."""

    error = fields.Raw(required=True)


class WholeAnswer(StrictSchema):
    """The body of an answer in one piece, in the form of its API."""

    closed = False
