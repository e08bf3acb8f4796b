"""The grammar of a tool call: which parts are text, and which are special tokens."""

from __future__ import annotations

from backends.exllamav3.engine.grammar import call_grammar
from backends.shared.engine.syntax import GEMMA4, MISTRAL, PLAIN, QWEN3

TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}}
    for name in ("get_weather", 'say_"hello"')
]
TOKENS = {"<tool_call>": 7, "</tool_call>": 8, "<think>": 5}


def test_a_marker_with_a_token_is_matched_by_its_number() -> None:
    grammar = call_grammar(TOOLS, QWEN3, TOKENS.get, thinking=False)
    assert grammar is not None
    start, call, *functions = grammar.splitlines()
    assert start == 'start: ((<[5]> | "<think>") /(?s:.*)/ "</think>" /\\s*/)? call'
    assert call.startswith('call: (<[7]> | "<tool_call>") "\\n{\\"name\\": \\"" (f0 | f1) "}\\n" (<[8]> | ')
    assert functions[0] == 'f0: "get_weather" "\\", \\"arguments\\": " a0'
    assert functions[1] == 'a0: %json {"type": "object", "properties": {}}'


def test_a_function_name_is_escaped_like_in_the_call() -> None:
    grammar = call_grammar(TOOLS, QWEN3, TOKENS.get, thinking=False)
    assert grammar is not None
    assert '"say_\\\\\\"hello\\\\\\""' in grammar


def test_reasoning_that_the_prompt_opened_ends_before_the_call() -> None:
    grammar = call_grammar(TOOLS, QWEN3, TOKENS.get, thinking=True)
    assert grammar is not None
    assert grammar.splitlines()[0] == 'start: /(?s:.*)/ "</think>" /\\s*/ call'


def test_a_syntax_whose_calls_cannot_be_forced_has_no_grammar() -> None:
    assert call_grammar(TOOLS, GEMMA4, TOKENS.get, thinking=False) is None
    assert call_grammar(TOOLS, PLAIN, TOKENS.get, thinking=False) is None
    assert call_grammar(TOOLS, MISTRAL, TOKENS.get, thinking=False) is not None


def test_large_counts_are_left_out_when_the_grammar_could_not_be_compiled() -> None:
    counts = {"type": "array", "minItems": 10**9, "maxItems": 10**9, "items": {"maxLength": 5}}
    tool = {"function": {"name": "f", "parameters": {"properties": {"maxItems": counts}}}}
    grammar = call_grammar([tool], QWEN3, TOKENS.get, thinking=False)
    assert grammar is not None
    least = '{"type": "array", "minItems": 2000, "items": {"maxLength": 5}}'
    assert grammar.splitlines()[-1] == 'a0: %json {"properties": {"maxItems": ' + least + "}}"
