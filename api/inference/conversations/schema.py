"""The bodies and objects of /v1/conversations (OpenAI API reference, "Conversations")."""

from __future__ import annotations

from marshmallow import Schema, fields

from api.http.strict_fields import (
    EnumField,
    IntegerField,
    ListField,
    MetadataField,
    NestedField,
    StringField,
    TaggedUnionField,
)
from api.http.strict_schema import StrictSchema
from api.inference.conversations.items import OWN_ID
from api.inference.responses.schema import ITEMS, OtherItem
from scheduler.job import Status

MAX_ADDED = 20
"""Items of a call (OpenAI API reference: up to 20 at a time)."""


ENDS = tuple(str(status) for status in Status if status.is_terminal)
MAX_TOKENS = 2**31


class AddedItemField(TaggedUnionField):
    """An item that is added. One with the key `parent_id` may have what else is known of it."""

    def check(self, value: object) -> None:
        """Validate a value. Raises `SchemaMismatch`."""
        super().check(value)
        if isinstance(value, dict) and "parent_id" in value:
            PlacedItem.check(value)


class CountedTokens(StrictSchema):
    """The usage of a response, or its details."""

    input_tokens = IntegerField("Of the prompt.", minimum=0, maximum=MAX_TOKENS)
    output_tokens = IntegerField("Of the answer.", minimum=0, maximum=MAX_TOKENS)
    total_tokens = IntegerField("Both.", minimum=0, maximum=MAX_TOKENS)


class ItemError(StrictSchema):
    """Why a response failed."""

    code = StringField("Its code.", required=True, max_length=64)
    message = StringField("Its message.", required=True, max_length=4096)


class PlacedItem(StrictSchema):
    """What an item with a `parent_id` may have besides the fields of its type."""

    parent_id = StringField("The item before it; null: it is a root.", pattern=OWN_ID.pattern)
    id = StringField("Its id, of the client's own choice.", max_length=128)
    created_at = IntegerField("Unix seconds.", minimum=0)
    status = EnumField("Whether it is whole.", ("completed", "incomplete"))
    response_id = StringField("The response that made it.", max_length=128)
    model = StringField("Its model.", max_length=256)
    response_status = EnumField("How the response ended.", ENDS)
    usage = NestedField("Its usage.", CountedTokens)
    error = NestedField("Its error.", ItemError)
    metadata = MetadataField("Its metadata.")
    continues = StringField("The message whose text this one continues.", max_length=128)


FACTS = ("created_at", "status", "response_id", "model", "response_status", "error", "metadata", "continues")
"""The fields of `PlacedItem` that are kept as they are, if they are not null."""


def _items(description: str, *, required: bool = False) -> ListField:
    item = AddedItemField(
        "An item. Those of other types are left out.", ITEMS, default="message", other=OtherItem
    )
    return ListField(description, item, required=required, min_items=int(required), max_items=MAX_ADDED)


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


class OpenTurn(Schema):
    """A response of a conversation that runs."""

    response_id = fields.String(required=True)
    parent_id = fields.String(
        required=True, allow_none=True, metadata={"description": "The item that its output will follow."}
    )
    created_at = fields.Integer(required=True)


class ConversationObject(Schema):
    """A conversation."""

    id = fields.String(required=True, metadata={"description": "`conv_` and 32 hex digits."})
    object = fields.String(required=True, metadata={"enum": ["conversation"]})
    created_at = fields.Integer(required=True, metadata={"description": "Unix seconds."})
    metadata = fields.Dict(required=True, keys=fields.String(), values=fields.String())
    updated_at = fields.Integer(required=True, metadata={"description": "Of its last change, Unix seconds."})
    expires_at = fields.Integer(
        required=True, metadata={"description": "When it is deleted unless it is changed, Unix seconds."}
    )
    item_count = fields.Integer(required=True)
    bytes = fields.Integer(required=True, metadata={"description": "What it takes of the tenant's quota."})
    turns = fields.List(fields.Nested(OpenTurn), required=True)


class ConversationQuota(Schema):
    """What the conversations of a tenant take, and may take."""

    conversations = fields.Integer(required=True)
    max_conversations = fields.Integer(required=True)
    bytes = fields.Integer(required=True)
    max_bytes = fields.Integer(required=True)


class ConversationList(Schema):
    """Conversations of the tenant, the latest changed first."""

    object = fields.String(required=True, metadata={"enum": ["list"]})
    data = fields.List(fields.Nested(ConversationObject), required=True)
    first_id = fields.String(required=True, allow_none=True)
    last_id = fields.String(required=True, allow_none=True)
    has_more = fields.Boolean(required=True)
    quota = fields.Nested(ConversationQuota, required=True)


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
    parent_id = fields.String(
        required=True, allow_none=True, metadata={"description": "The item before it; null: it is a root."}
    )
    created_at = fields.Integer(
        required=True, allow_none=True, metadata={"description": "Unix seconds; null if not known."}
    )
    continues = fields.String(metadata={"description": "The message whose text this one continues."})
    response_id = fields.String(metadata={"description": "Of the items of an answer."})
    model = fields.String(metadata={"description": "The same."})
    response_status = fields.String(
        metadata={"enum": list(ENDS), "description": "Of the last item of an answer, as all that follow."}
    )
    usage = fields.Dict(allow_none=True)
    measurements = fields.Dict()
    error = fields.Dict(allow_none=True)
    metadata = fields.Dict(keys=fields.String(), values=fields.String())
