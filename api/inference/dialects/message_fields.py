"""The messages, content parts and tools that clients send, in the forms of both dialects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from api.http.strict_fields import (
    BooleanField,
    EnumField,
    ListField,
    NestedField,
    StringField,
    TaggedUnionField,
    UnionField,
)
from api.http.strict_schema import StrictSchema, raise_mismatch
from api.inference.dialects.output_format_fields import check_strict_tool
from api.inference.dialects.tool_fields import SchemaField

ROLES = ("system", "developer", "user", "assistant", "tool")
FUNCTION_NAME = "[a-zA-Z0-9_.-]{1,128}"
"""The longest names are those of MCP servers' tools, which Responses and Messages take as well."""
DETAILS = ("auto", "low", "high", "original")
TOOL_CHOICES = ("none", "auto", "required")
ALLOWED_MODES = ("auto", "required")
MAX_TOOLS = 1024
"""The grammar of a call grows with the schemas, whose bytes are bounded together, not with their number."""
IMAGE = "a data: URL, in base64, of a PNG, JPEG, WebP or GIF file."


class TextPartSchema(StrictSchema):
    """A text."""

    type = EnumField("The type.", ("text", "input_text", "output_text", "summary_text", "reasoning_text"))
    text = StringField("The text.", required=True)


class RefusalPartSchema(StrictSchema):
    """An earlier refusal of the assistant."""

    type = EnumField("The type.", ("refusal",), required=True)
    refusal = StringField("The text.", required=True)


class ImagePartSchema(StrictSchema):
    """An image in the form of the Responses API. Only user messages may hold images."""

    type = EnumField("The type.", ("input_image",), required=True)
    image_url = StringField(f"The image: {IMAGE}")
    detail = EnumField("The resolution to read it at, for engines that support it.", DETAILS)
    file_id = StringField("Not supported.")


FILE_DATA = (
    "The file: a PDF file, or a text (plain, Markdown, CSV, JSON) in UTF-8; in base64, or a data: URL of it."
)
FILE_ID = "The id of a file of /v1/files, instead of `file_data`."


_WITH_CONTENT = {
    "oneOf": [
        {"required": [name], "properties": {name: {"type": "string"}}} for name in ("file_data", "file_id")
    ]
}


class FilePartSchema(StrictSchema):
    """A document in the form of the Responses API, whose text is read. Only user messages may hold files."""

    also: ClassVar[Mapping[str, Any]] = {
        "allOf": [_WITH_CONTENT, {"properties": {"file_url": {"type": "null"}}}]
    }

    type = EnumField("The type.", ("input_file",), required=True)
    filename = StringField("Its name, which precedes the text.", max_length=256)
    file_data = StringField(FILE_DATA)
    file_id = StringField(FILE_ID, max_length=256)
    file_url = StringField("Not supported.")


class ChatFile(StrictSchema):
    """A document."""

    also: ClassVar[Mapping[str, Any]] = _WITH_CONTENT

    filename = StringField("Its name, which precedes the text.", max_length=256)
    file_data = StringField(FILE_DATA)
    file_id = StringField(FILE_ID, max_length=256)


class ChatFilePartSchema(StrictSchema):
    """A document in the form of Chat Completions, whose text is read. Only user messages may hold files."""

    type = EnumField("The type.", ("file",), required=True)
    file = NestedField("The document.", ChatFile, required=True)


class ImageUrl(StrictSchema):
    """The URL of an image."""

    url = StringField(f"The image: {IMAGE}", required=True)
    detail = EnumField("The resolution to read it at, for engines that support it.", DETAILS)


class ChatImagePartSchema(StrictSchema):
    """An image in the form of Chat Completions. Only user messages may hold images."""

    type = EnumField("The type.", ("image_url",), required=True)
    image_url = NestedField("The image.", ImageUrl, required=True)


class CalledFunction(StrictSchema):
    """The function of a tool call."""

    name = StringField("Its name.", required=True, pattern=FUNCTION_NAME)
    arguments = StringField("Its arguments: a JSON text, exactly as the model wrote it.", required=True)


class ChatToolCall(StrictSchema):
    """An earlier call by the assistant."""

    id = StringField(
        "The id of the call; the tool message repeats it.", required=True, min_length=1, max_length=256
    )
    type = EnumField("Always `function`.", ("function",))
    function = NestedField("The function and its arguments.", CalledFunction, required=True)


