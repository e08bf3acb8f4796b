"""The format of the answer and strict tools: each dialect parses them into the same fields."""

from __future__ import annotations

from typing import Any

import pytest

from api.http.errors import InvalidRequest
from api.inference.chat import dialect as chat
from api.inference.chat.schema import ChatRequest
from api.inference.dialects.base import ResponseMetadata
from api.inference.dialects.output_format import from_ollama_format
from api.inference.messages import dialect as anthropic_messages
from api.inference.messages.schema import MessagesRequest
from api.inference.responses import dialect as responses
from api.inference.responses.schema import ResponsesRequest
from generation.generation import Generation, JsonFormat, Tool

USER = {"role": "user", "content": "Hi"}
SCHEMA = {
    "type": "object",
    "properties": {"a": {"const": 1}},
    "required": ["a"],
    "additionalProperties": False,
}
FORM = {**SCHEMA, "properties": {"a": {"enum": [1]}}}


def from_chat(**fields: Any) -> Generation:
    body = {"model": "demo", "messages": [USER], **fields}
    ChatRequest.check(body)
    return chat.parse(body).generation


def from_responses(**fields: Any) -> Generation:
    body = {"model": "demo", "input": "Hi", **fields}
    ResponsesRequest.check(body)
    return responses.parse(body).generation


def from_anthropic(**fields: Any) -> Generation:
    body = {"model": "demo", "max_tokens": 5, "messages": [USER], **fields}
    MessagesRequest.check(body)
    return anthropic_messages.parse(body).generation


def test_each_dialect_parses_a_json_schema() -> None:
    named = {"name": "answer", "description": "d", "schema": SCHEMA, "strict": True}
    found = from_chat(response_format={"type": "json_schema", "json_schema": named})
    assert found.output_format == JsonFormat(FORM, "answer", "d", strict=True)
    assert (
        from_responses(text={"format": {"type": "json_schema", **named}}).output_format == found.output_format
    )
    config = {"format": {"type": "json_schema", "schema": SCHEMA}}
    assert from_anthropic(output_config=config).output_format == JsonFormat(FORM)
    assert from_ollama_format(SCHEMA) == JsonFormat(FORM)


def test_each_dialect_parses_json_objects_and_text() -> None:
    assert from_chat(response_format={"type": "json_object"}).output_format == JsonFormat()
    assert from_responses(text={"format": {"type": "json_object"}}).output_format == JsonFormat()
    assert from_ollama_format("json") == JsonFormat()
    texts = [
        from_chat(response_format={"type": "text"}).output_format,
        from_chat(response_format=None).output_format,
        from_responses(text={"format": {"type": "text"}}).output_format,
        from_responses(text={"format": None}).output_format,
        from_anthropic(output_config={"effort": "low"}).output_format,
        from_ollama_format(""),
        from_ollama_format(None),
    ]
    assert texts == [None] * len(texts)


@pytest.mark.parametrize(
    ("given", "param"),
    [("yaml", "format"), (5, "format"), ({"type": "object", "minProperties": 1}, "format.minProperties")],
)
def test_another_format_of_ollama_is_refused_with_its_path(given: Any, param: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        from_ollama_format(given)
    assert caught.value.param == param


def test_each_dialect_parses_strict_tools() -> None:
    function = {"name": "f", "description": "d", "parameters": SCHEMA, "strict": True}
    expected = (Tool("f", "d", FORM, strict=True),)
    assert from_chat(tools=[{"type": "function", "function": function}]).tools == expected
    assert from_responses(tools=[{"type": "function", **function}]).tools == expected
    custom = {"name": "f", "description": "d", "input_schema": SCHEMA, "strict": True}
    assert from_anthropic(tools=[custom]).tools == expected
    loose = {**function, "strict": False}
    assert from_chat(tools=[{"type": "function", "function": loose}]).tools == (Tool("f", "d", SCHEMA),)


def test_a_strict_tool_without_parameters_takes_none() -> None:
    [tool] = from_responses(tools=[{"type": "function", "name": "f", "strict": True}]).tools
    assert tool.parameters == {**FORM, "properties": {}, "required": []}


def test_each_dialect_parses_whether_calls_may_be_parallel() -> None:
    assert from_chat().parallel_tool_calls
    assert from_chat(parallel_tool_calls=True).parallel_tool_calls
    assert not from_chat(parallel_tool_calls=False).parallel_tool_calls
    assert not from_responses(parallel_tool_calls=False).parallel_tool_calls
    assert from_anthropic(tool_choice={"type": "auto"}).parallel_tool_calls
    choice = {"type": "auto", "disable_parallel_tool_use": True}
    assert not from_anthropic(tool_choice=choice).parallel_tool_calls


@pytest.mark.parametrize(
    ("given", "echoed"),
    [
        (None, {"type": "text"}),
        ({"type": "text"}, {"type": "text"}),
        ({"type": "json_object"}, {"type": "json_object"}),
        (
            {"type": "json_schema", "name": "n", "schema": SCHEMA},
            {"type": "json_schema", "name": "n", "description": None, "schema": SCHEMA, "strict": False},
        ),
    ],
)
def test_a_response_repeats_the_format_as_it_was_given(given: Any, echoed: dict[str, Any]) -> None:
    body = {"model": "demo", "input": "Hi", "text": {"format": given}}
    parsed = responses.parse(body)
    metadata = ResponseMetadata("resp_" + "ab" * 16, 1_700_000_000, "demo", parsed.echo)
    assert responses.response_object(metadata, [])["text"] == {"format": echoed}
