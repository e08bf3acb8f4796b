"""Reading an answer that a server passes on as it is."""

from __future__ import annotations

from backends.shared.answer_reader import AnswerReader
from backends.shared.engine.syntax import QWEN3
from streams.events import Delta, ReasoningDelta, ScoredTextDelta, TextDelta, TokenLogprob, ToolCallDelta


def read(*deltas: Delta, json_text: bool = True) -> tuple[list[Delta], bool]:
    found: list[Delta] = []
    reader = AnswerReader(found.append, QWEN3, tools=True, single_call=False, json_text=json_text)
    for delta in deltas:
        reader.read(delta)
    reader.finish()
    return found, reader.has_calls


def test_json_passes_and_reasoning_of_the_server_as_well() -> None:
    given = [ReasoningDelta("I add."), TextDelta('{"a":'), TextDelta(' "<think>"}')]
    found, called = read(*given)
    assert found[0] == given[0]
    assert "".join(delta.text for delta in found[1:] if isinstance(delta, TextDelta)) == '{"a": "<think>"}'
    assert not called


def test_a_call_is_read_in_the_text() -> None:
    pieces = ["<tool", '_call>\n{"name": "f", "arg', 'uments": {"a": 1}}\n</tool_call>']
    found, called = read(*map(TextDelta, pieces))
    calls = [delta for delta in found if isinstance(delta, ToolCallDelta)]
    assert len(calls) == len(found)
    assert calls[0].name == "f"
    assert calls[0].id
    assert "".join(call.arguments for call in calls) == '{"a": 1}'
    assert called


def test_text_before_a_call_stays_text() -> None:
    call = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'
    found, called = read(TextDelta("Let me look. " + call), json_text=False)
    assert found[0] == TextDelta("Let me look.")
    assert called


def test_the_tokens_of_held_text_come_with_it_and_those_of_markers_do_not() -> None:
    names = ["<think>", "hm", "</think>", "a", " <", "b", "<tool_call>"]
    tokens = {name: TokenLogprob(name, -0.5) for name in names}
    found, _ = read(*(ScoredTextDelta(name, (tokens[name],)) for name in names), json_text=False)
    assert found[:1] == [ReasoningDelta("hm")]
    scored = [delta for delta in found if isinstance(delta, ScoredTextDelta)]
    assert "".join(delta.text for delta in scored) == "a <b"
    assert [token for delta in scored for token in delta.tokens] == [
        tokens[name] for name in ("a", " <", "b")
    ]