_SET = {"not": {"type": "null"}}
_TEXT_ONLY = {
    "not": {
        "type": "array",
        "contains": {"required": ["type"], "properties": {"type": {"enum": ["image_url", "file"]}}},
    }
}


def _of_roles(*roles: str, **fields: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON Schema of messages with these roles; fields that must be set are required."""
    required = [name for name, schema in fields.items() if schema is not _TEXT_ONLY]
    return {"required": ["role", *required], "properties": {"role": {"enum": [*roles]}, **fields}}


class ChatMessage(StrictSchema):
    """One message of the conversation."""

    also: ClassVar[Mapping[str, Any]] = {
        "anyOf": [
            _of_roles("user", content=_SET),
            _of_roles("assistant", content=_TEXT_ONLY),
            _of_roles("system", "developer", content={"allOf": [_SET, _TEXT_ONLY]}),
            _of_roles("tool", content=_TEXT_ONLY, tool_call_id={"type": "string"}),
        ]
    }

    role = EnumField("The author; `developer` is treated as `system`.", ROLES, required=True)
    content = UnionField(
        "The content of the message.",
        StringField("The text."),
        ListField(
            "Its parts.",
            TaggedUnionField(
                "A part.",
                {
                    "text": TextPartSchema,
                    "refusal": RefusalPartSchema,
                    "image_url": ChatImagePartSchema,
                    "file": ChatFilePartSchema,
                },
                code="unsupported_input",
            ),
        ),
    )
    name = StringField("Ignored.")
    refusal = StringField("The assistant's refusal, in place of a content.")
    reasoning_content = StringField("The assistant's reasoning before its answer.")
    tool_calls = ListField(
        "The assistant's calls.", NestedField("A call.", ChatToolCall), max_items=MAX_TOOLS
    )
    tool_call_id = StringField(
        "The id of the call that a `tool` message answers.", min_length=1, max_length=256
    )


class ChatFunction(StrictSchema):
    """A function the model may call."""

    name = StringField("Its name.", required=True, pattern=FUNCTION_NAME, example="get_weather")
    description = StringField("What it does and when to call it.")
    parameters = SchemaField("JSON Schema of its arguments, an object's. Engines enforce what they can.")
    strict = BooleanField("Whether arguments always fit the schema, which is OpenAI's strict subset then.")

    @classmethod
    def check(cls, value: object) -> None:
        """Validate a value. Raises `SchemaMismatch`."""
        super().check(value)
        check_strict_tool(value, "parameters")


class ChatTool(StrictSchema):
    """A tool in the form of Chat Completions: the function is nested."""

    type = EnumField("Always `function`.", ("function",), required=True)
    function = NestedField("The function.", ChatFunction, required=True)


class ChatCustomTool(StrictSchema):
    """Not supported: a custom tool, which only the Responses API offers to the model."""

    also: ClassVar[Mapping[str, Any]] = {"not": {}}

    type = EnumField("The type.", ("custom",), required=True)

    @classmethod
    def check(cls, value: object) -> None:  # noqa: ARG003 - all are refused
        """Raise `SchemaMismatch`."""
        raise_mismatch("must be function: /v1/responses takes custom tools", "type", code="unsupported_tool")


class ChosenFunction(StrictSchema):
    """The name of a function."""

    name = StringField("Its name.", required=True, pattern=FUNCTION_NAME)


class ChatToolChoice(StrictSchema):
    """The tool to call, in the form of Chat Completions."""

    type = EnumField("Always `function`.", ("function",), required=True)
    function = NestedField("The function.", ChosenFunction, required=True)


class AllowedChatTools(StrictSchema):
    """The tools that the model may call, and whether it has to, in the form of Chat Completions."""

    mode = EnumField("Whether the model may or must call one of them.", ALLOWED_MODES, required=True)
    tools = ListField(
        "Those of the tools that the model may call; it is not offered the others.",
        NestedField("A tool.", ChatToolChoice),
        required=True,
        min_items=1,
        max_items=MAX_TOOLS,
    )


class ChatAllowedTools(StrictSchema):
    """A choice among some of the tools, in the form of Chat Completions: it is nested."""

    type = EnumField("Always `allowed_tools`.", ("allowed_tools",), required=True)
    allowed_tools = NestedField("The tools.", AllowedChatTools, required=True)


class FunctionTool(ChatFunction):
    """A tool in the form of the Responses API: flat."""

    type = EnumField("Always `function`.", ("function",), required=True)


class OtherTool(StrictSchema):
    """A tool that is not offered to the model: one of its vendor's servers, or of a type unknown here."""
