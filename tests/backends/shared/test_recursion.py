"""Recursion of JSON Schemas that a grammar cannot follow."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from backends.shared.engine.recursion import MAX_TARGETS, without_ambiguous_recursion

N = {"$ref": "#/$defs/n"}
TEXT = {"type": "string"}


def defined(definition: Any, **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"a": N}, "$defs": {"n": definition, **more}}
    found: dict[str, Any] = orjson.loads(orjson.dumps(schema))  # no part is the same object as another
    return found


def array(items: Any, **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


def an_object(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


def operation(name: str, **more: Any) -> dict[str, Any]:
    return an_object({"op": {"const": name}, "of": array(N), **more}, "op")


@pytest.mark.parametrize(
    "definition",
    [
        array(N),
        {"anyOf": [TEXT, {"type": "null"}, array(N), an_object({"x": N})]},
        an_object({"left": N, "right": N}),
        an_object({"value": TEXT, "children": array(N)}, "value"),
        {"anyOf": [an_object({"and": array(N)}, "and"), an_object({"or": array(N)}, "or"), an_object({})]},
        {"oneOf": [operation("and"), operation("or"), an_object({"not": N}, "not")]},
        {"allOf": [an_object({"x": TEXT}), an_object({"next": N})]},
        {"anyOf": [array(N), array(TEXT)]},
    ],
)
def test_recursion_is_kept_when_the_text_decides_its_way(definition: Any) -> None:
    schema = defined(definition)
    assert without_ambiguous_recursion(schema) is schema


@pytest.mark.parametrize(
    ("definition", "bounded"),
    [
        (
            {"anyOf": [array(N, minItems=1), array(N, minItems=2)]},
            {"anyOf": [array({}, minItems=1), array({}, minItems=2)]},
        ),
        ({"anyOf": [TEXT, array(array(N)), array(N)]}, {"anyOf": [TEXT, array(array({})), array({})]}),
        (
            {"anyOf": [an_object({"x": N}), an_object({"y": N})]},
            {"anyOf": [an_object({"x": {}}), an_object({"y": {}})]},
        ),
        ({"oneOf": [operation("and"), operation("and")]}, None),
        ({"oneOf": [operation("and"), an_object({"op": TEXT, "of": N}, "op")]}, None),
        (
            {"properties": {"x": N}, "additionalProperties": N},
            {"properties": {"x": {}}, "additionalProperties": {}},
        ),
        ({"items": N, "anyOf": [array(N)]}, {"items": {}, "anyOf": [array({})]}),
        ({"allOf": [{"items": N}, {"items": N}]}, {"allOf": [{"items": {}}, {"items": {}}]}),
    ],
)
def test_recursion_allows_every_value_when_alternatives_begin_alike(definition: Any, bounded: Any) -> None:
    found = without_ambiguous_recursion(defined(definition))
    assert found["properties"] == {"a": N}
    assert found["$defs"]["n"] == bounded or bounded is None
    assert "$ref" not in str(found["$defs"])


def test_recursion_by_way_of_other_definitions_is_found() -> None:
    ways = {"x": array(N), "y": {"type": "array", "prefixItems": [N]}}
    schema = defined({"anyOf": [{"$ref": "#/$defs/x"}, {"$ref": "#/$defs/y"}]}, **ways)
    found = without_ambiguous_recursion(schema)
    assert found["$defs"]["x"] == array({})
    assert found["$defs"]["n"] == schema["$defs"]["n"]


@pytest.mark.parametrize("copied", [N, {"anyOf": [TEXT, N]}])
def test_an_all_of_that_copies_itself_allows_every_value(copied: Any) -> None:
    node = an_object({"name": TEXT, "parent": {"allOf": [copied], "description": "the node above"}})
    found = without_ambiguous_recursion(defined(node))
    assert found["$defs"]["n"] == an_object({"name": TEXT, "parent": {}})


def test_an_all_of_is_kept_when_what_it_refers_to_refers_back() -> None:
    schema = defined(an_object({"x": {"allOf": [{"$ref": "#/$defs/base"}]}}), base=an_object({"next": N}))
    assert without_ambiguous_recursion(schema) is schema


def test_a_reference_to_a_part_of_the_recursion_is_found() -> None:
    part = {"$ref": "#/$defs/n/items"}
    schema = defined(array({"anyOf": [array(part), array(N)]}))
    found = without_ambiguous_recursion(schema)
    assert found["$defs"]["n"] == array({"anyOf": [array({}), array(N)]})


def test_the_order_of_properties_decides_which_is_the_first() -> None:
    schema = defined({"oneOf": [operation("and"), operation("or")]})
    assert without_ambiguous_recursion(schema, list) is schema
    assert without_ambiguous_recursion(schema, sorted) is not schema


def test_names_and_data_are_kept_when_they_look_like_references() -> None:
    definition = {"anyOf": [array(N), array(N)], "default": N, "enum": [N], "properties": {"$ref": TEXT}}
    found = without_ambiguous_recursion(defined(definition))["$defs"]["n"]
    assert found == {**definition, "anyOf": [array({}), array({})]}


def test_all_recursion_allows_every_value_when_there_is_too_much_to_examine() -> None:
    more = {f"d{at}": array({"$ref": f"#/$defs/d{at}"}) for at in range(MAX_TARGETS + 1)}
    assert "$ref" not in str(without_ambiguous_recursion(defined(TEXT, **more))["$defs"])


@pytest.mark.parametrize("schema", [None, 3, [], {"anyOf": 3, "items": "x", "$ref": 5}, {"$ref": "#/a/b/c"}])
def test_a_malformed_schema_is_not_changed(schema: Any) -> None:
    assert without_ambiguous_recursion(schema) is schema
