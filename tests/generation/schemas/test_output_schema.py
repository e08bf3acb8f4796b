"""The form of schemas that engines enforce: what is converted, narrowed and refused."""

from __future__ import annotations

from random import Random
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.stub.engine.instance import instance
from generation.schemas.number_schema import LARGEST
from generation.schemas.output_schema import MAX_LEAVES, enforceable
from generation.schemas.schema_form import MAX_COUNT, OutputSchemaError
from tests.support.output_schemas import output_schema

TEXT = {"type": "string"}
RANGE = {"minimum": -LARGEST, "maximum": LARGEST}
SEEDS = st.integers(0, 2**32)


def with_a(schema: Any, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": schema}, **more}


@given(SEEDS, st.booleans())
def test_a_generated_schema_is_converted_and_its_instance_fits_it(seed: int, strict: bool) -> None:
    schema = output_schema(Random(seed), strict=strict)
    form = enforceable(schema)
    value = instance(form)
    jsonschema_rs.validate(schema, value)
    jsonschema_rs.validate(form, value)


@given(SEEDS)
def test_a_form_is_its_own_form(seed: int) -> None:
    form = enforceable(output_schema(Random(seed)))
    assert enforceable(form) == form


@pytest.mark.parametrize(
    ("schema", "form"),
    [
        ({}, {}),
        (TEXT, TEXT),
        ({"const": 1, "title": "One", "default": 1, "x-order": 2}, {"title": "One", "enum": [1]}),
        ({"type": "integer", "enum": [1, "a", 2.0, 2.5]}, {"enum": [1, 2.0]}),
        ({"type": ["string", "null"]}, {"anyOf": [TEXT, {"type": "null"}]}),
        ({"oneOf": [TEXT, {"type": "number"}]}, {"anyOf": [TEXT, {"type": "number", **RANGE}]}),
        ({"type": "string", "format": "uuid", "minimum": 7}, {"type": "string", "format": "uuid"}),
        ({"type": "integer", "minLength": 2}, {"type": "integer"}),
        ({"type": "integer", "exclusiveMinimum": 0}, {**RANGE, "type": "integer", "minimum": 1}),
        (
            {"type": "integer", "minimum": -0.5, "exclusiveMaximum": 3},
            {"type": "integer", "minimum": 0, "maximum": 2},
        ),
        ({"type": "integer", "minimum": -(2**63), "maximum": 2**63 - 1}, {"type": "integer", **RANGE}),
        (
            {"minimum": 1, "exclusiveMinimum": 1, "maximum": 2.5, "exclusiveMaximum": 3},
            {"type": "number", "minimum": 1.000001, "maximum": 2.5},
        ),
        ({"pattern": r"^\d+(-a|b)?$"}, {"type": "string", "pattern": r"^[0-9]+(?:[\x2D][a]|[b]){0,1}$"}),
        ({"type": "integer", "multipleOf": 5, "minimum": -7, "maximum": 10.5}, {"enum": [-5, 0, 5, 10]}),
        ({"type": "number", "multipleOf": 1.0}, {"type": "integer"}),
        ({"type": "array", "items": TEXT, "uniqueItems": False}, {"type": "array", "items": TEXT}),
        ({"allOf": [TEXT], "description": "d"}, {"description": "d", **TEXT}),
        ({"minLength": 2, "minimum": 3, "type": "string"}, {"type": "string", "minLength": 2}),
        ({"items": False}, {"type": "array", "items": {}, "maxItems": 0}),
        (
            {"prefixItems": [TEXT, True]},
            {"type": "array", "prefixItems": [TEXT, {}], "items": False, "minItems": 2, "maxItems": 2},
        ),
        (
            {"type": "array", "items": [TEXT, True], "additionalItems": False},
            {"type": "array", "prefixItems": [TEXT, {}], "items": False, "minItems": 2, "maxItems": 2},
        ),
        ({"anyOf": [TEXT, False]}, TEXT),
        (
            {"properties": {"a": False}},
            {"type": "object", "properties": {}, "required": [], "additionalProperties": False},
        ),
        (
            {"type": "object", "propertyNames": {"type": "string"}, "additionalProperties": TEXT},
            {"type": "object", "additionalProperties": TEXT},
        ),
        (
            {"propertyNames": {"enum": ["a", "b"]}, "additionalProperties": TEXT, "required": ["a"]},
            {
                "type": "object",
                "properties": {"a": TEXT, "b": TEXT},
                "required": ["a"],
                "additionalProperties": False,
            },
        ),
        ({"pattern": "^a{2}$", "maxLength": 2}, {"type": "string", "pattern": "^[a]{2}$"}),
        ({"type": "string", "nullable": True}, {"anyOf": [TEXT, {"type": "null"}]}),
        ({"pattern": "^a$", "format": "nanoid"}, {"type": "string", "pattern": "^[a]$"}),
        ({"type": "object"}, {"type": "object", "additionalProperties": {}}),
        (
            {"properties": {"a": TEXT}, "required": ["b"]},
            {
                "type": "object",
                "properties": {"a": TEXT, "b": {}},
                "required": ["b"],
                "additionalProperties": False,
            },
        ),
        (
            {"$ref": "#/definitions/a%20b", "definitions": {"a%20b": TEXT, "unused": {"not": {}}}},
            {"$ref": "#/$defs/a_20b", "$defs": {"a_20b": TEXT}},
        ),
    ],
)
def test_a_schema_has_this_form(schema: dict[str, Any], form: dict[str, Any]) -> None:
    assert enforceable(schema) == form


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        (with_a({"type": "array", "uniqueItems": True}), ("properties", "a", "uniqueItems")),
        (with_a({"not": {}}), ("properties", "a", "not")),
        (with_a({"patternProperties": {}}), ("properties", "a", "patternProperties")),
        (with_a(False, required=["a"]), ("properties", "a")),
        (with_a({"anyOf": [False]}), ("properties", "a", "anyOf")),
        (with_a({"propertyNames": {"pattern": "a"}}), ("properties", "a", "propertyNames")),
        (with_a({"anyOf": [TEXT], "type": "string"}), ("properties", "a", "type")),
        (with_a({"enum": [1], "minLength": 1}), ("properties", "a", "minLength")),
        (with_a({"enum": [1], "type": "string"}), ("properties", "a", "enum")),
        (with_a({"allOf": [TEXT, TEXT]}), ("properties", "a", "allOf")),
        (with_a({"anyOf": []}), ("properties", "a", "anyOf")),
        (with_a({"type": "text"}), ("properties", "a", "type")),
        (with_a({"oneOf": [TEXT, {"enum": ["a"]}]}), ("properties", "a", "oneOf")),
        (with_a({"oneOf": [{"type": "integer"}, {"type": "number"}]}), ("properties", "a", "oneOf")),
        (with_a({"oneOf": [{"const": 1}, {"const": 1.0}]}), ("properties", "a", "oneOf")),
        (with_a({"oneOf": [{}, TEXT]}), ("properties", "a", "oneOf")),
        (with_a({"oneOf": [{"description": "any"}, TEXT]}), ("properties", "a", "oneOf")),
        (with_a({"items": {}, "properties": {}}), ("properties", "a")),
        (with_a({"$ref": "#/$defs/x"}), ("properties", "a", "$ref")),
        (with_a({"$ref": "#/$defs/x", "minLength": 1}), ("properties", "a", "minLength")),
        (with_a({"$ref": "#/$defs/x"}, **{"$defs": {"x": {"not": {}}}}), ("$defs", "x", "not")),
        (with_a({"type": "string", "maxLength": MAX_COUNT + 1}), ("properties", "a", "maxLength")),
        (with_a({"type": "array", "minItems": 3, "maxItems": 2}), ("properties", "a", "maxItems")),
        (with_a({"type": "array", "prefixItems": [{}], "minItems": 2}), ("properties", "a", "prefixItems")),
        (with_a({"type": "string", "format": "path"}), ("properties", "a", "format")),
        (with_a({"type": "string", "format": "date", "minLength": 11}), ("properties", "a", "format")),
        (with_a({"type": "string", "pattern": "aba"}), ("properties", "a", "pattern")),
        (with_a({"type": "string", "pattern": "^a$", "minLength": 2}), ("properties", "a", "pattern")),
        (with_a({"type": "string", "pattern": "^a+$", "maxLength": 2}), ("properties", "a", "pattern")),
        (with_a({"pattern": "^(?!a)a$", "format": "date"}), ("properties", "a", "pattern")),
        (with_a({"multipleOf": 0}), ("properties", "a", "multipleOf")),
        (with_a({"type": "integer", "multipleOf": 5}), ("properties", "a", "multipleOf")),
        (with_a({"multipleOf": 5, "minimum": 1, "maximum": 4}), ("properties", "a", "multipleOf")),
        (with_a({"type": "number", "multipleOf": 0.1}), ("properties", "a", "multipleOf")),
        (with_a({"type": "number", "minimum": "1"}), ("properties", "a", "minimum")),
        (with_a({"type": "number", "minimum": 1e16}), ("properties", "a", "minimum")),
        (with_a({"type": "number", "minimum": 2, "maximum": 1}), ("properties", "a", "maximum")),
        (with_a({"minimum": 1, "exclusiveMaximum": 1}), ("properties", "a", "exclusiveMaximum")),
        (with_a({"exclusiveMinimum": 1, "maximum": 1.0000001}), ("properties", "a", "maximum")),
        (with_a({"type": "integer", "minimum": 0.1, "maximum": 0.9}), ("properties", "a", "maximum")),
        (with_a({}, required=["b"], additionalProperties=False), ("required", 0)),
        (with_a({"$ref": "#"}, required=["a"]), ()),
        (with_a({"type": "array", "minItems": 1, "items": {"$ref": "#"}}, required=["a"]), ()),
    ],
)
def test_a_schema_that_cannot_be_enforced_is_refused_with_its_path(
    schema: dict[str, Any], path: tuple[str | int, ...]
) -> None:
    with pytest.raises(OutputSchemaError) as caught:
        enforceable(schema)
    assert caught.value.path == path


