"""The bodies of /v1/responses (OpenAI API reference, "Responses"; Open Responses specification).

`messages`, `thinking`, `source_lang_code`, `target_lang_code` (Runtime Admin API) and `allow_remote` are
extensions of this platform.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import marshmallow
from marshmallow import fields

from api.http.strict_fields import (
    AnyField,
    BooleanField,
    EnumField,
    IntegerField,
    ListField,
    MetadataField,
    NestedField,
    StringField,
    TaggedUnionField,
    UnionField,
)
from api.http.strict_schema import StrictSchema
from api.inference.dialects.message_fields import (
    FUNCTION_NAME,
    ChatMessage,
    write_arguments,
)
from api.inference.dialects.output_format_fields import responses_formats
from api.inference.dialects.part_fields import (
    AudioPartSchema,
    FilePartSchema,
    ImagePartSchema,
    PartsField,
    RefusalPartSchema,
    TextPartSchema,
    complete_responses_part,
    complete_text,
)
from api.inference.dialects.request_fields import (
    ALLOW_REMOTE,
    SamplingFields,
    TokenLimitField,
    lora,
    prompt_cache_key,
    service_tier,
    thinking_field,
)
from api.inference.responses.tools_schema import NAMESPACE, tool_choice_field, tools_field
from generation.generation import LANGUAGE_CODE

UNSET_SAMPLING = "The value of the request; 1 if it had none, and then the engine's default was used."
INCLUDE_LOGPROBS = "message.output_text.logprobs"
INCLUDE_REASONING = "reasoning.encrypted_content"
MAX_INCLUDED = 64

MAX_ENCRYPTED = 1 << 20
"""Characters of an encrypted summary, which has at most `compaction.SUMMARY_TOKENS` tokens."""

STATUSES = ("queued", "in_progress", "completed", "incomplete", "failed", "cancelled")


def _texts(description: str, kind: str) -> PartsField:
    return PartsField(description, {kind: TextPartSchema}, complete_text(kind))


def _parts(description: str, parts: Mapping[str, type[StrictSchema]]) -> PartsField:
    return PartsField(description, parts, complete_responses_part)


RESULT_PARTS: dict[str, type[StrictSchema]] = {
    "input_text": TextPartSchema,
    "output_text": TextPartSchema,
    "input_image": ImagePartSchema,
    "refusal": RefusalPartSchema,
    "input_file": FilePartSchema,
}
"""The parts of the output of a call."""

PARTS: dict[str, type[StrictSchema]] = {**RESULT_PARTS, "input_audio": AudioPartSchema}


_TEXT_ONLY = {
    "not": {
        "type": "array",
        "contains": {
            "required": ["type"],
            "properties": {"type": {"enum": ["input_image", "input_audio", "input_file"]}},
        },
    }
}


class InputMessage(StrictSchema):
    """A message of the conversation."""

    also: ClassVar[Mapping[str, Any]] = {
        "anyOf": [
            {"properties": {"role": {"const": "user"}}},
            {"properties": {"content": _TEXT_ONLY}},
        ]
    }

    type = EnumField("Optional.", ("message",))
    role = EnumField("The author.", ("user", "assistant", "system", "developer"), required=True)
    content = UnionField(
        "The content of the message.",
        StringField("The text."),
        _parts("Its parts.", PARTS),
        required=True,
    )

    @classmethod
    def check(cls, value: object) -> None:
        """Name the type of a message with an empty one, and validate a value. Raises `SchemaMismatch`."""
        if isinstance(value, dict) and value.get("type") == "":
            value["type"] = "message"
        super().check(value)


class InputFunctionCall(StrictSchema):
    """An earlier call by the model."""

    type = EnumField("The type.", ("function_call",), required=True)
    call_id = StringField(
        "The id of the call; its output repeats it.", required=True, min_length=1, max_length=256
    )
    name = StringField("Its name.", required=True, pattern=FUNCTION_NAME)
    namespace = StringField(NAMESPACE, pattern=FUNCTION_NAME)
    arguments = StringField("Its arguments: a JSON text; or none.")

    @classmethod
    def check(cls, value: object) -> None:
        """Make a JSON text of the arguments, and validate a value. Raises `SchemaMismatch`."""
        write_arguments(value)
        super().check(value)


class InputCustomCall(StrictSchema):
    """An earlier call of a custom tool by the model."""

    type = EnumField("The type.", ("custom_tool_call",), required=True)
    call_id = StringField(
        "The id of the call; its output repeats it.", required=True, min_length=1, max_length=256
    )
    name = StringField("Its name.", required=True, pattern=FUNCTION_NAME)
    namespace = StringField(NAMESPACE, pattern=FUNCTION_NAME)
    input = StringField("Its input.", required=True)


def _output_status() -> StringField:
    return StringField("`incomplete`: the call failed. A conversation keeps it; others mean `completed`.")


def _output() -> UnionField:
    return UnionField(
        "The output.",
        StringField("The text."),
        _parts("Its parts.", RESULT_PARTS),
        required=True,
    )


class InputFunctionOutput(StrictSchema):
    """The output of a called function."""

    type = EnumField("The type.", ("function_call_output",), required=True)
    call_id = StringField("The id of the call.", required=True, min_length=1, max_length=256)
    output = _output()
    status = _output_status()


class InputCustomOutput(StrictSchema):
    """The output of a called custom tool."""

    type = EnumField("The type.", ("custom_tool_call_output",), required=True)
    call_id = StringField("The id of the call.", required=True, min_length=1, max_length=256)
    output = _output()
    status = _output_status()


class InputTools(StrictSchema):
    """Tools that the model may call besides those of `tools`."""

    type = EnumField("The type.", ("additional_tools",), required=True)
    tools = tools_field(required=True)


class InputSearchCall(StrictSchema):
    """An earlier search for tools by the model, which the client has run."""

    type = EnumField("The type.", ("tool_search_call",), required=True)
    call_id = StringField("The id of the call; a search without one is left out.", max_length=256)
    arguments = AnyField("Its arguments: an object, or a JSON text.")


class InputSearchOutput(StrictSchema):
    """The tools that a search has found: the model may call them besides those of `tools`."""

    type = EnumField("The type.", ("tool_search_output",), required=True)
    call_id = StringField("The id of the call; a search without one is left out.", max_length=256)
    tools = tools_field(required=True)

    @classmethod
    def check(cls, value: object) -> None:
        """Drop what OpenAI's servers found, and validate a value. Raises `SchemaMismatch`."""
        if isinstance(value, dict) and (not value.get("call_id") or value.get("tools") is None):
            value["tools"] = []
        super().check(value)


