"""The older form of tools in Chat Completions: `functions`, `function_call` and the role `function`."""

from __future__ import annotations

from typing import Any

import openai
import pytest
from openai._models import validate_type
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from api.http.errors import InvalidRequest
from api.http.strict_schema import SchemaMismatch
from api.inference.chat import dialect as chat
from api.inference.chat.schema import ChatRequest
from api.inference.dialects.base import ResponseMetadata
from generation.generation import Message, NamedTool, Tool, ToolCall, text_content
from streams.events import End, Event, TextDelta, ToolCallDelta
from tests.support.rendering import render_stream

USER = {"role": "user", "content": "Hi"}
F = {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {}}}
G = {"name": "g"}
CALLS: list[Event] = [
    ToolCallDelta(0, '{"a"', "c1", "f"),
    ToolCallDelta(0, ": 1}"),
    ToolCallDelta(1, "{}", "c2", "g"),
    End("completed", "tool_calls"),
]


def parse(**body: Any) -> Any:
    full = {"model": "demo", "messages": [USER], **body}
    ChatRequest.check(full)
    return chat.parse(full)


def metadata_of(**body: Any) -> ResponseMetadata:
    return ResponseMetadata("chatcmpl-" + "ab" * 16, 1_700_000_000, "demo", parse(**body).echo)


@pytest.mark.parametrize(
    ("given", "choice"),
    [(None, "auto"), ("auto", "auto"), ("none", "none"), ({"name": "g"}, NamedTool("g"))],
)
def test_functions_are_offered_with_at_most_one_call(given: Any, choice: Any) -> None:
    generation = parse(functions=[F, G], function_call=given).generation
    assert generation.tools == (Tool("f", "d", F["parameters"]), Tool("g"))
    assert (generation.tool_choice, generation.parallel_tool_calls) == (choice, False)


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"functions": [{"name": "a b"}]}, "functions[0].name"),
        ({"functions": [{"name": "f", "parameters": {"type": "array"}}]}, "functions[0].parameters.type"),
        ({"functions": [{"name": "f", "description": "x" * 300_000}]}, "functions"),
        ({"functions": [F], "function_call": "required"}, "function_call"),
        ({"functions": [F], "function_call": {"name": "g"}}, "function_call"),
        ({"function_call": {"name": "f"}}, "function_call"),
        ({"functions": [F], "tools": [{"type": "function", "function": G}]}, "functions"),
    ],
)
def test_functions_that_cannot_be_offered_are_refused_with_their_path(body: Any, path: str) -> None:
    with pytest.raises((SchemaMismatch, InvalidRequest)) as caught:
        parse(**body)
    found = caught.value
    assert (found.path if isinstance(found, SchemaMismatch) else found.param) == path


def test_the_answer_has_the_first_call_in_the_older_form() -> None:
    whole = chat.response_object(metadata_of(functions=[F, G]), CALLS)
    validate_type(type_=ChatCompletion, value=whole)
    (choice,) = whole["choices"]
    assert choice["finish_reason"] == "function_call"
    assert choice["message"]["function_call"] == {"name": "f", "arguments": '{"a": 1}'}
    assert "tool_calls" not in choice["message"]


def test_the_chunks_add_up_to_the_call() -> None:
    frames = [frame for _, frame in render_stream(chat.stream_renderer(metadata_of(functions=[F, G])), CALLS)]
    for frame in frames:
        validate_type(type_=ChatCompletionChunk, value=frame)
    choices = [frame["choices"][0] for frame in frames]
    deltas = [delta for one in choices if (delta := one["delta"].get("function_call"))]
    assert [delta.get("name") for delta in deltas] == ["f", None, None]
    assert "".join(delta["arguments"] for delta in deltas) == '{"a": 1}'
    assert choices[-1]["finish_reason"] == "function_call"
    assert not any("tool_calls" in choice["delta"] for choice in choices)


def test_an_answer_without_a_call_is_a_text_as_ever() -> None:
    whole = chat.response_object(metadata_of(functions=[F]), [TextDelta("Hi"), End("completed", "stop")])
    assert whole["choices"][0]["message"]["content"] == "Hi"
    assert whole["choices"][0]["finish_reason"] == "stop"


def test_a_conversation_in_the_older_form_pairs_calls_and_results() -> None:
    messages = [
        USER,
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "42"},
        {"role": "function", "name": "f", "content": "of a call that the client has dropped"},
    ]
    _, call, result, other = parse(messages=messages).generation.messages
    assert call == Message("assistant", tool_calls=(ToolCall("call_1_0", "f", "{}"),))
    assert result == Message("tool", text_content("42"), tool_call_id="call_1_0")
    assert (other.role, other.tool_call_id) == ("tool", "call_3")


def test_the_sdk_reads_the_call(sdk: openai.OpenAI) -> None:
    answer = sdk.chat.completions.create(
        model="demo", messages=[{"role": "user", "content": "Hi"}], functions=[{"name": "f"}]
    )
    assert answer.choices[0].message.role == "assistant"
