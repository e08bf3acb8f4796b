"""The bodies and objects of /v1/conversations (OpenAI API reference, "Conversations")."""

from __future__ import annotations

from marshmallow import Schema, fields

from api.http.strict_fields import ListField, MetadataField
from api.http.strict_schema import StrictSchema
from api.inference.responses.schema import input_item

MAX_ADDED = 20
"""Items of a call (OpenAI API reference: up to 20 at a time)."""


def _items(description: str, *, required: bool = False) -> ListField:
    return ListField(
        description, input_item(), required=required, min_items=int(required), max_items=MAX_ADDED
    )


def _metadata() -> MetadataField:
    return MetadataField("Up to 16 pairs that the conversation repeats.")


class NewConversation(StrictSchema):
    """The body of POST /v1/conversations."""

    items = _items("Its first items, as in `input` of a response.")
    metadata = _metadata()


class ConversationChange(StrictSchema):
    """The body of POST /v1/conversations/{conversation_id}."""

    metadata = _metadata()


class NewConversationItems(StrictSchema):
    """The body of POST /v1/conversations/{conversation_id}/items."""

    items = _items("The items, as in `input` of a response.", required=True)


class ConversationObject(Schema):
    """A conversation."""

    id = fields.String(required=True, metadata={"description": "`conv_` and 32 hex digits."})
    object = fields.String(required=True, metadata={"enum": ["conversation"]})
    created_at = fields.Integer(required=True, metadata={"description": "Unix seconds."})
    metadata = fields.Dict(required=True, keys=fields.String(), values=fields.String())


class DeletedConversation(Schema):
    """The confirmation that a conversation was deleted."""

    id = fields.String(required=True)
    object = fields.String(required=True, metadata={"enum": ["conversation.deleted"]})
    deleted = fields.Boolean(required=True)


class ConversationItemList(Schema):
    """Items of a conversation."""

    object = fields.String(required=True, metadata={"enum": ["list"]})
    data = fields.List(
        fields.Dict(),
        required=True,
        metadata={
            "description": "`message`, `function_call`, `custom_tool_call` and their outputs, `reasoning`,"
            " `compaction`."
        },
    )
    first_id = fields.String(required=True)
    last_id = fields.String(required=True)
    has_more = fields.Boolean(required=True)


class ConversationItem(Schema):
    """One item; its other fields depend on its type."""

    id = fields.String(required=True)
    type = fields.String(required=True)