class ItemReference(StrictSchema):
    """An output item of a stored response, by its id."""

    type = EnumField("The type.", ("item_reference",), required=True)
    id = StringField("The id of the item.", required=True, min_length=1, max_length=128)


class OtherItem(StrictSchema):
    """An item that is left out: a call of a tool of OpenAI's servers, or of a type unknown here."""


class InputReasoning(StrictSchema):
    """Earlier reasoning of the model; only its plain text is used."""

    type = EnumField("The type.", ("reasoning",), required=True)
    summary = _texts("The summary.", "summary_text")
    content = _texts("The reasoning.", "reasoning_text")
    encrypted_content = StringField(
        "The reasoning as an answer had it, for clients that keep nothing else; that of other servers is"
        " ignored."
    )


class InputCompaction(StrictSchema):
    """The summary of an earlier part of the conversation, as /v1/responses/compact has returned it."""

    type = EnumField("The type.", ("compaction",), required=True)
    encrypted_content = StringField(
        "The encrypted summary.", required=True, min_length=1, max_length=MAX_ENCRYPTED
    )


class TextOptions(StrictSchema):
    """Options of the answer's text."""

    format = responses_formats()
    verbosity = StringField("Repeated and ignored: low, medium and high; others are ignored.")


class Reasoning(StrictSchema):
    """Options of the model's reasoning."""

    effort = StringField(
        "`none` turns thinking off, as `thinking: disabled` does. `minimal` to `xhigh` reach models whose"
        " chat template has a place for them, as low, medium or high."
    )
    summary = StringField("Repeated and ignored: auto, concise and detailed; others are ignored.")