def test_one_of_is_enforced_when_a_required_property_distinguishes_its_objects() -> None:
    def kind(name: str) -> dict[str, Any]:
        return with_a(TEXT) | {"properties": {"kind": {"const": name}, "a": TEXT}, "required": ["kind"]}

    schema = {
        "oneOf": [{"$ref": "#/$defs/x"}, {"$ref": "#/$defs/y"}],
        "discriminator": {"propertyName": "kind"},
    }
    form = enforceable({**schema, "$defs": {"x": kind("x"), "y": kind("y")}})
    assert form["anyOf"] == [{"$ref": "#/$defs/x"}, {"$ref": "#/$defs/y"}]
    with pytest.raises(OutputSchemaError):
        enforceable({**schema, "$defs": {"x": kind("x"), "y": kind("x")}})


def test_definitions_of_the_same_name_stay_apart() -> None:
    schema = {
        "properties": {"a": {"$ref": "#/$defs/x"}, "b": {"$ref": "#/definitions/x"}, "c": {"$ref": "#"}},
        "$defs": {"x": TEXT},
        "definitions": {"x": {"type": "null"}},
    }
    form = enforceable(schema)
    first, second = (form["properties"][name]["$ref"].removeprefix("#/$defs/") for name in "ab")
    assert (form["$defs"][first], form["$defs"][second]) == (TEXT, {"type": "null"})
    assert form["$defs"]["root"]["properties"].keys() == {"a", "b", "c"}


