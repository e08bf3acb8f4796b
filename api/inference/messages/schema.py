"""The bodies of POST /v1/messages and of its count of tokens (Anthropic API reference, "Messages")."""

from __future__ import annotations

import marshmallow
from marshmallow import fields

from api.http.strict_fields import (
    BooleanField,
    EnumField,
    IntegerField,
    ListField,
    NestedField,
    NumberField,
    ObjectField,
    StringField,
    TaggedUnionField,
    UnionField,
)
from api.http.strict_schema import StrictSchema
from api.inference.dialects.message_fields import FUNCTION_NAME, MAX_TOOLS, OtherTool
from api.inference.dialects.output_format_fields import OutputConfig, check_strict_tool
from api.inference.dialects.part_fields import PartsField, complete_text
from api.inference.dialects.request_fields import ALLOW_REMOTE, MAX_STOPS, MAX_TIER_CHARS, MAX_TOKENS, lora
from api.inference.dialects.tool_fields import SchemaField, ToolsField
from api.inference.generation_headers import MAX_TAG_CHARS

MIN_BUDGET = 1024
"""The smallest `budget_tokens`, as in Anthropic's API."""


class TextBlock(StrictSchema):
    """A text."""

    type = EnumField("The type.", ("text",), required=True)
    text = StringField("The text.", required=True)


class Base64Source(StrictSchema):
    """A file in the request."""

    type = EnumField("The type.", ("base64",), required=True)
    media_type = StringField("Its type.", required=True)
    data = StringField("The file in base64.", required=True)


class TextSource(StrictSchema):
    """A plain text in the request."""

    type = EnumField("The type.", ("text",), required=True)
    media_type = EnumField("Its type.", ("text/plain",), required=True)
    data = StringField("The text.", required=True)


class ImageBlock(StrictSchema):
    """An image. Only messages of the user may hold images."""

    type = EnumField("The type.", ("image",), required=True)
    source = TaggedUnionField(
        "The image; images are not fetched from URLs.",
        {"base64": Base64Source},
        required=True,
        code="unsupported_input",
    )


class ContentSource(StrictSchema):
    """A document of blocks."""

    type = EnumField("Its type.", ("content",), required=True)
    content = UnionField(
        "The document.",
        StringField("A text."),
        PartsField("Its blocks.", {"text": TextBlock, "image": ImageBlock}, complete_text("text")),
        required=True,
    )


class FileSource(StrictSchema):
    """A file of /v1/files."""

    type = EnumField("The type.", ("file",), required=True)
    file_id = StringField("Its id.", required=True, max_length=256)


class DocumentBlock(StrictSchema):
    """A document: a PDF file or a text, whose text is read, or blocks of text and images."""

    type = EnumField("The type.", ("document",), required=True)
    source = TaggedUnionField(
        "The document; documents are not fetched from URLs.",
        {"base64": Base64Source, "text": TextSource, "content": ContentSource, "file": FileSource},
        required=True,
        code="unsupported_input",
    )
    title = StringField("Its title, which precedes the text.")
    context = StringField("What it is, which precedes the text.")


class SearchResultBlock(StrictSchema):
    """A result of a search, which the model reads as a text."""

    type = EnumField("The type.", ("search_result",), required=True)
    source = StringField("Where it was found.", required=True)
    title = StringField("Its title.", required=True)
    content = ListField("Its parts.", NestedField("A text.", TextBlock), required=True)


class ToolReferenceBlock(StrictSchema):
    """A tool that a search of the client has found, which the model reads as its name."""

    type = EnumField("The type.", ("tool_reference",), required=True)
    tool_name = StringField("The tool's name.", required=True)


class OtherBlock(StrictSchema):
    """A block that is left out of the assistant's messages: of a tool of Anthropic's servers, or unknown."""


class ToolUseBlock(StrictSchema):
    """An earlier call by the assistant."""

    type = EnumField("The type.", ("tool_use",), required=True)
    id = StringField(
        "The id of the call; its result repeats it.", required=True, min_length=1, max_length=256
    )
    name = StringField("The tool's name.", required=True, pattern=FUNCTION_NAME)
    input = ObjectField("The arguments.", required=True)


class ToolResultBlock(StrictSchema):
    """The result of a call."""

    type = EnumField("The type.", ("tool_result",), required=True)
    tool_use_id = StringField("The id of the call.", required=True, min_length=1, max_length=256)
    content = UnionField(
        "The result.",
        StringField("A text."),
        PartsField(
            "Its parts.",
            {
                "text": TextBlock,
                "image": ImageBlock,
                "document": DocumentBlock,
                "search_result": SearchResultBlock,
                "tool_reference": ToolReferenceBlock,
            },
            complete_text("text"),
        ),
    )
    is_error = BooleanField("Whether the call failed; the model reads it as a text before the result.")


