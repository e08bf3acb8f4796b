"""The fields by which vLLM and llama-server take the form of an answer at the top level of a body.

A JSON Schema becomes the format of the answer, as in `response_format`. A grammar of llama-server is taken
if it is safe (`generation.schemas.gbnf_checks`). Regular expressions, lists of texts and other grammars are
refused: nothing bounds what they cost an engine, and ignored they would change the answer.
Sources: vLLM, "Structured Outputs"; llama.cpp, `tools/server/README.md`; SGLang, "Structured Outputs".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from marshmallow import fields

from api.http.errors import InvalidRequest
from api.http.strict_fields import BooleanField, NestedField, ObjectField, StringField, UnionField
from api.http.strict_schema import SchemaMismatch, StrictSchema
from api.inference.dialects.output_format_fields import check_output_schema
from api.inference.dialects.tool_schema import MAX_BYTES
from generation.generation import JsonFormat
from generation.schemas.gbnf_checks import safe_grammar
from generation.schemas.gbnf_grammar import GrammarRefused
from generation.schemas.gbnf_parser import MAX_BYTES as MAX_GRAMMAR_BYTES

REFUSED = (
    *("guided_regex", "guided_choice", "guided_grammar", "guided_whitespace_pattern"),
    *("regex", "ebnf", "structural_tag"),
)
"""The fields at the top level that constrain an answer in a way that is not supported."""

SCHEMAS = ("guided_json", "json_schema")
GRAMMAR = "grammar"
STRUCTURED = "structured_outputs"
EMPTY: tuple[Any, ...] = ("", [], {}, False)
"""Values that constrain nothing: some clients send all fields of a server."""

INSTEAD = "is not supported: ask for JSON by a schema instead (docs/fields.md names the field of each API)"


class SchemaText(StringField):
    """A JSON Schema as a JSON text."""

    def check(self, value: object) -> None:
        """Validate a value. Raises `SchemaMismatch`."""
        super().check(value)
        if value:
            check_output_schema(_parsed(value))


class SchemaObject(ObjectField):
    """A JSON Schema that an answer can be made to fit."""

    def check(self, value: object) -> None:
        """Validate a value. Raises `SchemaMismatch`."""
        check_output_schema(value)


def schema_field(description: str) -> UnionField:
    """A field with a JSON Schema, as an object or as a text."""
    return UnionField(description, SchemaObject("The schema."), SchemaText("Its text.", max_length=MAX_BYTES))


class RefusedField(fields.Field[Any]):
    """A field that is refused unless it is empty."""

    def __init__(self) -> None:
        super().__init__(allow_none=True, metadata={"description": "Not supported."})

    def check(self, value: object) -> None:
        """Accept an empty value. Raises `SchemaMismatch`."""
        if value not in EMPTY:
            raise SchemaMismatch(INSTEAD, "unsupported_parameter")


class GrammarField(StringField):
    """A grammar of llama-server; an empty value of another type counts as absent, too."""

    def __init__(self) -> None:
        super().__init__("The GBNF grammar that the answer fits.", max_length=MAX_GRAMMAR_BYTES)

    def check(self, value: object) -> None:
        """Validate a value. Raises `SchemaMismatch`."""
        if value not in EMPTY:
            super().check(value)


class StructuredOutputs(StrictSchema):
    """vLLM's constraints of an answer, of which a JSON Schema is enforced."""

    json = schema_field("The JSON Schema that the answer fits.")
    json_object = BooleanField("The answer is a JSON object.")
    regex = RefusedField()
    choice = RefusedField()
    grammar = RefusedField()
    structural_tag = RefusedField()
    whitespace_pattern = RefusedField()


class GuidedFields(StrictSchema):
    """The fields of a body that constrain its answer by a JSON Schema, beside those of OpenAI's API."""

    guided_json = schema_field("The JSON Schema that the answer fits, as in vLLM.")
    json_schema = schema_field("The same, as in llama-server.")
    grammar = GrammarField()
    structured_outputs = NestedField("The constraints of the answer, as in vLLM.", StructuredOutputs)


def reject_guided_fields(body: Mapping[str, Any], *, schemas: bool = True) -> None:
    """Raise `InvalidRequest` for a field that is not enforced.

    With `schemas` that is one with a JSON Schema or a grammar, too.
    """
    for name in (*REFUSED, *((*SCHEMAS, STRUCTURED, GRAMMAR) if schemas else ())):
        if body.get(name) not in (None, *EMPTY):
            raise InvalidRequest(f"{name} {INSTEAD}", code="unsupported_parameter", param=name)


def guided_format(body: Mapping[str, Any]) -> tuple[str, JsonFormat] | None:
    """The name of the field that constrains the answer, and the format; None if there is none.

    Raises `InvalidRequest` if several do.
    """
    found: list[tuple[str, JsonFormat]] = []
    for name in SCHEMAS:
        if body.get(name) not in (None, ""):
            found.append((name, _format_of(body[name])))
    structured = body.get(STRUCTURED) or {}
    if structured.get("json") not in (None, ""):
        found.append((f"{STRUCTURED}.json", _format_of(structured["json"])))
    if structured.get("json_object"):
        found.append((f"{STRUCTURED}.json_object", JsonFormat()))
    if not found:
        return None
    given = body.get("response_format") or {}
    if len(found) > 1 or (given.get("type") or "text") != "text":
        other = found[1][0] if len(found) > 1 else "response_format"
        raise InvalidRequest(f"{found[0][0]} and {other} must not both be set", param=found[0][0])
    return found[0]


def answer_grammar(body: Mapping[str, Any], *, is_free: bool) -> str | None:
    """The grammar of the answer in the form of `Generation.answer_grammar`; None if there is none.

    `is_free`: nothing else constrains the answer. Raises `InvalidRequest`.
    """
    given = body.get(GRAMMAR)
    if given is None or given in EMPTY:
        return None
    if not is_free:
        raise InvalidRequest(
            f"{GRAMMAR} must not be set beside tools, a JSON Schema or response_format", param=GRAMMAR
        )
    try:
        return safe_grammar(given)
    except GrammarRefused as error:
        raise InvalidRequest(f"{GRAMMAR} is refused: {error}", param=GRAMMAR) from error


def _format_of(given: Any) -> JsonFormat:
    return JsonFormat(check_output_schema(_parsed(given)))


def _parsed(given: Any) -> Any:
    """A schema that may be a JSON text. Raises `SchemaMismatch`."""
    if not isinstance(given, str):
        return given
    try:
        return orjson.loads(given)
    except orjson.JSONDecodeError:
        raise SchemaMismatch("must be a JSON Schema") from None
