"""The parser of reasoning, text and tool calls, on output that is cut anywhere."""

from __future__ import annotations

import json
import random

import pytest

from backends.shared.engine.output_parser import OutputParser
from backends.shared.engine.pipe import Step
from backends.shared.engine.syntax import GEMMA4, MISTRAL, PLAIN, QWEN3, Syntax, syntax_of

CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo", "in": "{\\"}"}}\n</tool_call>'


def parse(
    text: str, syntax: Syntax, *, sizes: object = None, **options: object
) -> tuple[str, str, list, bool]:
    """Parse a text, cut at random. Returns (reasoning, text, [(name, arguments)], stopped)."""
    generator = random.Random(sizes)
    options = {"tools": True, **options}
    parser, step, stopped = OutputParser(1, syntax, **options), Step(), False
    while text and not stopped:
        size = generator.randint(1, 6) if sizes is not None else len(text)
        stopped = parser.feed(text[:size], step)
        text = text[size:]
    if not stopped:
        parser.finish(step)
    parts = {
        kind: "".join(p for _, ps in step.frame.get(kind, ()) for p in ps) for kind in ("reasoning", "text")
    }
    calls: dict[int, list[str]] = {}
    for _, [(index, arguments, id, name)] in step.frame.get("calls", ()):
        if id is not None:
            assert index not in calls
            calls[index] = [name, ""]
        calls[index][1] += arguments
    return parts["reasoning"], parts["text"], [(n, json.loads(a)) for n, a in calls.values()], stopped


OUTPUTS = [
    (PLAIN, "no <think> here", ("", "no <think> here", [])),
    (QWEN3, "<think>\nI add.\n\n</think>\n\n3+4=7", ("I add.", "3+4=7", [])),
    (QWEN3, "<think>\n\n</think>\n\nOslo.", ("", "Oslo.", [])),
    (QWEN3, "Let me look.\n" + CALL, ("", "Let me look.", [("get_weather", {"city": "Oslo", "in": '{"}'})])),
    (QWEN3, CALL + "\n" + CALL, ("", "", [("get_weather", {"city": "Oslo", "in": '{"}'})] * 2)),
    (QWEN3, '<tool_call>{"arguments": {"a": [1]}, "name": "f"}</tool_call>', ("", "", [("f", {"a": [1]})])),
    (
        QWEN3,
        '<tool_call>{"name": "f", "arguments": {"x": "\\"a </tool_call>, \\\\</tool_call>"}}</tool_call>.',
        ("", ".", [("f", {"x": '"a </tool_call>, \\</tool_call>'})]),
    ),
    (
        MISTRAL,
        '[TOOL_CALLS]f{"x": "begins with [TOOL_CALLS] "}[TOOL_CALLS]g{}',
        ("", "", [("f", {"x": "begins with [TOOL_CALLS] "}), ("g", {})]),
    ),
    (QWEN3, "<tool_call>nothing</tool_call>", ("", "<tool_call>nothing</tool_call>", [])),
    (QWEN3, "a < b and a <t", ("", "a < b and a <t", [])),
    (QWEN3, "two lines\n\nand blanks \n", ("", "two lines\n\nand blanks \n", [])),
    (GEMMA4, "<|channel>thought\nI think.\n<channel|>Oslo.", ("I think.", "Oslo.", [])),
    (GEMMA4, "<|channel>thought\n<channel|>Oslo.", ("", "Oslo.", [])),
    (
        GEMMA4,
        '<|tool_call>call:f{city:<|"|>a, b<|"|>,n:42,deep:{x:[1,true,<|"|>z<|"|>]},e:{}}<tool_call|>',
        ("", "", [("f", {"city": "a, b", "n": 42, "deep": {"x": [1, True, "z"]}, "e": {}})]),
    ),
    (GEMMA4, "<|tool_call>call:f{x:<tool_call|>", ("", "<|tool_call>call:f{x:<tool_call|>", [])),
    (MISTRAL, '[TOOL_CALLS][{"name": "f", "arguments": {"x": 1}}]', ("", "", [("f", {"x": 1})])),
    (MISTRAL, '[TOOL_CALLS]f[ARGS]{"x": {"y": "}"}}', ("", "", [("f", {"x": {"y": "}"}})])),
    (
        MISTRAL,
        '[TOOL_CALLS]f[ARGS]{"a":1}[TOOL_CALLS]g[ARGS]{"b":2}',
        ("", "", [("f", {"a": 1}), ("g", {"b": 2})]),
    ),
    (GEMMA4, '<|tool_call>call:f{a:<|"|>x', ("", '<|tool_call>call:f{a:<|"|>x', [])),
]


