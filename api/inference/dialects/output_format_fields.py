"""The fields of a request that ask for JSON in the answer, in the forms of the dialects.

Source: OpenAI API reference (`response_format`, `text.format`), Anthropic API reference (`output_config`).
"""

from __future__ import annotations

import re
from typing import Any

from api.http.strict_fields import (
    BooleanField,
    EnumField,
    NestedField,
    ObjectField,
    StringField,
    TaggedUnionField,
)
from api.http.strict_schema import SchemaMismatch, StrictSchema, raise_mismatch
from api.inference.dialects.openai_strict import check_strict
from api.inference.dialects.tool_schema import check_tool_schema
from generation.schemas.output_schema import enforceable
from generation.schemas.schema_form import OutputSchemaError

MAX_NAME = 64
MAX_GIVEN_NAME = 256
"""Frameworks name a schema after a class: characters that OpenAI's API does not take become `_`."""

DEFAULT_NAME = "response"
_OTHER_CHARACTER = re.compile("[^a-zA-Z0-9_-]")
STRICT = (
    "Checks the schema against OpenAI's strict subset: all properties required, no additional ones."
    " The answer fits the schema in any case."
)


def check_output_schema(schema: Any, *, strict: bool = False) -> dict[str, Any]:
    """Check the schema of an answer; return it in the form for engines. Raises `SchemaMismatch`."""
    if not isinstance(schema, dict):
        raise SchemaMismatch("must be an object")
    check_tool_schema(schema)
    if strict:
        check_strict(schema)
    try:
        return enforceable(schema)
    except OutputSchemaError as error:
        raise_mismatch(str(error), *error.path, code="unsupported_parameter")


def check_strict_tool(tool: Any, name: str, *, openai: bool = True) -> None:
    """Check the schema of a strict tool, in its field `name`; `openai` asks for OpenAI's subset.

    Raises `SchemaMismatch`.
    """
    if tool.get("strict") and (schema := tool.get(name)) is not None:
        try:
            check_output_schema(schema, strict=openai)
        except SchemaMismatch as error:
            raise error.inside(name) from None


class OutputSchemaField(ObjectField):
    """A JSON Schema that an answer can be made to fit."""

    def check(self, value: object) -> None:
        """Validate a value. Raises `SchemaMismatch`."""
        check_output_schema(value)


class TextFormat(StrictSchema):
    """Text."""

    type = EnumField("The type.", ("text",))


class JsonObjectFormat(StrictSchema):
    """Any JSON object."""

    type = EnumField("The type.", ("json_object",), required=True)
    schema = OutputSchemaField("The JSON Schema that it fits, as in llama-server and other servers.")


class NamedJsonSchema(StrictSchema):
    """A named JSON Schema."""

    name = StringField("Its name; `response` unless set.", max_length=MAX_GIVEN_NAME, example="answer")
    description = StringField("What it is for; not shown to the model.")
    schema = OutputSchemaField(
        "The schema, within the bounds of docs/api.md; any JSON object if it is absent."
    )
    strict = BooleanField(STRICT)

    @classmethod
    def check(cls, value: object) -> None:
        """Complete the name, and validate a value. Raises `SchemaMismatch`."""
        super().check(value)
        if not isinstance(value, dict):
            return
        value["name"] = _OTHER_CHARACTER.sub("_", value.get("name") or DEFAULT_NAME)[:MAX_NAME]
        if value.get("strict") and value.get("schema") is not None:
            try:
                check_strict(value["schema"])
            except SchemaMismatch as error:
                raise error.inside("schema") from None


_NAMED = ("name", "description", "schema", "strict")


class ChatJsonSchemaFormat(StrictSchema):
    """JSON that fits a schema, in the form of Chat Completions: the schema is nested."""

    type = EnumField("The type.", ("json_schema",), required=True)
    json_schema = NestedField("The schema.", NamedJsonSchema, required=True)

    @classmethod
    def check(cls, value: object) -> None:
        """Nest a schema in the form of llama-server, and validate a value. Raises `SchemaMismatch`."""
        if isinstance(value, dict) and "json_schema" not in value and "schema" in value:
            value["json_schema"] = {key: value[key] for key in _NAMED if key in value}
        super().check(value)


class JsonSchemaFormat(NamedJsonSchema):
    """JSON that fits a schema, in the form of the Responses API: flat."""

    type = EnumField("The type.", ("json_schema",), required=True)
    schema = OutputSchemaField("The schema, within the bounds of docs/api.md.", required=True)

    @classmethod
    def check(cls, value: object) -> None:
        """Flatten the form of Chat Completions, and validate a value. Raises `SchemaMismatch`."""
        if isinstance(value, dict) and isinstance(nested := value.get("json_schema"), dict):
            value |= {key: nested[key] for key in _NAMED if key in nested}
        super().check(value)


class AnthropicJsonSchemaFormat(StrictSchema):
    """JSON that fits a schema."""

    type = EnumField("The type.", ("json_schema",), required=True)
    schema = OutputSchemaField("The schema, within the bounds of docs/api.md.", required=True)


class OutputConfig(StrictSchema):
    """Options of the answer."""

    format = TaggedUnionField(
        "The format.", {"json_schema": AnthropicJsonSchemaFormat}, code="unsupported_parameter"
    )
    effort = StringField(
        "How much the model reasons: low, medium or high, for models whose chat template has a place for it."
    )


def _formats(json_schema: type[StrictSchema]) -> TaggedUnionField:
    schemas: dict[str, type[StrictSchema]] = {"text": TextFormat, "json_object": JsonObjectFormat}
    return TaggedUnionField(
        "The format of the answer's text; with tools, a call may come in its place.",
        {**schemas, "json_schema": json_schema},
        default="text",
        code="unsupported_parameter",
    )


def chat_formats() -> TaggedUnionField:
    """The field `response_format` of Chat Completions."""
    return _formats(ChatJsonSchemaFormat)


def responses_formats() -> TaggedUnionField:
    """The field `text.format` of the Responses API."""
    return _formats(JsonSchemaFormat)
