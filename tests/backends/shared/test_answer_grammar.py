"""The conversion of tools to a grammar, tested without the library."""

from __future__ import annotations

import json
from typing import Any

import pytest

from backends.shared.engine.answer_grammar import (
    _text_without,
    grammar_of_calls,
    grammar_of_json,
    grammar_of_text,
    grammar_within_call,
)
from backends.shared.engine.gbnf import JSON, Rules, SchemaError
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


NUMBER = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


def strict(parameters: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "f", "parameters": parameters, "strict": True}}


def test_an_answer_is_json_or_a_call_if_there_are_tools() -> None:
    alone, beside = (
        grammar_of_json(NUMBER, tools, QWEN3).splitlines()[0] for tools in ([], [strict(NUMBER)])
    )
    assert "tool_call" not in alone
    assert alone.removesuffix(")") in beside
    assert r"<tool_call>\x0A{\x22name\x22: \x22f\x22" in beside
    assert grammar_of_json(None, [], PLAIN).splitlines()[0].endswith("(object)")


def test_only_strict_tools_have_constrained_arguments_unless_a_call_is_required() -> None:
    grammar = grammar_of_text([tool(NUMBER, "free"), strict(NUMBER)], QWEN3, None, single_call=False)
    free, constrained = grammar.splitlines()[0].split(" | ")
    assert r"free\x22, \x22arguments\x22: " in free
    assert "object" in free
    assert "object" not in constrained


def test_a_call_has_no_marker_before_it_when_it_has_begun() -> None:
    rest = grammar_within_call([strict(NUMBER)], QWEN3).splitlines()[0]
    assert rest.startswith(r'root ::= "\x0A{\x22name\x22: \x22f\x22, \x22arguments\x22: "')


@pytest.mark.parametrize(
    ("reasoning", "beginning"),
    [(None, "root ::=  ["), ("possible", 'root ::= ("<think>" r'), ("begun", "root ::= r")],
)
def test_reasoning_comes_first_where_the_engine_needs_it_in_the_grammar(
    reasoning: Any, beginning: str
) -> None:
    assert grammar_of_json(None, [], QWEN3, reasoning).startswith(beginning)
    assert grammar_of_json(None, [], PLAIN, reasoning).startswith("root ::=  [")


def test_the_text_before_a_marker_does_not_contain_it() -> None:
    rules = Rules(JSON)
    name = _text_without(rules, "aab")
    found = dict(rule.split(" ::= ") for rule in rules.text(name).splitlines())
    states = [name, *sorted({word for word in found[name].split() if word in found} - {name})]
    assert len(states) == 2  # of the first state: itself and the one after an "a"
    second = next(word for word in found[states[1]].split() if word in found and word not in states)
    assert f'"a" {second}' in found[second]  # "aaa" still ends with the beginning of the marker
    assert '"b"' not in found[second]  # it would complete the marker


def test_characters_of_a_marker_are_escaped_with_as_many_digits_as_they_need() -> None:
    rules = Rules(JSON)
    assert r"[^\x3C\u2581\U0001F525] " in rules.text(_text_without(rules, "<\u2581\U0001f525"))


def test_an_exact_schema_is_refused_when_its_recursion_is_ambiguous() -> None:
    arrays = [{"type": "array", "items": {"$ref": "#/$defs/n"}, "minItems": at} for at in (1, 2)]
    schema = {
        "type": "object",
        "additionalProperties": {"$ref": "#/$defs/n"},
        "$defs": {"n": {"anyOf": arrays}},
    }
    with pytest.raises(SchemaError, match="begin alike"):
        grammar_of_json(schema, [], PLAIN)
    with pytest.raises(SchemaError, match="begin alike"):
        grammar_of_text([strict(schema)], QWEN3, None, single_call=False)


def test_json_beside_calls_that_are_not_json_is_refused() -> None:
    with pytest.raises(SchemaError, match="cannot have tools"):
        grammar_of_json(None, [tool(NUMBER)], GEMMA4)
