"""The events of TGI: stop texts, tool calls and ends that differ from OpenAI's."""

from __future__ import annotations

import json
from typing import Any

import pytest

from backends.shared.tgi_stream import TgiParser
from streams.events import Delta, TextDelta, ToolCallDelta, Usage

USAGE = {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 5}}


def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": {"role": "assistant", **delta}, "logprobs": None, "finish_reason": reason}
    return {"object": "chat.completion.chunk", "id": "", "choices": [choice], "usage": None}


def text(content: str, reason: str | None = None) -> dict[str, Any]:
    return chunk({"content": content}, reason)


def call(arguments: str, name: str | None = None, reason: str | None = None) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return chunk({"tool_calls": [{"index": 0, "id": "0", "type": "function", "function": function}]}, reason)


def read(
    *events: dict[str, Any], stop: tuple[str, ...] = (), done: bool = True
) -> tuple[TgiParser, list[Delta]]:
    deltas: list[Delta] = []
    parser = TgiParser(deltas.append, stop=stop)
    lines = [json.dumps(event) for event in events] + ["[DONE]"] * done
    for line in lines:
        if not parser.stopped:
            parser.feed(f"data: {line}\n\n".encode())
    return parser, deltas


def joined(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))


@pytest.mark.parametrize("reason", ["stop", "stop_sequence"])
def test_an_answer_that_the_server_ends_at_a_stop_text_is_read_to_its_usage(reason: str) -> None:
    parser, deltas = read(text("one"), text(" two"), text(" three", reason), USAGE, stop=("three",))
    assert joined(deltas) == "one two "
    assert (parser.reason, parser.stop_sequence, parser.stopped) == ("stop", "three", False)
    assert parser.usage == Usage(7, 5)


def test_a_stop_text_that_the_server_does_not_see_stops_the_reading() -> None:
    parser, deltas = read(text("one"), text(" twofold"), text(" three"), stop=("two",))
    assert joined(deltas) == "one "
    assert (parser.reason, parser.stop_sequence, parser.stopped, parser.done) == ("stop", "two", True, True)


def test_the_reason_stop_sequence_without_a_known_stop_text_is_stop() -> None:
    parser, deltas = read(text("one"), text(" two", "stop_sequence"), USAGE)
    assert (joined(deltas), parser.reason, parser.stop_sequence) == ("one two", "stop", None)


def test_text_that_was_held_back_is_emitted_at_the_end() -> None:
    parser, deltas = read(text("one <"), text("/", "length"), USAGE, stop=("</end>",))
    assert (joined(deltas), parser.reason) == ("one </", "length")


def test_the_end_token_of_a_completion_is_no_text() -> None:
    def completion(content: str, reason: str = "") -> dict[str, Any]:
        return {"choices": [{"index": 0, "text": content, "logprobs": None, "finish_reason": reason}]}

    end = {**completion("</s>", "eos_token"), "usage": USAGE["usage"]}
    parser, deltas = read(completion("one"), completion(" two"), end)
    assert (joined(deltas), parser.reason, parser.usage) == ("one two", "stop", Usage(7, 5))


@pytest.mark.parametrize(
    "pieces",
    [
        ['"city"', ": ", '"Oslo"', "}"],
        [', "city"', ': "Oslo"}'],
        [",", " ", '"city": "Oslo"', "}"],
    ],
)
def test_a_tool_call_gets_an_id_of_its_own_and_complete_arguments(pieces: list[str]) -> None:
    events = [call("{", "get_weather"), *(call(piece) for piece in pieces)]
    parser, deltas = read(*events, USAGE)
    calls = [delta for delta in deltas if isinstance(delta, ToolCallDelta)]
    assert calls == deltas
    assert calls[0].name == "get_weather"
    assert str(calls[0].id).startswith("call_")
    assert {(delta.id, delta.name) for delta in calls[1:]} == {(None, None)}
    assert json.loads("".join(delta.arguments for delta in calls)) == {"city": "Oslo"}
    assert parser.reason == "tool_calls"
    assert parser.usage == Usage(7, 5)


def test_two_answers_have_different_call_ids() -> None:
    first, second = (read(call("{", "f"), call("}"), USAGE)[1][0] for _ in range(2))
    assert isinstance(first, ToolCallDelta)
    assert isinstance(second, ToolCallDelta)
    assert first.id != second.id


def test_a_call_that_ends_at_max_tokens_has_the_reason_length() -> None:
    assert read(call("{", "f"), call('"a', reason="length"), USAGE)[0].reason == "length"
    assert read(USAGE)[0].reason == "length", "the tokens ended before the name of the call"


def test_a_call_whose_reason_is_stop_has_the_reason_tool_calls() -> None:
    assert read(call("{", "f"), call("}", reason="stop"), USAGE)[0].reason == "tool_calls"