_UNSET = {"type": "null"}
_SET = {"not": _UNSET}

ITEMS: dict[str, type[StrictSchema]] = {
    "message": InputMessage,
    "function_call": InputFunctionCall,
    "function_call_output": InputFunctionOutput,
    "custom_tool_call": InputCustomCall,
    "custom_tool_call_output": InputCustomOutput,
    "reasoning": InputReasoning,
    "compaction": InputCompaction,
    "tool_search_call": InputSearchCall,
    "tool_search_output": InputSearchOutput,
    "additional_tools": InputTools,
    "item_reference": ItemReference,
}


def _input_item() -> TaggedUnionField:
    return TaggedUnionField(
        "An item. Those of other types are left out.", ITEMS, default="message", other=OtherItem
    )


def _items(min_items: int = 0) -> ListField:
    return ListField("The conversation so far.", _input_item(), min_items=min_items, max_items=10_000)


def conversation_id(*, required: bool = False) -> StringField:
    """The id of a conversation."""
    return StringField("Its id.", required=required, min_length=1, max_length=128)


class ConversationReference(StrictSchema):
    """A conversation by its id, and the place in it."""

    id = conversation_id(required=True)
    parent = StringField(
        "The item that the response follows: the path to it is the history. Null: the input is a new root."
        " Without this key, the response follows the latest item.",
        min_length=1,
        max_length=128,
    )
    attachments = EnumField(
        "`auto`: a line stands in the place of each image or file that the model does not take, and of the"
        " oldest ones beyond the limits of a request; the conversation keeps them. `all`, the default: such a"
        " request is refused.",
        ("all", "auto"),
    )


