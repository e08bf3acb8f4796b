"""The grammar of a tool call: which parts are text, and which are special tokens."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from random import Random

import jsonschema_rs
import pytest

from backends.exllamav3.engine.grammar import (
    SPACING,
    GrammarError,
    call_grammar,
    json_grammar,
    strict_grammar,
)
from backends.shared.engine.syntax import GEMMA4, MISTRAL, PLAIN, QWEN3
from config.load import load_settings
from engines.environments import interpreter
from generation.schemas.output_schema import enforceable
from tests.support.output_schemas import output_schema

SCHEMAS = int(os.environ.get("STOKER_OUTPUT_SCHEMAS", "40"))
WALK = Path(__file__).with_name("grammar_walk.py")
TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}}
    for name in ("get_weather", 'say_"hello"')
]
SPACED = f', "x-guidance": {json.dumps(SPACING)}}}'
TOKENS = {"<tool_call>": 7, "</tool_call>": 8, "<think>": 5}


def test_a_marker_with_a_token_is_matched_by_its_number() -> None:
    grammar = call_grammar(TOOLS, QWEN3, TOKENS.get, thinking=False)
    assert grammar is not None
    start, call, *functions = grammar.splitlines()
    assert start == 'start: ((<[5]> | "<think>") /(?s:.*)/ "</think>" /\\s*/)? call'
    assert call.startswith('call: (<[7]> | "<tool_call>") "\\n{\\"name\\": \\"" (f0 | f1) "}\\n" (<[8]> | ')
    assert functions[0] == 'f0: "get_weather" "\\", \\"arguments\\": " a0'
    assert functions[1] == 'a0: %json {"type": "object", "properties": {}' + SPACED


def test_the_form_of_a_schema_is_in_the_grammar_when_it_differs_from_the_schema() -> None:
    function = {"name": "f", "parameters": {"not": {}}, "form": {"type": "object"}}
    grammar = call_grammar([{"function": function}], QWEN3, TOKENS.get, thinking=False)
    assert grammar.splitlines()[-1] == 'a0: %json {"type": "object"' + SPACED


def test_a_function_name_is_escaped_like_in_the_call() -> None:
    grammar = call_grammar(TOOLS, QWEN3, TOKENS.get, thinking=False)
    assert grammar is not None
    assert '"say_\\\\\\"hello\\\\\\""' in grammar


def test_reasoning_that_the_prompt_opened_ends_before_the_call() -> None:
    grammar = call_grammar(TOOLS, QWEN3, TOKENS.get, thinking=True)
    assert grammar is not None
    assert grammar.splitlines()[0] == 'start: /(?s:.*)/ "</think>" /\\s*/ call'


def test_a_syntax_whose_calls_cannot_be_forced_has_no_grammar() -> None:
    for syntax in (GEMMA4, PLAIN):
        with pytest.raises(GrammarError):
            call_grammar(TOOLS, syntax, TOKENS.get, thinking=False)
    assert call_grammar(TOOLS, MISTRAL, TOKENS.get, thinking=False)


STRICT = [{"function": {**tool["function"], "strict": at == 0}} for at, tool in enumerate(TOOLS)]


def test_only_the_arguments_of_strict_tools_are_constrained_within_any_text() -> None:
    start, call, *functions, text = strict_grammar(STRICT, QWEN3, TOKENS.get, thinking=False).splitlines()
    assert start.endswith("TEXT (call TEXT)*")
    assert call.startswith("call: (<[7]> | ")
    assert functions[1] == 'a0: %json {"type": "object", "properties": {}' + SPACED
    assert functions[3] == 'a1: %json {"type": "object"' + SPACED
    assert text == "TEXT: /(?s:.*)/ & ~/(?s:.*)<tool_call>(?s:.*)/"


def test_an_answer_is_json_or_a_call_when_there_are_tools() -> None:
    assert json_grammar({}, [], QWEN3, TOKENS.get, thinking=True).splitlines()[0].endswith(" json")
    start, json_rule, *_ = json_grammar(None, STRICT, QWEN3, TOKENS.get, thinking=False).splitlines()
    assert start.endswith(" (call | json)")
    assert json_rule == 'json: %json {"type": "object"' + SPACED


@pytest.mark.engines
@pytest.mark.timeout(600)
def test_texts_of_a_grammar_fit_the_schema() -> None:
    """ExLlamaV3 needs a GPU; the library of its grammars, which vLLM's environment has, does not."""
    schemas = [output_schema(Random(at), strict=at % 2 == 1) for at in range(SCHEMAS)]
    forms = [enforceable(schema) for schema in schemas]
    tools = [[{"function": {"name": "f", "parameters": form, "strict": True}}] for form in forms]
    grammars = [json_grammar(form, [], PLAIN, TOKENS.get, thinking=False) for form in forms]
    grammars += [call_grammar(tool, QWEN3, {}.get, thinking=False) for tool in tools]
    grammars += [strict_grammar(tool, QWEN3, {}.get, thinking=False) for tool in tools]
    answers = walked(grammars)
    for schema, text in zip(schemas, answers, strict=False):
        if text is not None:
            jsonschema_rs.validate(schema, json.loads(text))
    calls = 0
    for schema, text in zip(schemas * 2, answers[len(schemas) :], strict=True):
        for call in [] if text is None else re.findall(r"<tool_call>(.*?)</tool_call>", text, re.DOTALL):
            calls += 1
            jsonschema_rs.validate(schema, json.loads(call)["arguments"])
    assert sum(text is not None for text in answers[:SCHEMAS]) > SCHEMAS / 2
    assert calls > SCHEMAS / 2


def walked(grammars: list[str]) -> list[str | None]:
    """A random text of each grammar; None for one that did not end."""
    python = interpreter(load_settings().runtimes_dir, "vllm")
    given = json.dumps(grammars).encode()
    done = subprocess.run([str(python), str(WALK)], input=given, capture_output=True, check=True)
    found: list[str | None] = json.loads(done.stdout)
    return found
