"""`tool_search` that the client runs, as Codex declares it: a function to the model, which finds tools."""

from __future__ import annotations

from typing import Any

import pytest
from openai._models import validate_type
from openai.types.responses import Response, ResponseStreamEvent

from api.inference.dialects.base import ParsedRequest, ResponseMetadata
from api.inference.responses import dialect as responses
from api.inference.responses.input_items import input_items
from api.inference.responses.schema import ResponsesRequest
from generation.generation import Message, Tool, ToolCall, text_content
from streams.events import End, Event, ToolCallDelta
from tests.support.rendering import render_stream

Json = dict[str, Any]

QUERY = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
SEARCH: Json = {"type": "tool_search", "execution": "client", "description": "Finds.", "parameters": QUERY}
SHELL: Json = {"type": "function", "name": "shell"}
FOUND: Json = {
    "type": "namespace",
    "name": "mcp__mail",
    "description": "Mail.",
    "tools": [{"type": "function", "name": "send", "defer_loading": True, "parameters": {"type": "object"}}],
}
CALL: Json = {
    "type": "tool_search_call",
    "call_id": "c",
    "execution": "client",
    "arguments": {"query": "mail"},
}
OUTPUT: Json = {"type": "tool_search_output", "call_id": "c", "execution": "client", "status": "completed"}
USER: Json = {"role": "user", "content": "Hi"}
EVENTS: list[Event] = [
    ToolCallDelta(0, '{"query"', "c1", "tool_search"),
    ToolCallDelta(0, ': "mail"}'),
    End("completed", "tool_calls"),
]


def parse(**body: Any) -> ParsedRequest:
    full = {"model": "demo", "input": "x", **body}
    ResponsesRequest.check(full)
    return responses.parse(full)


def metadata_of(parsed: ParsedRequest) -> ResponseMetadata:
    return ResponseMetadata("resp_" + "ab" * 16, 1, "demo", parsed.echo)


def test_a_search_of_the_client_is_offered_as_a_function() -> None:
    parsed = parse(tools=[SHELL, SEARCH])
    assert parsed.generation.tools == (Tool("shell"), Tool("tool_search", "Finds.", QUERY))
    assert (parsed.echo["tools"][1], parsed.ignored_tools) == (SEARCH, ())


@pytest.mark.parametrize("execution", [{}, {"execution": "server"}, {"execution": None}])
def test_a_search_of_openais_servers_is_left_out_and_named(execution: Json) -> None:
    parsed = parse(tools=[SHELL, {"type": "tool_search", **execution}])
    assert ([tool.name for tool in parsed.generation.tools], parsed.ignored_tools) == (
        ["shell"],
        ("tool_search",),
    )


def test_tools_that_searches_have_found_are_offered_once() -> None:
    again = {**OUTPUT, "call_id": "d", "tools": [FOUND]}
    items = [USER, CALL, {**OUTPUT, "tools": [FOUND]}, {**CALL, "call_id": "d"}, again]
    parsed = parse(tools=[SEARCH], input=items)
    assert [tool.name for tool in parsed.generation.tools] == ["tool_search", "mcp__mail__send"]
    _, call, result, *_ = parsed.generation.messages
    assert call == Message("assistant", tool_calls=(ToolCall("c", "tool_search", '{"query":"mail"}'),))
    assert result == Message(
        "tool", text_content("These tools can be called now: mcp__mail__send"), tool_call_id="c"
    )
    listed = input_items(metadata_of(parsed), parsed.generation)
    assert listed[1] == {"id": listed[1]["id"], "status": "completed", **CALL}


def test_the_result_of_a_search_is_a_text_when_it_has_found_no_tool() -> None:
    parsed = parse(tools=[SEARCH], input=[USER, CALL, {**OUTPUT, "tools": []}])
    assert parsed.generation.messages[-1].text == "No tool was found."


@pytest.mark.parametrize(
    "items",
    [
        [{**CALL, "call_id": None, "execution": "server"}, {**OUTPUT, "call_id": None, "tools": [FOUND]}],
        [{"type": "tool_search_call"}, {"type": "tool_search_output", "tools": []}],
    ],
)
def test_a_search_that_openais_servers_ran_is_left_out_of_the_conversation(items: list[Json]) -> None:
    assert parse(input=[USER, *items]).generation.messages == (Message("user", text_content("Hi")),)


def test_a_call_is_answered_as_a_search() -> None:
    metadata = metadata_of(parse(tools=[SEARCH]))
    frames = list(render_stream(responses.stream_renderer(metadata), EVENTS))
    for _, frame in frames:
        validate_type(type_=ResponseStreamEvent, value=frame)
    whole = responses.response_object(metadata, EVENTS)
    validate_type(type_=Response, value=whole)
    (item,) = whole["output"]
    assert {key: item[key] for key in ("type", "call_id", "execution", "arguments", "status")} == {
        **CALL,
        "call_id": "c1",
        "status": "completed",
    }
    names = [name.removeprefix("response.") for name, _ in frames]
    assert names == ["created", "in_progress", "output_item.added", "output_item.done", "completed"]
    assert frames[-2][1]["item"] == item


@pytest.mark.parametrize("text", ["", "[1]", '{"query": "ma'])
def test_a_search_has_no_arguments_when_the_model_wrote_none(text: str) -> None:
    events: list[Event] = [ToolCallDelta(0, text, "c1", "tool_search"), End("incomplete", "length")]
    (item,) = responses.response_object(metadata_of(parse(tools=[SEARCH])), events)["output"]
    assert (item["arguments"], item["status"]) == ({}, "incomplete")


def test_a_function_of_the_same_name_stays_a_function() -> None:
    metadata = metadata_of(parse(tools=[{"type": "function", "name": "tool_search"}]))
    (item,) = responses.response_object(metadata, EVENTS)["output"]
    assert item["type"] == "function_call"
