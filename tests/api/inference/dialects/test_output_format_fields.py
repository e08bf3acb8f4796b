"""The fields that ask for JSON in the answer: OpenAI's strict subset, bounds and paths of refusals."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from api.http.strict_schema import SchemaMismatch
from api.inference.chat.schema import ChatRequest
from api.inference.dialects.openai_strict import check_strict
from api.inference.dialects.output_format_fields import check_output_schema
from api.inference.messages.schema import MessagesRequest
from api.inference.responses.schema import ResponsesRequest
from tests.support.hostile_schemas import EXAMPLES
from tests.support.output_schemas import output_schema

CLOSED = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
OPEN = {"type": "object", "properties": {"a": {}}}
USER = {"role": "user", "content": "Hi"}


def refusals(schema: Any, *, strict: bool) -> list[tuple[str, str]]:
    """The code and the path of the refusal of a schema in each dialect."""
    chat = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema, "strict": strict}}
    flat = {"type": "json_schema", "name": "n", "schema": schema, "strict": strict}
    bodies = [
        (ChatRequest, {"model": "m", "messages": [USER], "response_format": chat}),
        (ResponsesRequest, {"model": "m", "input": "x", "text": {"format": flat}}),
    ]
    if not strict:
        config = {"format": {"type": "json_schema", "schema": schema}}
        body = {"model": "m", "max_tokens": 1, "messages": [USER], "output_config": config}
        bodies.append((MessagesRequest, body))
    found = []
    for request, body in bodies:
        with pytest.raises(SchemaMismatch) as caught:
            request.check(body)
        found.append((caught.value.code, caught.value.path))
    return found


def test_a_keyword_that_cannot_be_enforced_is_refused_with_its_path_in_each_dialect() -> None:
    path = "schema.properties.a.uniqueItems"
    schema = {"type": "object", "properties": {"a": {"type": "array", "uniqueItems": True}}}
    assert refusals(schema, strict=False) == [
        ("unsupported_parameter", f"response_format.json_schema.{path}"),
        ("unsupported_parameter", f"text.format.{path}"),
        ("unsupported_parameter", f"output_config.format.{path}"),
    ]


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    "wrong", [{"$defs": None}, {"definitions": 5}, {"properties": None}, {"properties": {"a": {"anyOf": 5}}}]
)
def test_a_schema_is_refused_when_a_keyword_has_a_wrong_type(wrong: dict[str, Any], strict: bool) -> None:
    schema = {**CLOSED, "required": ["a"], **wrong}
    assert {code for code, _ in refusals(schema, strict=strict)} == {"invalid_request"}


@pytest.mark.parametrize("properties", EXAMPLES.values(), ids=EXAMPLES)
def test_a_schema_beyond_the_bounds_is_refused(properties: dict[str, Any]) -> None:
    codes = {code for code, _ in refusals({"type": "object", "properties": properties}, strict=False)}
    assert codes == {"invalid_request"}


def test_a_strict_schema_is_checked_in_both_of_openais_dialects() -> None:
    assert refusals(OPEN, strict=True) == [
        ("invalid_request", "response_format.json_schema.schema.additionalProperties"),
        ("invalid_request", "text.format.schema.additionalProperties"),
    ]


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {**CLOSED, "properties": {"a": schema}, "required": ["a"]}
    return schema


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ({"type": "array", "items": {}}, "type"),
        ({**CLOSED, "anyOf": [CLOSED]}, "anyOf"),
        (OPEN, "additionalProperties"),
        ({**OPEN, "additionalProperties": False}, "required"),
        ({**OPEN, "additionalProperties": False, "required": "a"}, "required"),
        ({**CLOSED, "$defs": {"x": OPEN}}, "$defs.x.additionalProperties"),
        ({**nested(1), "properties": {"a": {"items": OPEN}}}, "properties.a.items.additionalProperties"),
        (
            {**nested(1), "properties": {"a": {"anyOf": [CLOSED, OPEN]}}},
            "properties.a.anyOf[1].additionalProperties",
        ),
        ({**nested(1), "properties": {"a": {"allOf": [CLOSED]}}}, "properties.a.allOf"),
        (nested(11), ".".join(["properties.a"] * 10)),
    ],
)
def test_a_schema_outside_of_the_strict_subset_is_refused_with_its_path(
    schema: dict[str, Any], path: str
) -> None:
    with pytest.raises(SchemaMismatch) as caught:
        check_strict(schema)
    assert caught.value.path == path


def test_schemas_in_the_strict_subset_are_accepted() -> None:
    check_strict(nested(10))
    for seed in range(100):
        check_output_schema(output_schema(Random(seed), strict=True), strict=True)


@pytest.mark.parametrize("strict", [True, False])
def test_the_parameters_of_a_strict_tool_are_checked_and_those_of_another_are_not(strict: bool) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "array", "uniqueItems": True}}}
    closed = {**schema, "required": ["a"], "additionalProperties": False}
    chat = {"type": "function", "function": {"name": "f", "parameters": closed, "strict": strict}}
    flat = {"type": "function", "name": "f", "parameters": closed, "strict": strict}
    custom = {"name": "f", "input_schema": schema, "strict": strict}
    bodies: list[tuple[Any, dict[str, Any], str]] = [
        (ChatRequest, {"messages": [USER], "tools": [chat]}, "tools[0].function.parameters"),
        (ResponsesRequest, {"input": "x", "tools": [flat]}, "tools[0].parameters"),
        (MessagesRequest, {"messages": [USER], "max_tokens": 1, "tools": [custom]}, "tools[0].input_schema"),
    ]
    for request, body, path in bodies:
        if not strict:
            request.check({"model": "m", **body})
            continue
        with pytest.raises(SchemaMismatch) as caught:
            request.check({"model": "m", **body})
        assert caught.value.path == f"{path}.properties.a.uniqueItems"
