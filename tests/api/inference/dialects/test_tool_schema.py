"""The bounds of the JSON Schemas that clients send for tools."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import orjson
import pytest

from api.http.strict_schema import SchemaMismatch
from api.inference.chat.schema import ChatRequest
from api.inference.dialects.tool_schema import MAX_BYTES, MAX_DEPTH, MAX_EXPANDED, check_tool_schema
from api.inference.messages.schema import MessagesRequest
from api.inference.responses.schema import ResponsesRequest
from tests.support.hostile_schemas import EXAMPLES, hostile_schema

TEXT = {"type": "string"}


def with_a(schema: Any, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": schema}, **more}


def refusal(schema: Any) -> tuple[str, str]:
    """The path and the message of a schema's refusal."""
    with pytest.raises(SchemaMismatch) as caught:
        check_tool_schema(schema)
    return caught.value.path, caught.value.message


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels - 1):
        schema = with_a(schema)
    return schema


@pytest.mark.parametrize("properties", EXAMPLES.values(), ids=EXAMPLES)
def test_both_dialects_refuse_a_strict_tool_when_its_grammar_would_not_be_compiled_in_time(
    properties: dict[str, Any],
) -> None:
    function = {"name": "f", "strict": True, "parameters": {"type": "object", "properties": properties}}
    with pytest.raises(SchemaMismatch) as caught:
        ResponsesRequest.check({"model": "m", "input": "x", "tools": [{"type": "function", **function}]})
    assert caught.value.path.startswith("tools[0].parameters")
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
    with pytest.raises(SchemaMismatch) as caught:
        ChatRequest.check({**body, "tools": [{"type": "function", "function": function}]})
    assert caught.value.path.startswith("tools[0].function.parameters")
    assert caught.value.message.endswith("(tool f)")
    function["strict"] = False
    if len(properties) > 1000:
        return  # larger than all tools together may be
    ChatRequest.check({**body, "tools": [{"type": "function", "function": function}]})


@pytest.mark.parametrize("kind", ["string", ["array", "null"], 5])
def test_a_tool_is_refused_by_its_name_when_its_schema_allows_no_object(kind: Any) -> None:
    tools = [{"name": name, "input_schema": {"type": "object"}} for name in ("a", "b")]
    tools[1]["input_schema"] = {"type": kind}
    body = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "x"}], "tools": tools}
    with pytest.raises(SchemaMismatch) as caught:
        MessagesRequest.check(body)
    assert caught.value.message.endswith("(tool b)")
    assert caught.value.path == "tools[1].input_schema.type"


@pytest.mark.parametrize("kind", ["object", "OBJECT", ["object", "null"], None])
def test_a_tool_is_accepted_when_its_schema_allows_objects(kind: Any) -> None:
    function = {"name": "f", "parameters": {"type": kind, "properties": None}}
    tools = [{"type": "function", "function": function}]
    ChatRequest.check({"model": "m", "messages": [{"role": "user", "content": "x"}], "tools": tools})


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        (with_a({**TEXT, "pattern": "(a?b?)*"}), "properties.a.pattern"),
        (with_a({**TEXT, "pattern": 5}), "properties.a.pattern"),
        (with_a({"patternProperties": {"(a*)*": TEXT}}), "properties.a.patternProperties.(a*)*"),
        ({"properties": {f"p{at}": TEXT for at in range(129)}}, "properties"),
        ({"properties": {"p" * 257: TEXT}}, "properties"),
        (with_a({"anyOf": [{} for _ in range(129)]}), "properties.a.anyOf"),
        (with_a({"anyOf": [TEXT, 5]}), "properties.a.anyOf[1]"),
        (with_a({"oneOf": {}}), "properties.a.oneOf"),
        (with_a({"enum": list(range(513))}), "properties.a.enum"),
        (with_a({"type": ["string"] * 129}), "properties.a.type"),
        (with_a({"type": ["array", "null", "array"]}), "properties.a.type[2]"),
        (with_a({"type": ["array", {}]}), "properties.a.type[1]"),
        (with_a({"items": {"minItems": -1}}), "properties.a.items.minItems"),
        (with_a({"maxLength": "5"}), "properties.a.maxLength"),
        (with_a({"minLength": True}), "properties.a.minLength"),
        (with_a({"items": "text"}), "properties.a.items"),
        (with_a("text"), "properties.a"),
        (with_a({"minLength": 5, "maxLength": 4}), "properties.a.maxLength"),
        ({"properties": []}, "properties"),
        ({"$defs": {"x": {"properties": {"enum": {"minLength": -1}}}}}, "$defs.x.properties.enum.minLength"),
        (with_a({"x": [{"minLength": 0.5}]}), "properties.a.x[0].minLength"),
    ],
)
def test_a_refusal_names_the_path_when_a_part_is_too_large(schema: Any, path: str) -> None:
    assert refusal(schema)[0] == path


