"""The conversion of tools to a grammar, tested without the library."""

from __future__ import annotations

import json
from typing import Any

import pytest

from backends.shared.engine.answer_grammar import grammar_of_calls
from backends.shared.engine.gbnf import SchemaError
from backends.shared.engine.syntax import GEMMA4, MISTRAL, PLAIN, QWEN3, Syntax


def tool(parameters: Any, name: str = "f") -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


def root(parameters: Any, syntax: Syntax, name: str = "f") -> str:
    return grammar_of_calls([tool(parameters, name)], syntax).splitlines()[0]


def test_a_call_is_enclosed_in_the_markers_of_its_syntax() -> None:
    anything = {"type": "object"}
    assert r"<tool_call>\x0A{\x22name\x22: \x22f\x22" in root(anything, QWEN3)
    assert r"[TOOL_CALLS][{\x22name\x22: \x22f\x22" in root(anything, MISTRAL)
    assert '"<|tool_call>call:f" object "<tool_call|>"' in root(anything, GEMMA4)


def test_a_name_cannot_break_out_of_its_string() -> None:
    rule = root({"type": "object"}, QWEN3, name='a"} | root ::= "')
    assert r"a\x5C\x22} | root ::= \x5C\x22" in rule


def test_each_tool_is_an_alternative() -> None:
    text = grammar_of_calls([tool({}, "first"), tool({}, "second")], QWEN3)
    assert text.splitlines()[0].count(" | ") == 1


def test_keys_have_the_order_in_which_the_prompt_shows_them() -> None:
    schema = {"type": "object", "properties": {"b": {}, "a": {}}, "required": ["a", "b"]}
    qwen, gemma = (grammar_of_calls([tool(schema)], syntax) for syntax in (QWEN3, GEMMA4))
    assert r'"\x22b\x22" ":" blank value r' in qwen  # more follows
    assert '"a" ":" blank value r' in gemma


def test_a_model_without_tool_calls_cannot_be_forced_to_call() -> None:
    with pytest.raises(SchemaError, match="has no tool calls"):
        grammar_of_calls([tool({})], PLAIN)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array"},
        {"type": "object", "properties": {"a": {"type": "nonsense"}}},
        {"type": "object", "properties": {"a": {"type": "string", "minLength": "3"}}},
        {"type": "object", "properties": {"a": {"type": "string", "minLength": 3, "maxLength": 2}}},
        {"type": "object", "properties": {"a": {"anyOf": []}}},
        {"type": "object", "properties": {"a": {"$ref": "https://example.org/schema"}}},
        {"type": "object", "properties": {"a": {"allOf": 3}}},
        {"type": "object", "required": 3, "properties": {"a": {}}},
        {"allOf": [{"$ref": "#"}]},
        {"$ref": 3},
        "object",
    ],
)
def test_an_invalid_schema_is_refused(schema: Any) -> None:
    with pytest.raises(SchemaError):
        grammar_of_calls([tool(schema)], QWEN3)


def test_a_schema_above_the_size_limit_is_refused() -> None:
    def with_properties(count: int) -> dict[str, Any]:
        return {"type": "object", "properties": {f"p{i}": {"type": "integer"} for i in range(count)}}

    assert grammar_of_calls([tool(with_properties(500))], QWEN3)
    with pytest.raises(SchemaError, match="too large"):
        grammar_of_calls([tool(with_properties(9000))], QWEN3)
    deep: dict[str, Any] = {"type": "object"}
    for _ in range(200):
        deep = {"type": "object", "properties": {"a": deep}}
    with pytest.raises(SchemaError, match="nested too deeply"):
        grammar_of_calls([tool(deep)], QWEN3)
    long = {f"p{i}": {"type": "string", "minLength": 1000 + i} for i in range(200)}
    with pytest.raises(SchemaError, match="too large"):
        grammar_of_calls([tool({"type": "object", "properties": long})], QWEN3)


def test_recursion_allows_every_value_when_its_alternatives_begin_alike() -> None:
    """llama.cpp would follow 2^n paths after n brackets."""
    arrays = [{"type": "array", "items": {"$ref": "#/$defs/n"}, "minItems": at} for at in (1, 2)]
    schema = {
        "properties": {"a": {"$ref": "#/$defs/n"}},
        "$defs": {"n": {"anyOf": json.loads(json.dumps(arrays))}},
    }
    rules = grammar_of_calls([tool(schema)], QWEN3).splitlines()
    assert sum('"[" blank value' in rule for rule in rules) == 2