def test_a_new_name_of_a_definition_is_not_that_of_another_one() -> None:
    parts = {"$defs": {"x": {"const": 1}, "x_2": {"const": 2}, "x_3": {"const": 3}}}
    pointers = ["#/$defs/x_2", "#/$defs/x", "#/definitions/x", "#/$defs/x_3"]
    references = [{"$ref": pointer} for pointer in pointers]
    form = enforceable({"prefixItems": references, **parts, "definitions": {"x": {"const": 4}}})
    names = [item["$ref"].removeprefix("#/$defs/") for item in form["prefixItems"]]
    assert [form["$defs"][name]["enum"] for name in names] == [[2], [1], [4], [3]]


def open_objects(levels: int, names: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"description": "d" * 100}
    for _ in range(levels):
        required = [f"r{at}" for at in range(names)]
        schema = {"type": "object", "required": required, "additionalProperties": schema}
    return schema


@pytest.mark.parametrize(
    "schema",
    [
        open_objects(11, 4),
        {**open_objects(1, 1500), "additionalProperties": {"description": "d" * 1000}},
        {"items": {"$ref": "#/$defs/0"}}
        | {"$defs": {f"{at}": {"items": {"$ref": f"#/$defs/{(at + 1) % 200}"}} for at in range(200)}},
    ],
    ids=["parts", "bytes", "depth"],
)
def test_a_schema_is_refused_when_its_form_grows_beyond_the_bounds(schema: dict[str, Any]) -> None:
    with pytest.raises(OutputSchemaError, match=r"parts|KiB|levels"):
        enforceable(schema)
    assert enforceable(open_objects(3, 4))["required"] == ["r0", "r1", "r2", "r3"]


def test_alternatives_are_followed_once_when_many_references_lead_to_them() -> None:
    doubled = {f"{at}": {"anyOf": [{"$ref": f"#/$defs/{at + 1}"} for _ in "ab"]} for at in range(30)}
    schema = {"oneOf": [{"$ref": "#/$defs/0"}, {"type": "null"}], "$defs": {**doubled, "30": TEXT}}
    assert len(enforceable(schema)["$defs"]) == 31
    with pytest.raises(OutputSchemaError, match="alternatives"):
        enforceable({"oneOf": [{"const": at} for at in range(MAX_LEAVES + 1)]})