class ThinkingBlock(StrictSchema):
    """The assistant's reasoning before its answer."""

    type = EnumField("The type.", ("thinking",), required=True)
    thinking = StringField("The text.", required=True)
    signature = StringField("Ignored.")


class RedactedThinkingBlock(StrictSchema):
    """Reasoning of another server, which no model here can read: it is left out."""

    type = EnumField("The type.", ("redacted_thinking",), required=True)


class AnthropicMessage(StrictSchema):
    """One message of the conversation."""

    role = EnumField("The author.", ("user", "assistant", "system"), required=True)
    content = UnionField(
        "The content of the message.",
        StringField("The text."),
        PartsField(
            "Its blocks.",
            {
                "text": TextBlock,
                "image": ImageBlock,
                "document": DocumentBlock,
                "tool_use": ToolUseBlock,
                "tool_result": ToolResultBlock,
                "thinking": ThinkingBlock,
                "redacted_thinking": RedactedThinkingBlock,
                "search_result": SearchResultBlock,
            },
            complete_text("text"),
            other=OtherBlock,
        ),
        required=True,
    )


class CustomTool(StrictSchema):
    """A function that the model may call."""

    type = EnumField("Optional.", ("custom",))
    name = StringField("Its name.", required=True, pattern=FUNCTION_NAME, example="get_weather")
    description = StringField("What it does and when to call it.")
    input_schema = SchemaField(
        "JSON Schema of its arguments, an object's. Engines enforce what they can.", required=True
    )
    strict = BooleanField("Whether the input always fits the schema.")

    @classmethod
    def check(cls, value: object) -> None:
        """Validate a value. Raises `SchemaMismatch`."""
        super().check(value)
        check_strict_tool(value, "input_schema", openai=False)


class AutoChoice(StrictSchema):
    """The model may call tools (`auto`), must call one (`any`), or must not (`none`)."""

    type = EnumField("The mode.", ("auto", "any", "none"), required=True)
    disable_parallel_tool_use = BooleanField("Whether an answer has at most one call.")


class ToolChoice(StrictSchema):
    """The tool that the model must call."""

    type = EnumField("The mode.", ("tool",), required=True)
    name = StringField("Its name.", required=True, pattern=FUNCTION_NAME)
    disable_parallel_tool_use = BooleanField("Whether an answer has at most one call.")


class Thinking(StrictSchema):
    """Whether the model reasons first. It has no effect with a model without such a switch."""

    type = EnumField("`adaptive` leaves it to the model.", ("enabled", "disabled", "adaptive"), required=True)
    budget_tokens = IntegerField(
        "With `enabled`: the most tokens of the reasoning, for models that have such a budget. Below"
        " `max_tokens`, which the reasoning counts towards, too.",
        minimum=MIN_BUDGET,
        maximum=MAX_TOKENS,
    )

    @classmethod
    def check(cls, value: object) -> None:
        """Drop the budget of disabled reasoning (often 0), and validate a value. Raises `SchemaMismatch`."""
        if isinstance(value, dict) and value.get("type") == "disabled":
            value.pop("budget_tokens", None)
        super().check(value)


class CacheControl(StrictSchema):
    """How the prompt is cached."""

    type = EnumField("The type.", ("ephemeral",), required=True)
    ttl = StringField("Ignored: the least recently used prefixes make room for others.", max_length=16)
    tag = StringField(
        "The request's cache tag, as `X-Cache-Tag`, which outweighs it. Not in Anthropic's API.",
        min_length=1,
        max_length=MAX_TAG_CHARS,
        pattern="[!-~]+",
    )