@pytest.mark.parametrize(("syntax", "text", "expected"), OUTPUTS)
def test_reasoning_text_and_calls_are_separated_however_the_output_is_cut(
    syntax: Syntax, text: str, expected: tuple[str, str, list]
) -> None:
    assert parse(text, syntax) == (*expected, False)
    for sizes in range(40):
        assert parse(text, syntax, sizes=sizes) == (*expected, False)


@pytest.mark.parametrize("sizes", [None, *range(30)])
def test_text_ends_before_the_first_stop_string(sizes: int | None) -> None:
    parsed = parse("one two three\n\nfour", PLAIN, sizes=sizes, stop=("four", "\n\nf", "thr"))
    assert parsed == ("", "one two ", [], True)


@pytest.mark.parametrize("sizes", [None, *range(10)])
def test_a_stop_string_in_the_reasoning_does_not_end_it(sizes: int | None) -> None:
    parsed = parse("<think>seven is it</think>it is seven.", QWEN3, sizes=sizes, stop=("seven",))
    assert parsed == ("seven is it", "it is ", [], True)


@pytest.mark.parametrize("sizes", [None, *range(10)])
def test_white_space_of_the_template_is_not_a_stop_string(sizes: int | None) -> None:
    parsed = parse("<think>\nI look.\n</think>\n\nOslo.\n\nAnd more.", QWEN3, sizes=sizes, stop=("\n\n",))
    assert parsed == ("I look.", "Oslo.", [], True)


def test_the_search_for_a_missing_function_name_ends() -> None:
    parser = OutputParser(1, MISTRAL, tools=True)
    parser.feed("[TOOL_CALLS]a", Step())
    for _ in range(20_000):
        parser.feed(" ", Step())
    step = Step()
    parser.finish(step)
    assert step.frame["text"][0][1][0].startswith("[TOOL_CALLS]a")


def test_reasoning_that_the_prompt_opened_is_parsed() -> None:
    assert parse("I add.\n</think>\n7", QWEN3, in_reasoning=True, sizes=1) == ("I add.", "7", [], False)


def test_a_call_is_text_when_the_request_has_no_tools() -> None:
    assert parse(CALL, QWEN3, tools=False, sizes=3) == ("", CALL, [], False)


def test_long_arguments_are_streamed() -> None:
    parser, pieces = OutputParser(1, QWEN3, tools=True), 0
    for letter in '<tool_call>{"name": "f", "arguments": {"text": "' + "long " * 20:
        step = Step()
        parser.feed(letter, step)
        pieces += "calls" in step.frame
    assert pieces > 80


def test_reasoning_tokens_are_counted() -> None:
    parser, step = OutputParser(1, QWEN3), Step()
    for piece in ("<think>", "I", " add", "</think>", "7"):
        parser.feed(piece, step)
    assert parser.reasoning_tokens == 3


def test_the_syntax_of_the_generic_format_is_guessed_from_the_template() -> None:
    assert syntax_of("generic", "{{ '<think>' }} </think> <tool_call>") == QWEN3
    assert syntax_of("generic", "<|channel>") == GEMMA4
    assert syntax_of("generic", "nothing") == PLAIN
    assert syntax_of("mistral_template", "nothing") == MISTRAL


@pytest.mark.parametrize("sizes", [None, *range(20)])
def test_the_first_call_ends_the_answer_when_there_may_be_one_only(sizes: object) -> None:
    first = ("get_weather", {"city": "Oslo", "in": '{"}'})
    texts = {
        "<think>\nI look.\n</think>\n" + CALL + "\n" + CALL: (QWEN3, [first]),
        '[TOOL_CALLS]f{"a": 1}[TOOL_CALLS]g{}': (MISTRAL, [("f", {"a": 1})]),
        '[TOOL_CALLS][{"name": "f", "arguments": {}}, {"name": "g", "arguments": {}}]': (
            MISTRAL,
            [("f", {})],
        ),
    }
    for text, (syntax, calls) in texts.items():
        found = parse(text, syntax, sizes=sizes, single_call=True)
        assert (found[1], found[2]) == ("", calls)


@pytest.mark.parametrize("sizes", [None, *range(20)])
def test_markers_within_json_are_text_when_the_answer_is_json(sizes: object) -> None:
    text = '{"a": "<think>b</think>", "c": "<tool_call>d"}'
    found = parse("<think>\nI add.\n</think>\n\n" + text, QWEN3, sizes=sizes, json_text=True)
    assert found == ("I add.", text, [], False)
    assert parse(CALL, QWEN3, sizes=sizes, json_text=True)[2] == [
        ("get_weather", {"city": "Oslo", "in": '{"}'})
    ]