class ResponsesRequest(SamplingFields):
    """A generation request. Fields that are not listed are accepted and ignored."""

    also: ClassVar[Mapping[str, Any]] = {
        "allOf": [
            {
                "anyOf": [
                    {"required": ["input"], "properties": {"input": _SET, "messages": _UNSET}},
                    {"required": ["messages"], "properties": {"messages": _SET, "input": _UNSET}},
                ]
            },
            {
                "anyOf": [
                    {"properties": {"input": {"not": {"maxItems": 0, "type": "array"}}}},
                    {
                        "required": ["conversation"],
                        "properties": {"conversation": {"type": "object", "required": ["parent"]}},
                    },
                ]
            },
            {
                "not": {
                    "required": ["background", "store"],
                    "properties": {"background": {"const": True}, "store": {"const": False}},
                }
            },
            {
                "anyOf": [
                    {"properties": {"conversation": _UNSET}},
                    {
                        "properties": {
                            "previous_response_id": _UNSET,
                            "messages": _UNSET,
                            "store": {"not": {"const": False}},
                        }
                    },
                ]
            },
        ]
    }

    model = StringField("Name of the model.", required=True, min_length=1, max_length=256, example="demo")
    input = UnionField(
        "The input: a text, or the items of a conversation; no items in a branch of a conversation alone.",
        StringField("The text."),
        _items(),
    )
    messages = ListField(
        "The conversation in the form of Chat Completions, instead of `input`.",
        NestedField("A message.", ChatMessage),
        min_items=1,
        max_items=10_000,
    )
    previous_response_id = StringField(
        "The stored response that this one continues: its conversation and its output come before the input,"
        " without its instructions. An empty one is none.",
        max_length=128,
    )
    conversation = UnionField(
        "The conversation that the response belongs to: its items come before the input; the input and the"
        " output become items of it. An empty id is none.",
        StringField("Its id.", max_length=128),
        NestedField("The conversation.", ConversationReference),
    )
    instructions = StringField("A system message, placed before all others.")
    stream = BooleanField("Stream the response as server-sent events.")
    background = BooleanField(
        "Return at once with status `queued`; the response can be retrieved later by its id."
    )
    store = BooleanField("Store the response for a while, to be retrieved by its id. True by default.")
    max_output_tokens = TokenLimitField(
        "Maximum number of tokens to generate, thinking included; -1 sets none."
    )
    metadata = MetadataField("Up to 16 pairs that the response repeats.")
    tools = tools_field()
    tool_choice = tool_choice_field()
    parallel_tool_calls = BooleanField("False: at most one call in an answer.")
    max_tool_calls = IntegerField("Repeated and ignored.", minimum=1)
    text = NestedField("Options of the answer's text.", TextOptions)
    reasoning = NestedField("Options of the model's reasoning.", Reasoning)
    thinking = thinking_field()
    source_lang_code = StringField(
        "Language of the text (or auto, mixed), for translation models.", pattern=LANGUAGE_CODE
    )
    target_lang_code = StringField(
        "Language to translate into, for translation models.", pattern=LANGUAGE_CODE
    )
    lora = lora()
    allow_remote = BooleanField(ALLOW_REMOTE)
    continue_final_message = BooleanField(
        "The conversation ends with a begun message of the assistant: the output is only what follows it."
    )
    return_progress = BooleanField(
        "With `stream`: events `response.prompt_progress` while the prompt is read, from engines that"
        " report it."
    )
    truncation = EnumField(
        "`auto`: the oldest turns of an input that does not fit into the context are dropped; `disabled`: it"
        " is an error.",
        ("auto", "disabled"),
    )
    top_logprobs = IntegerField(
        "The log probabilities of so many of the likeliest tokens in the place of each, for models that have"
        " them.",
        minimum=0,
        maximum=20,
    )
    include = ListField(
        "`message.output_text.logprobs`: the log probabilities of the answer's tokens."
        " `reasoning.encrypted_content`: the reasoning once more, in the form in which clients send it back."
        " Other values add nothing: input items have their images in any case, and the rest is about tools of"
        " OpenAI's servers.",
        StringField("What is added.", required=True),
        max_items=MAX_INCLUDED,
    )
    safety_identifier = StringField("Repeated and ignored.", max_length=512)
    prompt_cache_key = prompt_cache_key()
    service_tier = service_tier()


class CompactRequest(StrictSchema):
    """A request to compact a conversation. Fields that are not listed are accepted and ignored."""

    also: ClassVar[Mapping[str, Any]] = {
        "anyOf": [
            {"required": ["input"], "properties": {"input": {**_SET, "minLength": 1}}},
            {"required": ["previous_response_id"], "properties": {"previous_response_id": _SET}},
        ]
    }

    model = StringField("Name of the model.", required=True, min_length=1, max_length=256, example="demo")
    input = UnionField(
        "The conversation: a text, or its items. It may be left out with `previous_response_id`.",
        StringField("The text."),
        _items(1),
    )
    previous_response_id = StringField(
        "The stored response whose conversation and output come before the input, without its instructions.",
        min_length=1,
        max_length=128,
    )
    instructions = StringField("A system message for the summary; it is not repeated.")
    lora = lora()
    allow_remote = BooleanField(ALLOW_REMOTE)
    prompt_cache_key = prompt_cache_key()
    service_tier = service_tier()


def _described(description: str, **settings: object) -> dict[str, object]:
    return {"description": description, **settings}


class ResponseError(marshmallow.Schema):
    """Why a response failed."""

    code = fields.String(
        required=True,
        metadata=_described("One of OpenAI's codes; the platform's own code begins the message."),
    )
    message = fields.String(required=True, metadata=_described("For example `engine_crashed: ...`."))


