"""The tools of a Responses request, and the choice among them (OpenAI API reference, "Responses")."""

from __future__ import annotations

from typing import Any

from api.http.strict_fields import (
    EnumField,
    ListField,
    StringField,
    TaggedUnionField,
    UnionField,
)
from api.http.strict_schema import SchemaMismatch, StrictSchema
from api.inference.dialects.message_fields import (
    ALLOWED_MODES,
    FUNCTION_NAME,
    MAX_TOOLS,
    TOOL_CHOICES,
    FunctionTool,
    OtherTool,
)
from api.inference.dialects.tool_fields import SchemaField
from api.inference.dialects.tool_schema import check_tools_together

NAMESPACE = "The namespace of the tool."


class TextInput(StrictSchema):
    """Any text."""

    type = EnumField("The type.", ("text",), required=True)


class GrammarInput(StrictSchema):
    """A text that fits a grammar, which the model reads; its output is not bound to it."""

    type = EnumField("The type.", ("grammar",), required=True)
    syntax = StringField("The syntax of the grammar: lark or regex.", required=True, max_length=64)
    definition = StringField("The grammar.", required=True)


class OtherInput(StrictSchema):
    """A form of the input that the model does not learn of."""


class FreeformTool(StrictSchema):
    """A tool whose input is a text. The model is offered a function with one argument, `input`."""

    type = EnumField("Always `custom`.", ("custom",), required=True)
    name = StringField("Its name.", required=True, pattern=FUNCTION_NAME, example="apply_patch")
    description = StringField("What it does and when to call it.")
    format = TaggedUnionField(
        "The form of the input, which the model reads; its output is not bound to it.",
        {"text": TextInput, "grammar": GrammarInput},
        other=OtherInput,
    )


class SearchTool(StrictSchema):
    """A search for tools. One that the client runs is offered to the model as a function `tool_search`."""

    type = EnumField("Always `tool_search`.", ("tool_search",), required=True)
    execution = StringField("`client`: the client runs it; any other search is not offered to the model.")
    description = StringField("What can be found, and when to search.")
    parameters = SchemaField("JSON Schema of its arguments, an object's. Engines enforce what they can.")


class NamespaceTool(StrictSchema):
    """Tools with a common namespace, which their calls name."""

    type = EnumField("Always `namespace`.", ("namespace",), required=True)
    name = StringField("The namespace.", required=True, pattern=FUNCTION_NAME, example="crm")
    description = StringField("What the tools are for.")
    tools = ListField(
        "Its tools.",
        TaggedUnionField("A tool.", {"function": FunctionTool, "custom": FreeformTool}, other=OtherTool),
        required=True,
        max_items=MAX_TOOLS,
    )


class ResponsesToolsField(ListField):
    """The tools of a request, counted with those in namespaces."""

    def check(self, value: Any) -> None:
        """Name the type of functions without one, and validate a value. Raises `SchemaMismatch`."""
        for tool in value if isinstance(value, list) else ():
            if isinstance(tool, dict) and not tool.get("type") and ("name" in tool or "function" in tool):
                tool["type"] = "function"
        super().check(value)
        check_tools(value)


def check_tools(tools: list[Any]) -> None:
    """Check the number and the size of tools that are valid each. Raises `SchemaMismatch`."""
    if sum(len(tool["tools"]) if tool["type"] == "namespace" else 1 for tool in tools) > MAX_TOOLS:
        raise SchemaMismatch(f"has more than {MAX_TOOLS} items, with those of namespaces")
    check_tools_together(tools)


def tools_field(*, required: bool = False) -> ResponsesToolsField:
    """The field `tools` of a request, and of an item that adds tools to it."""
    return ResponsesToolsField(
        "Tools the model may call: functions, custom tools, and both in namespaces. A tool of another type,"
        " such as `web_search`, is not offered to the model; the header `X-Ignored-Tools` names its type.",
        TaggedUnionField(
            "A tool.",
            {
                "function": FunctionTool,
                "custom": FreeformTool,
                "namespace": NamespaceTool,
                "tool_search": SearchTool,
            },
            other=OtherTool,
        ),
        required=required,
        max_items=MAX_TOOLS,
    )


class FunctionChoice(StrictSchema):
    """The function to call."""

    type = EnumField("Always `function`.", ("function",), required=True)
    name = StringField("Its name.", required=True, pattern=FUNCTION_NAME)
    namespace = StringField(NAMESPACE, pattern=FUNCTION_NAME)

    @classmethod
    def check(cls, value: object) -> None:
        """Flatten the form of Chat Completions, and validate a value. Raises `SchemaMismatch`."""
        if isinstance(value, dict) and "name" not in value and isinstance(value.get("function"), dict):
            value["name"] = value.pop("function").get("name")
        super().check(value)


class CustomChoice(StrictSchema):
    """The custom tool to call."""

    type = EnumField("Always `custom`.", ("custom",), required=True)
    name = StringField("Its name.", required=True, pattern=FUNCTION_NAME)
    namespace = StringField(NAMESPACE, pattern=FUNCTION_NAME)


class NamespaceChoice(StrictSchema):
    """All tools of a namespace."""

    type = EnumField("Always `namespace`.", ("namespace",), required=True)
    name = StringField("The namespace.", required=True, pattern=FUNCTION_NAME)


class AllowedTools(StrictSchema):
    """A choice among some of the tools."""

    type = EnumField("Always `allowed_tools`.", ("allowed_tools",), required=True)
    mode = EnumField("Whether the model may or must call one of them.", ALLOWED_MODES, required=True)
    tools = ListField(
        "Those of the tools that the model may call; it is not offered the others.",
        TaggedUnionField(
            "A tool.",
            {"function": FunctionChoice, "custom": CustomChoice, "namespace": NamespaceChoice},
            other=OtherTool,
        ),
        required=True,
        min_items=1,
        max_items=MAX_TOOLS,
    )


def tool_choice_field() -> UnionField:
    """The field `tool_choice` of a request."""
    return UnionField(
        "Whether the model may, must or must not call a tool.",
        EnumField("The mode.", TOOL_CHOICES),
        TaggedUnionField(
            "The tool to call, or those that may be called.",
            {"function": FunctionChoice, "custom": CustomChoice, "allowed_tools": AllowedTools},
            code="unsupported_parameter",
        ),
    )
