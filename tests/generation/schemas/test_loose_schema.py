"""What is left out of the schema of a tool that is not strict, and what stays."""

from __future__ import annotations

import time
from random import Random
from typing import Any

import jsonschema_rs
import orjson
import pytest

from generation.schemas.loose_schema import MAX_BYTES, MAX_PARTS, loosened
from tests.support.hostile_schemas import EXAMPLES, hostile_schema

TEXT = {"type": "string"}


def loose(schema: Any) -> Any:
    """The form of a property with that schema."""
    return loosened({"type": "object", "properties": {"a": schema}})["properties"]["a"]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": "object", "properties": {}},
        {"type": "object", "properties": {}, "additionalProperties": False},
        {
            "type": "object",
            "title": "Arguments",
            "properties": {
                "a": {"type": "string", "description": "d", "default": "x", "maxLength": 5},
                "b": {"type": ["integer", "null"], "minimum": 1, "exclusiveMaximum": 5},
                "c": {"type": "array", "items": {"type": "number"}, "minItems": 1},
                "d": {"type": "string", "enum": ["x", "y"]},
                "e": {"anyOf": [{"$ref": "#/$defs/E"}, {"type": "null"}], "default": None, "title": "E"},
                "f": {"type": "string", "format": "uri"},
                "g": {"type": "string", "pattern": r"^[A-Z]{2}(-[0-9]+)?$"},
                "h": {"type": "object", "additionalProperties": {"type": "string"}},
                "i": {"const": None},
                "j": {},
            },
            "required": ["a"],
            "additionalProperties": False,
            "$defs": {"E": {"type": "object", "properties": {"e": {"$ref": "#/$defs/E"}}}},
        },
    ],
)
def test_a_usual_schema_stays_as_it_is(schema: dict[str, Any]) -> None:
    assert loosened(schema) == schema


@pytest.mark.parametrize(
    ("schema", "form"),
    [
        (True, {}),
        ("text", {}),
        ({"type": "any"}, {}),
        ({"type": "STRING"}, TEXT),
        ({"type": "string", "pattern": r"^(?!x)[a-z]+$", "description": "d"}, {**TEXT, "description": "d"}),
        ({"type": "string", "pattern": "(?i)^abc$"}, TEXT),
        ({"type": "string", "pattern": "abc"}, TEXT),
        ({"type": "string", "pattern": "(a*)*"}, TEXT),
        ({"type": "string", "pattern": "^" + "a" * 5000 + "$"}, TEXT),
        ({"type": "string", "pattern": 5, "minLength": "1"}, TEXT),
        ({"type": "string", "format": "uuid", "pattern": "^(?!x).*$"}, {**TEXT, "format": "uuid"}),
        ({"type": "string", "format": "path", "minLength": 1}, {**TEXT, "minLength": 1}),
        ({"type": "string", "minLength": 5, "maxLength": 4}, TEXT),
        ({"type": "string", "minLength": 5000, "maxLength": 10**9}, {**TEXT, "minLength": 1000}),
        ({"type": "string", "enum": [f"v{at}" for at in range(600)]}, TEXT),
        ({"enum": ["x" * MAX_BYTES, 1]}, {"type": ["string", "integer"]}),
        ({"type": "string", "enum": []}, TEXT),
        ({"type": "string", "nullable": True}, {"anyOf": [TEXT, {"type": "null"}]}),
        ({"type": "integer", "minimum": 2**60, "multipleOf": 3}, {"type": "integer"}),
        ({"type": "integer", "minimum": 1, "exclusiveMinimum": True}, {"type": "integer", "minimum": 1}),
        ({"type": "number", "minimum": 2, "maximum": 1}, {"type": "number"}),
        ({"$ref": "#/$defs/none"}, {}),
        ({"$ref": "https://example.com/schema.json"}, {}),
        ({"$ref": 5, "description": "d"}, {"description": "d"}),
        ({"$dynamicRef": "#x"}, {}),
        ({"not": {}}, {}),
        ({"if": {}, "then": False, "type": "string"}, TEXT),
        ({"oneOf": [TEXT, {"type": "null"}]}, {"anyOf": [TEXT, {"type": "null"}]}),
        ({"anyOf": [TEXT, False]}, {"anyOf": [TEXT]}),
        ({"anyOf": [TEXT, True]}, {}),
        ({"anyOf": "text"}, {}),
        ({"anyOf": [TEXT] * 200}, {}),
        ({"type": "string", "anyOf": [{"const": "a"}, {}]}, {"anyOf": [{"const": "a"}, TEXT]}),
        ({"allOf": [TEXT, {"maxLength": 5}]}, {**TEXT, "maxLength": 5}),
        (
            {"type": "array", "items": [TEXT, TEXT]},
            {"type": "array", "prefixItems": [TEXT, TEXT], "minItems": 2, "maxItems": 2},
        ),
        (
            {"type": "array", "items": [TEXT], "additionalItems": {"type": "null"}},
            {"type": "array", "items": {"anyOf": [TEXT, {"type": "null"}]}},
        ),
        ({"type": "array", "prefixItems": [False]}, {"type": "array", "items": {}}),
        ({"type": "array", "items": False}, {"type": "array", "items": {}, "maxItems": 0}),
        ({"type": "array", "contains": TEXT, "uniqueItems": True}, {"type": "array"}),
        ({"properties": {"x": TEXT}}, {"type": "object", "properties": {"x": TEXT}}),
        (
            {"type": "object", "properties": {"x": False}, "required": ["x"]},
            {"type": "object", "properties": {}},
        ),
        ({"type": "object", "properties": []}, {"type": "object"}),
        ({"type": "object", "properties": {f"p{at}": TEXT for at in range(200)}}, {"type": "object"}),
        (
            {"type": "object", "properties": {"x": TEXT}, "required": ["x", "y"]},
            {"type": "object", "properties": {"x": TEXT, "y": {}}, "required": ["x", "y"]},
        ),
        (
            {"type": "object", "propertyNames": {"pattern": "x"}, "additionalProperties": TEXT},
            {"type": "object", "additionalProperties": TEXT},
        ),
        (
            {"type": "object", "patternProperties": {"^x": TEXT}, "additionalProperties": False},
            {"type": "object", "additionalProperties": TEXT},
        ),
        (
            {
                "type": "object",
                "properties": {"x": TEXT},
                "anyOf": [{"required": ["x"]}, {"required": ["y"]}],
            },
            {"type": "object", "properties": {"x": TEXT}},
        ),
    ],
)
def test_the_form_lacks_what_cannot_be_compiled(schema: Any, form: Any) -> None:
    assert loose(schema) == form