class ResponseObject(marshmallow.Schema):
    """A response, finished or not. All keys but `conversation` are always present."""

    id = fields.String(required=True, metadata=_described("`resp_` and 32 hex digits."))
    object = fields.String(required=True, metadata={"enum": ["response"]})
    created_at = fields.Integer(required=True, metadata=_described("Unix seconds."))
    completed_at = fields.Integer(required=True, allow_none=True, metadata=_described("Unix seconds."))
    status = fields.String(required=True, metadata={"enum": list(STATUSES)})
    background = fields.Boolean(required=True)
    error = fields.Nested(ResponseError, required=True, allow_none=True)
    incomplete_details = fields.Dict(
        required=True,
        allow_none=True,
        metadata=_described(
            "`{reason: max_output_tokens}` if the token limit was reached; or `content_filter`."
        ),
    )
    instructions = fields.String(required=True, allow_none=True)
    max_output_tokens = fields.Integer(required=True, allow_none=True)
    max_tool_calls = fields.Integer(required=True, allow_none=True)
    model = fields.String(required=True)
    output = fields.List(
        fields.Dict(),
        required=True,
        metadata=_described(
            "Items: `message`, `reasoning`, `function_call`, `custom_tool_call`, `tool_search_call`."
        ),
    )
    parallel_tool_calls = fields.Boolean(required=True)
    previous_response_id = fields.String(required=True, allow_none=True)
    prompt_cache_key = fields.String(required=True, allow_none=True)
    reasoning = fields.Dict(required=True)
    safety_identifier = fields.String(required=True, allow_none=True)
    service_tier = fields.String(required=True)
    store = fields.Boolean(required=True)
    temperature = fields.Float(required=True, metadata=_described(UNSET_SAMPLING))
    text = fields.Dict(required=True)
    tool_choice = fields.Raw(required=True)
    tools = fields.List(fields.Dict(), required=True)
    top_logprobs = fields.Integer(required=True)
    top_p = fields.Float(required=True, metadata=_described(UNSET_SAMPLING))
    presence_penalty = fields.Float(required=True)
    frequency_penalty = fields.Float(required=True)
    truncation = fields.String(required=True)
    usage = fields.Dict(
        required=True,
        allow_none=True,
        metadata=_described("Input and output tokens, with the cached and the reasoning ones among them."),
    )
    metadata = fields.Dict(required=True, keys=fields.String(), values=fields.String())
    conversation = fields.Dict(
        metadata=_described("`id` of the conversation, and `parent` in a branch, if it belongs to one.")
    )


class DeletedResponse(marshmallow.Schema):
    """The confirmation that a stored response was deleted."""

    id = fields.String(required=True)
    object = fields.String(required=True, metadata={"enum": ["response"]})
    deleted = fields.Boolean(required=True)


class InputItemList(marshmallow.Schema):
    """A page of a response's input."""

    object = fields.String(required=True)
    data = fields.List(fields.Dict(), required=True)
    first_id = fields.String(required=True, allow_none=True)
    last_id = fields.String(required=True, allow_none=True)
    has_more = fields.Boolean(required=True)


class InputTokensObject(marshmallow.Schema):
    """The number of input tokens of a request."""

    object = fields.String(required=True, metadata={"enum": ["response.input_tokens"]})
    input_tokens = fields.Integer(required=True)


class CompactedResponse(marshmallow.Schema):
    """A compacted conversation: the input of the next request, before its new items."""

    id = fields.String(required=True, metadata=_described("`resp_` and 32 hex digits; it cannot be fetched."))
    object = fields.String(required=True, metadata={"enum": ["response.compaction"]})
    created_at = fields.Integer(required=True, metadata=_described("Unix seconds."))
    output = fields.List(
        fields.Dict(),
        required=True,
        metadata=_described("The messages of the user and the system, and an item `compaction`."),
    )
    usage = fields.Dict(required=True, metadata=_described("The tokens of the summary's job."))