class CountTokensRequest(StrictSchema):
    """A request whose input tokens are counted: that of a generation, where `max_tokens` is optional."""

    model = StringField("Name of the model.", required=True, min_length=1, max_length=256, example="demo")
    max_tokens = IntegerField("Maximum number of tokens to generate.", minimum=1, maximum=MAX_TOKENS)
    messages = ListField(
        "The conversation so far.",
        NestedField("A message.", AnthropicMessage),
        required=True,
        min_items=1,
        max_items=10_000,
    )
    system = UnionField(
        "The system prompt.",
        StringField("A text."),
        PartsField("Its parts.", {"text": TextBlock}, complete_text("text")),
    )
    stream = BooleanField("Stream the answer as server-sent events.")
    stop_sequences = ListField(
        "Stop before the first of these texts, which `stop_sequence` of the answer names; empty ones have no"
        " effect.",
        StringField("A text.", required=True, max_length=256),
        max_items=MAX_STOPS,
    )
    temperature = NumberField(
        "Sampling temperature; 0 always takes the likeliest token.", minimum=0, maximum=2
    )
    top_p = NumberField(
        "Nucleus sampling: sample from the likeliest tokens with this total probability.",
        minimum=0,
        maximum=1,
    )
    top_k = IntegerField(
        "Sample from so many of the likeliest tokens, for models that have it; 0 and -1 from all.",
        minimum=-1,
        maximum=MAX_TOKENS,
    )
    tools = ToolsField(
        "Functions the model may call. A tool of another type, such as `web_search_20250305`, is not offered"
        " to the model; the header `X-Ignored-Tools` names its type.",
        TaggedUnionField("A tool.", {"custom": CustomTool}, default="custom", other=OtherTool),
        max_items=MAX_TOOLS,
    )
    tool_choice = TaggedUnionField(
        "Whether the model may, must or must not call a tool.",
        {"auto": AutoChoice, "any": AutoChoice, "none": AutoChoice, "tool": ToolChoice},
        code="unsupported_parameter",
    )
    thinking = NestedField("Whether the model reasons first.", Thinking)
    output_config = NestedField("Options of the answer.", OutputConfig)
    cache_control = NestedField("The cache of the prompt, all of which is cached.", CacheControl)
    service_tier = StringField(
        "`standard_only`: the normal priority, unless `X-Priority` names another one. Others are as `auto`.",
        max_length=MAX_TIER_CHARS,
    )
    lora = lora()
    allow_remote = BooleanField(ALLOW_REMOTE)


class MessagesRequest(CountTokensRequest):
    """A generation request. Fields that are not listed are accepted and ignored."""

    max_tokens = IntegerField(
        "Maximum number of tokens to generate.", required=True, minimum=1, maximum=MAX_TOKENS
    )


class TokenCountObject(marshmallow.Schema):
    """The number of tokens of a prompt."""

    input_tokens = fields.Integer(required=True)


class OutputTokensDetails(marshmallow.Schema):
    """What the tokens of an answer were used for."""

    thinking_tokens = fields.Integer(required=True)


class AnthropicUsage(marshmallow.Schema):
    """The tokens of a request. Those of the prompt that came from the cache are not in `input_tokens`."""

    input_tokens = fields.Integer(required=True)
    cache_creation_input_tokens = fields.Integer(
        required=True,
        metadata={"description": "Always 0: every prompt is cached, and nothing is charged for it."},
    )
    cache_read_input_tokens = fields.Integer(required=True)
    output_tokens = fields.Integer(required=True)
    output_tokens_details = fields.Nested(OutputTokensDetails, required=True)
    service_tier = fields.String(
        required=True,
        metadata={"enum": ["standard", "priority"], "description": "`priority`: the priority was high."},
    )


class MessageObject(marshmallow.Schema):
    """A finished answer."""

    id = fields.String(required=True, metadata={"description": "`msg_` and 32 hex digits."})
    type = fields.String(required=True, metadata={"enum": ["message"]})
    role = fields.String(required=True, metadata={"enum": ["assistant"]})
    model = fields.String(required=True)
    content = fields.List(
        fields.Dict(),
        required=True,
        metadata={"description": "Blocks of the types `thinking`, `text` and `tool_use`."},
    )
    stop_reason = fields.String(
        required=True, metadata={"enum": ["end_turn", "max_tokens", "stop_sequence", "tool_use", "refusal"]}
    )
    stop_sequence = fields.String(required=True, allow_none=True)
    usage = fields.Nested(AnthropicUsage, required=True)


class AnthropicErrorDetails(marshmallow.Schema):
    """An error."""

    type = fields.String(required=True)
    message = fields.String(required=True)
    code = fields.String(required=True, metadata={"description": "The platform's code, which is stable."})
    param = fields.String(
        required=True, allow_none=True, metadata={"description": "The path of the field that is wrong."}
    )


class AnthropicError(marshmallow.Schema):
    """The body of every error below /v1/messages."""

    type = fields.String(required=True, metadata={"enum": ["error"]})
    error = fields.Nested(AnthropicErrorDetails, required=True)
    request_id = fields.String(required=True, allow_none=True)