def test_a_schema_is_refused_when_it_is_larger_than_16_kib() -> None:
    text = "x" * (MAX_BYTES - len(orjson.dumps({"description": ""})))
    check_tool_schema({"description": text})
    assert refusal({"description": text + "x"}) == ("", "is larger than 16 KiB")


def test_a_schema_is_refused_when_it_is_nested_too_deeply() -> None:
    check_tool_schema(nested(MAX_DEPTH))
    path, message = refusal(nested(MAX_DEPTH + 1))
    assert path == ".".join(["properties.a"] * MAX_DEPTH)
    assert "16 levels" in message


def test_a_path_is_short_when_a_name_is_long() -> None:
    assert len(refusal({"properties": {"p" * 256: {"minLength": -1}}})[0]) < 100


def test_references_are_refused_when_they_multiply_the_alternatives() -> None:
    def doubled(levels: int) -> dict[str, Any]:
        references = {
            f"d{at}": {"anyOf": [{"$ref": f"#/$defs/d{at + 1}"} for _ in "ab"]} for at in range(levels)
        }
        return with_a({"$ref": "#/$defs/d0"}, **{"$defs": {**references, f"d{levels}": TEXT}})

    check_tool_schema(doubled(4))
    assert str(MAX_EXPANDED) in refusal(doubled(12))[1]


def test_long_chains_of_references_are_refused() -> None:
    def chained(levels: int, wrapped: Callable[[Any], Any]) -> dict[str, Any]:
        names = [f"#/{('$defs', 'definitions')[at % 2]}/{at}" for at in range(levels)]
        maps: dict[str, Any] = {"$defs": {}, "definitions": {}}
        for at, (name, following) in enumerate(zip(names, [*names[1:], ""], strict=True)):
            part = wrapped({"$ref": following}) if following else TEXT
            maps[name.split("/")[1]][str(at)] = part
        return {"properties": {"a": {"$ref": names[0]}}, **maps}

    for wrap in (lambda part: part, lambda part: {"anyOf": [part]}, lambda part: {"items": part}):
        check_tool_schema(chained(20, wrap))
        assert "64 levels" in refusal(chained(250, wrap))[1]


@pytest.mark.parametrize(
    "definition",
    [
        {"$ref": "#/$defs/n"},
        {"anyOf": [TEXT, {"$ref": "#/$defs/n"}]},
        {"allOf": [{"oneOf": [{"$ref": "#/$defs/n"}]}]},
    ],
)
def test_recursion_is_refused_when_nothing_is_between(definition: dict[str, Any]) -> None:
    assert "back to itself" in refusal(with_a({"$ref": "#/$defs/n"}, **{"$defs": {"n": definition}}))[1]


@pytest.mark.parametrize("path", ["#/$defs/none", "https://example.com/x", "#/properties/a/default", "", "n"])
def test_a_reference_is_refused_when_it_names_no_part_of_the_schema(path: str) -> None:
    schema = with_a({"$ref": path, "default": {"pattern": "(a*)*"}})
    assert "points to nothing" in refusal(schema)[1]


def test_usual_schemas_are_accepted() -> None:
    tree = {
        "type": "object",
        "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
    }
    check_tool_schema(with_a({"$ref": "#/$defs/tree"}, **{"$defs": {"tree": tree}}))
    check_tool_schema(with_a({"$ref": "#"}))
    check_tool_schema({"properties": dict.fromkeys(("pattern", "enum", "$ref", "items", "minLength"), TEXT)})
    check_tool_schema(with_a({"default": {"pattern": 5, "enum": 3}, "enum": [{"minLength": "x"}]}))
    check_tool_schema(with_a({"type": ["string", "null"], "maxLength": 2000, "format": "date"}))
    check_tool_schema(with_a({"maxLength": 65_536, "minItems": 5000, "maxItems": 10**9}))
    check_tool_schema({"additionalProperties": False, "properties": {"a": True}, "required": ["a"]})
    check_tool_schema({})


def test_tools_are_refused_when_they_are_too_large_together() -> None:
    tools = [
        {"type": "function", "name": f"f{at}", "parameters": {"description": "x" * 16_000}}
        for at in range(17)
    ]
    ResponsesRequest.check({"model": "m", "input": "x", "tools": tools[:16]})
    with pytest.raises(SchemaMismatch, match="256 KiB together") as caught:
        ResponsesRequest.check({"model": "m", "input": "x", "tools": tools})
    assert caught.value.path == "tools"


def test_the_checker_gives_an_answer_when_schemas_are_hostile() -> None:
    random = Random(11)
    accepted = sum(is_accepted(hostile_schema(random)) for _ in range(300))
    assert 30 < accepted < 250


def is_accepted(schema: Any) -> bool:
    try:
        check_tool_schema(schema)
    except SchemaMismatch:
        return False
    return True
