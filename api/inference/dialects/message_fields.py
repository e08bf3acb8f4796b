"""The messages and tools that clients send, in the forms of both of OpenAI's APIs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import orjson

from api.http.strict_fields import (
    BooleanField,
    EnumField,
    ListField,
    NestedField,
    StringField,
    UnionField,
)
from api.http.strict_schema import StrictSchema, raise_mismatch
from api.inference.dialects.output_format_fields import check_strict_tool
from api.inference.dialects.part_fields import CHAT_PARTS, OtherPartSchema, PartsField, complete_chat_part
from api.inference.dialects.tool_fields import SchemaField

ROLES = ("system", "developer", "user", "assistant", "tool", "function")
FUNCTION_NAME = "[a-zA-Z0-9_.-]{1,128}"
"""The longest names are those of MCP servers' tools, which Responses and Messages take as well."""
TOOL_CHOICES = ("none", "auto", "required")
CHAT_TOOL_CHOICES = (*TOOL_CHOICES, "any")
"""The modes of Chat Completions; `any` is the name of `required` in the APIs of Mistral and others."""
ALLOWED_MODES = ("auto", "required")
MAX_TOOLS = 1024
"""The grammar of a call grows with the schemas, whose bytes are bounded together, not with their number."""


def write_arguments(call: object) -> None:
    """Make a JSON text of the arguments of a call, which some frameworks keep as an object, or leave out."""
    if isinstance(call, dict):
        arguments = call.get("arguments")
        if isinstance(arguments, dict):
            call["arguments"] = orjson.dumps(arguments).decode()
        elif arguments is None:
            call["arguments"] = "{}"


class CalledFunction(StrictSchema):
    """The function of a tool call."""

    name = StringField("Its name.", required=True, pattern=FUNCTION_NAME)
    arguments = StringField("Its arguments: a JSON text, exactly as the model wrote it; or none.")

    @classmethod
    def check(cls, value: object) -> None:
        """Make a JSON text of the arguments, and validate a value. Raises `SchemaMismatch`."""
        write_arguments(value)
        super().check(value)


class ChatToolCall(StrictSchema):
    """An earlier call by the assistant."""

    id = StringField("The id of the call, if it has one; the tool message repeats it.", max_length=256)
    type = EnumField("Always `function`.", ("function",))
    function = NestedField("The function and its arguments.", CalledFunction, required=True)


_SET = {"not": {"type": "null"}}
_TEXT_ONLY = {
    "not": {
        "type": "array",
        "contains": {
            "required": ["type"],
            "properties": {"type": {"enum": ["image_url", "input_audio", "file"]}},
        },
    }
}
_KNOWN = {"items": {"properties": {"type": {"enum": [*CHAT_PARTS]}}}}
_OF_RESULTS = [kind for kind in CHAT_PARTS if kind != "input_audio"]
_RESULT = {"items": {"properties": {"type": {"enum": _OF_RESULTS}}}}


def _of_roles(*roles: str, **fields: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON Schema of messages with these roles; fields that must be set are required."""
    required = [name for name, schema in fields.items() if schema not in (_TEXT_ONLY, _RESULT)]
    return {"required": ["role", *required], "properties": {"role": {"enum": [*roles]}, **fields}}


class ChatMessage(StrictSchema):
    """One message of the conversation."""

    also: ClassVar[Mapping[str, Any]] = {
        "anyOf": [
            _of_roles("user", content={"allOf": [_SET, _KNOWN]}),
            _of_roles("assistant", content=_TEXT_ONLY),
            _of_roles("system", "developer", content={"allOf": [_SET, _TEXT_ONLY, _KNOWN]}),
            _of_roles("tool", content=_RESULT, tool_call_id={"type": "string", "minLength": 1}),
            _of_roles("function", content=_RESULT),
        ]
    }

    role = EnumField(
        "The author; `developer` is treated as `system`, `function` is the older name of `tool`.",
        ROLES,
        required=True,
    )
    content = UnionField(
        "The content of the message.",
        StringField("The text."),
        PartsField("Its parts.", CHAT_PARTS, complete_chat_part, other=OtherPartSchema),
    )
    name = StringField("The function that a `function` message answers; else ignored.")
    refusal = StringField("The assistant's refusal, in place of a content.")
    reasoning_content = StringField("The assistant's reasoning before its answer.")
    tool_calls = ListField(
        "The assistant's calls.", NestedField("A call.", ChatToolCall), max_items=MAX_TOOLS
    )
    function_call = NestedField("The older form of a single call of the assistant.", CalledFunction)
    tool_call_id = StringField("The id of the call that a `tool` message answers.", max_length=256)

    @classmethod
    def check(cls, value: object) -> None:
        """Validate a value. Raises `SchemaMismatch`."""
        super().check(value)
        content = value.get("content") if isinstance(value, dict) and value["role"] != "assistant" else None
        for index, part in enumerate(content if isinstance(content, list) else ()):
            if part["type"] not in CHAT_PARTS:
                message = f"must be of type {' or '.join(CHAT_PARTS)}"
                raise_mismatch(message, "content", index, "type", code="unsupported_input")


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

    @classmethod
    def check(cls, value: object) -> None:
        """Complete a tool without a type or in a flat form, and validate a value. Raises `SchemaMismatch`."""
        if isinstance(value, dict):
            value["type"] = value.get("type") or "function"
            if "function" not in value and "name" in value:
                value["function"] = nested_function(value)
        super().check(value)


def nested_function(flat: Mapping[str, Any]) -> dict[str, Any]:
    """The function of a tool in the form of Responses, or of Anthropic's Messages."""
    function = {name: flat[name] for name in ("name", "description", "parameters", "strict") if name in flat}
    if "input_schema" in flat:
        function.setdefault("parameters", flat["input_schema"])
    return function


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

    @classmethod
    def check(cls, value: object) -> None:
        """Nest a name in the flat form of Responses, and validate a value. Raises `SchemaMismatch`."""
        if isinstance(value, dict) and "function" not in value and "name" in value:
            value["function"] = {"name": value["name"]}
        super().check(value)


class ChatMode(StrictSchema):
    """A mode as an object, as in Anthropic's API."""

    type = EnumField("The mode.", CHAT_TOOL_CHOICES, required=True)


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

    @classmethod
    def check(cls, value: object) -> None:
        """Flatten the form of Chat Completions, and validate a value. Raises `SchemaMismatch`."""
        if isinstance(value, dict) and "name" not in value and isinstance(value.get("function"), dict):
            value |= nested_function(value.pop("function"))
        super().check(value)


class OtherTool(StrictSchema):
    """A tool that is not offered to the model: one of its vendor's servers, or of a type unknown here."""