@pytest.mark.parametrize(
    "schema",
    [
        None,
        True,
        [],
        {"type": "string"},
        {"$ref": "#"},
        {"anyOf": [{"type": "string"}, {"type": "object"}]},
        {"allOf": [{"$ref": "#"}]},
        {"enum": [1]},
    ],
)
def test_arguments_are_any_object_when_a_schema_allows_others(schema: Any) -> None:
    assert loosened(schema) == {"type": "object"}


def test_a_root_that_refers_to_a_definition_or_has_alternatives_is_kept() -> None:
    of_x = {"type": "object", "properties": {"x": TEXT}}
    named = loosened({"$ref": "#/definitions/X", "definitions": {"X": of_x}})
    assert named == {"$ref": "#/$defs/X", "$defs": {"X": of_x}}
    assert loosened({"type": "object", "oneOf": [of_x, {"properties": {}}]}) == {
        "anyOf": [of_x, {"type": "object", "properties": {}}]
    }


@pytest.mark.parametrize(
    "definition",
    [
        {"$ref": "#/$defs/n"},
        {"anyOf": [TEXT, {"$ref": "#/$defs/n"}]},
        {"allOf": [{"oneOf": [{"$ref": "#/$defs/n"}]}]},
        {"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}}, "required": ["n"]},
        {"type": "array", "items": {"$ref": "#/$defs/n"}, "minItems": 1},
    ],
)
def test_recursion_without_an_end_allows_any_value(definition: dict[str, Any]) -> None:
    form = loosened({"properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": definition}})
    assert form["$defs"]["n"] == {}


def doubled(levels: int, combined: Any) -> dict[str, Any]:
    """References that double at each level."""
    parts = {f"d{at}": combined([{"$ref": f"#/$defs/d{at + 1}"} for _ in "ab"]) for at in range(levels)}
    return {"properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": {**parts, f"d{levels}": TEXT}}


HOSTILE = {
    **{name: {"type": "object", "properties": part} for name, part in EXAMPLES.items()},
    **{
        f"doubled {name}": doubled(40, lambda parts, name=name: {name: parts})
        for name in ("anyOf", "allOf", "oneOf", "prefixItems")
    },
    "wide allOf": {"allOf": [{"properties": {f"p{n}_{at}": TEXT for at in range(128)}} for n in range(60)]},
    "patterns": {
        "properties": {
            f"p{at}": {"pattern": f"^(?:[a-z]{{1,9}}|[a-q]{{2,{at + 3}}}x|b.{{0,90}})[0-9]{{{at}}}$"}
            for at in range(120)
        }
    },
    "enums": {"properties": {f"p{at}": {"enum": list(range(at, 500 + at))} for at in range(120)}},
    "deep": orjson.loads(b'{"properties":{"a":' * 200 + b"{}" + b"}}" * 200),
}


@pytest.mark.parametrize("schema", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_schema_is_loosened_in_time_and_has_a_bounded_size(schema: dict[str, Any]) -> None:
    started = time.process_time()
    form = loosened(schema)
    assert time.process_time() - started < 2.0  # seconds would be minutes without a bound
    assert len(orjson.dumps(form)) < 32 * MAX_BYTES
    assert orjson.dumps(form).count(b"{") < 3 * MAX_PARTS


def test_hostile_schemas_become_schemas_that_can_be_compiled() -> None:
    for seed in range(300):
        form = loosened(hostile_schema(Random(seed)))
        jsonschema_rs.validator_for(form)
        assert loosened(form) == form
