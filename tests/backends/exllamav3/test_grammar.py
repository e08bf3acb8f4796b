"""The grammar that holds an answer to a tool call: what of it is letters, and what is a token of its own."""

from __future__ import annotations

from backends.exllamav3.engine.grammar import call_grammar
from backends.shared.engine.syntax import GEMMA4, MISTRAL, PLAIN, QWEN3

TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}}
    for name in ("get_weather", 'say_"hello"')
]
TOKENS = {"<tool_call>": 7, "</tool_call>": 8, "<think>": 5}


def test_a_marker_is_its_token_where_it_has_one() -> None:
    grammar = call_grammar(TOOLS, QWEN3, TOKENS.get, thinking=False)
    assert grammar is not None
    start, call, *functions = grammar.splitlines()
    assert start == 'start: ((<[5]> | "<think>") /(?s:.*)/ "</think>" /\\s*/)? call'
    assert call.startswith('call: (<[7]> | "<tool_call>") "\\n{\\"name\\": \\"" (f0 | f1) "}\\n" (<[8]> | ')
    assert functions[0] == 'f0: "get_weather" "\\", \\"arguments\\": " a0'
    assert functions[1] == 'a0: %json {"type": "object", "properties": {}}'


def test_a_name_is_written_as_the_call_has_it() -> None:
    grammar = call_grammar(TOOLS, QWEN3, TOKENS.get, thinking=False)
    assert grammar is not None
    assert '"say_\\\\\\"hello\\\\\\""' in grammar


def test_reasoning_that_has_begun_comes_to_its_end_first() -> None:
    grammar = call_grammar(TOOLS, QWEN3, TOKENS.get, thinking=True)
    assert grammar is not None
    assert grammar.splitlines()[0] == 'start: /(?s:.*)/ "</think>" /\\s*/ call'


def test_a_model_whose_calls_have_another_form_cannot_be_held_to_one() -> None:
    assert call_grammar(TOOLS, GEMMA4, TOKENS.get, thinking=False) is None
    assert call_grammar(TOOLS, PLAIN, TOKENS.get, thinking=False) is None
    assert call_grammar(TOOLS, MISTRAL, TOKENS.get, thinking=False) is not None
