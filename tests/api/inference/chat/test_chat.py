"""The Chat Completions dialect: parsing, and that a stream equals the response object."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient
from hypothesis import given
from openai._models import validate_type
from openai.types.chat import ChatCompletion as SdkCompletion
from openai.types.chat import ChatCompletionChunk

from api.http.errors import InvalidRequest
from api.http.strict_schema import SchemaMismatch
from api.inference.chat import dialect as chat
from api.inference.chat.schema import ChatCompletion, ChatRequest
from api.inference.dialects.base import ResponseMetadata
from api.inference.dialects.output import final_status
from generation.generation import (
    Generation,
    Message,
    NamedTool,
    Sampling,
    TextPart,
    Tool,
    ToolCall,
    text_content,
)
from streams.events import End, Event, ReasoningDelta, TextDelta, ToolCallDelta, Usage
from tests.support.api_fakes import Fakes
from tests.support.event_logs import logs
from tests.support.rendering import render_stream

METADATA = ResponseMetadata("chatcmpl-" + "ab" * 16, 1_700_000_000, "demo", {})
WITH_USAGE = ResponseMetadata(METADATA.id, METADATA.created_at, METADATA.model, {"include_usage": True})
USER = {"role": "user", "content": "Hi"}


def parse(**body: Any) -> Any:
    full = {"model": "demo", "messages": [USER], **body}
    ChatRequest.check(full)
    return chat.parse(full)


def frames_of(log: list[Event], metadata: ResponseMetadata = METADATA) -> list[dict[str, Any]]:
    return [frame for _, frame in render_stream(chat.stream_renderer(metadata), log)]


def message_of(frames: list[dict[str, Any]]) -> dict[str, Any]:
    """The message that a client assembles from the chunks."""
    message: dict[str, Any] = {"content": "", "reasoning_content": "", "tool_calls": []}
    for frame in frames:
        for choice in frame.get("choices", []):
            delta = choice["delta"]
            message["content"] += delta.get("content", "")
            message["reasoning_content"] += delta.get("reasoning_content", "")
            for call in delta.get("tool_calls", []):
                if "id" in call:
                    assert call["index"] == len(message["tool_calls"])
                    function = {"name": call["function"]["name"], "arguments": ""}
                    message["tool_calls"].append({"id": call["id"], "type": "function", "function": function})
                message["tool_calls"][call["index"]]["function"]["arguments"] += call["function"]["arguments"]
    return message


@given(logs())
def test_the_chunks_add_up_to_the_message_of_the_response_object(log: list[Event]) -> None:
    frames = frames_of(log, WITH_USAGE)
    end = log[-1]
    assert isinstance(end, End)
    if final_status(end) in ("failed", "cancelled"):
        assert set(frames[-1]["error"]) == {"message", "type", "param", "code"}
        return
    whole = chat.response_object(WITH_USAGE, log)
    message = whole["choices"][0]["message"]
    streamed = message_of(frames)
    assert streamed["content"] == (message["content"] or "")
    assert streamed["reasoning_content"] == message.get("reasoning_content", "")
    assert streamed["tool_calls"] == message.get("tool_calls", [])
    assert frames[-2]["choices"][0]["finish_reason"] == whole["choices"][0]["finish_reason"]
    assert (frames[-1]["choices"], frames[-1]["usage"]) == ([], whole["usage"])


@given(logs())
def test_chunks_and_response_objects_fit_the_sdk_types_in_strict_mode(log: list[Event]) -> None:
    for frame in frames_of(log):
        if "error" not in frame:
            validate_type(type_=ChatCompletionChunk, value=frame)
    whole = chat.response_object(METADATA, log)
    validate_type(type_=SdkCompletion, value=whole)
    assert ChatCompletion().validate(whole) == {}


def test_a_stream_begins_with_the_role_and_ends_with_a_reason() -> None:
    frames = frames_of([TextDelta("a"), End("completed", "stop")])
    assert frames[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert frames[-1]["choices"][0]["finish_reason"] == "stop"
    assert all("usage" not in frame for frame in frames)


def test_each_call_has_its_own_index_and_no_empty_call_list_is_sent() -> None:
    log: list[Event] = [
        ReasoningDelta("hm"),
        ToolCallDelta(4, "{", "a", "f"),
        ToolCallDelta(9, "", "b", "g"),
        ToolCallDelta(4, "}"),
        End("completed", "tool_calls"),
    ]
    message = message_of(frames_of(log))
    assert [call["function"]["arguments"] for call in message["tool_calls"]] == ["{}", ""]
    assert chat.response_object(METADATA, log)["choices"][0]["message"]["content"] is None
    assert all(frame["choices"][0]["delta"].get("tool_calls") != [] for frame in frames_of(log))


def test_the_finish_reason_is_length_when_the_token_limit_is_reached() -> None:
    log: list[Event] = [TextDelta("a"), End("incomplete", "length")]
    assert chat.response_object(METADATA, log)["choices"][0]["finish_reason"] == "length"


def test_the_finish_reason_is_content_filter_when_the_answer_was_filtered() -> None:
    log: list[Event] = [TextDelta("a"), End("incomplete", "content_filter")]
    assert chat.response_object(METADATA, log)["choices"][0]["finish_reason"] == "content_filter"


def test_usage_includes_cached_and_reasoning_tokens() -> None:
    log: list[Event] = [End("completed", "stop", usage=Usage(10, 5, cached_tokens=8, reasoning_tokens=2))]
    assert chat.response_object(METADATA, log)["usage"] == {
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "total_tokens": 15,
        "prompt_tokens_details": {"cached_tokens": 8},
        "completion_tokens_details": {"reasoning_tokens": 2},
    }


def test_a_conversation_with_calls_is_parsed() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        {"role": "assistant", "content": None, "tool_calls": [call], "reasoning_content": "hm"},
        {"role": "tool", "tool_call_id": "c1", "content": "sunny"},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
        {"role": "user", "content": "Please."},
        {"role": "assistant", "content": None, "refusal": "Never."},
    ]
    assert parse(messages=messages).generation.messages == (
        Message("system", text_content("Be brief.")),
        Message("user", (TextPart("a"), TextPart("b"))),
        Message("assistant", reasoning="hm", tool_calls=(ToolCall("c1", "f", "{}"),)),
        Message("tool", text_content("sunny"), tool_call_id="c1"),
        Message("assistant", text_content("No.")),
        Message("user", text_content("Please.")),
        Message("assistant", text_content("Never.")),
    )


def test_the_options_are_parsed() -> None:
    tool = {
        "type": "function",
        "function": {"name": "f", "description": "d", "parameters": {"type": "object"}},
    }
    parsed = parse(
        max_tokens=5,
        max_completion_tokens=7,
        temperature=1,
        top_p=0.5,
        seed=-3,
        stop="x",
        tools=[tool],
        tool_choice={"type": "function", "function": {"name": "f"}},
        stream=True,
        stream_options={"include_usage": True},
        reasoning_effort="none",
    )
    generation = parsed.generation
    assert generation.sampling == Sampling(7, 1, 0.5, -3, ("x",))
    assert generation.tools == (Tool("f", "d", {"type": "object"}),)
    assert (generation.tool_choice, generation.thinking) == (NamedTool("f"), "disabled")
    assert (parsed.stream, parsed.store, parsed.echo) == (True, False, {"include_usage": True})


@pytest.mark.parametrize("name", ["none", "auto", "required"])
def test_a_function_with_the_name_of_a_mode_can_be_chosen(name: str) -> None:
    tools = [{"type": "function", "function": {"name": other}} for other in ("f", name)]
    chosen = parse(tools=tools, tool_choice={"type": "function", "function": {"name": name}}).generation
    assert chosen.tool_choice == NamedTool(name)
    assert Generation.from_json(chosen.to_json()) == chosen
    assert parse(tools=tools, tool_choice=name).generation.tool_choice == name


def test_default_values_of_unsupported_fields_are_accepted() -> None:
    parse(
        n=1,
        presence_penalty=0,
        frequency_penalty=0.0,
        logprobs=False,
        function_call="auto",
        modalities=["text"],
        user="u",
        response_format={"type": "text"},
    )


def test_a_tool_of_another_type_is_left_out_and_named() -> None:
    tools = [{"type": "function", "function": {"name": "f"}}, {"type": "web_search"}, {"type": "web_search"}]
    parsed = parse(tools=tools)
    assert ([tool.name for tool in parsed.generation.tools], parsed.ignored_tools) == (["f"], ("web_search",))
    with pytest.raises(SchemaMismatch) as caught:
        parse(tools=[{"type": "custom", "custom": {"name": "f"}}])
    assert (caught.value.code, caught.value.path) == ("unsupported_tool", "tools[0].type")


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"modalities": ["text", "audio"]}, "modalities"),
        ({"audio": {"voice": "alloy", "format": "wav"}}, "audio"),
    ],
)
def test_an_unsupported_field_that_would_change_the_answer_is_refused(
    body: dict[str, Any], param: str
) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse(**body)
    assert (caught.value.code, caught.value.param) == ("unsupported_parameter", param)


@pytest.mark.parametrize(
    ("body", "code", "path"),
    [
        ({"messages": []}, "invalid_request", "messages"),
        ({"messages": [{"role": "human", "content": "x"}]}, "invalid_request", "messages[0].role"),
        ({"messages": [{"role": "user", "content": 1}]}, "invalid_request", "messages[0].content"),
        (
            {"messages": [{"role": "user", "content": [{"type": "input_video", "input_video": {}}]}]},
            "unsupported_input",
            "messages[0].content[0].type",
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": 1}]}]},
            "invalid_request",
            "messages[0].content[0].image_url",
        ),
        ({"stop": ["a"] * 65}, "invalid_request", "stop"),
        ({"stop": ["a", 1]}, "invalid_request", "stop[1]"),
        ({"seed": 1.5}, "invalid_request", "seed"),
        ({"n": 9}, "invalid_request", "n"),
        ({"response_format": {"type": "grammar"}}, "unsupported_parameter", "response_format"),
        ({"response_format": {"type": "json_schema"}}, "invalid_request", "response_format.json_schema"),
        (
            {"tools": [{"type": "function", "function": {"name": "no spaces"}}]},
            "invalid_request",
            "tools[0].function.name",
        ),
    ],
)
def test_a_schema_mismatch_has_the_path_of_the_value(body: dict[str, Any], code: str, path: str) -> None:
    with pytest.raises(SchemaMismatch) as caught:
        parse(**body)
    assert (caught.value.code, caught.value.path) == (code, path)


@pytest.mark.parametrize(
    ("fields", "thinking"),
    [
        ({"thinking": {"type": "disabled"}}, "disabled"),
        ({"thinking": {"type": "enabled"}}, "enabled"),
        ({"chat_template_kwargs": {"enable_thinking": False}}, "disabled"),
        ({"chat_template_kwargs": {"enable_thinking": True, "add_vision_id": 1}}, "enabled"),
        ({"chat_template_kwargs": {}}, "default"),
        ({"chat_template_kwargs": {"enable_thinking": False}, "thinking": "enabled"}, "enabled"),
    ],
)
def test_thinking_is_switched_in_the_forms_of_other_servers(
    http: FlaskClient, fakes: Fakes, fields: dict[str, Any], thinking: str
) -> None:
    body = {"model": "demo", "messages": [{"role": "user", "content": "Hi"}], **fields}
    assert http.post("/v1/chat/completions", json=body).status_code == 200
    assert Generation.from_json(fakes.ledger.only().generation).thinking == thinking


def test_values_that_ask_for_nothing_are_taken(http: FlaskClient, fakes: Fakes) -> None:
    nothing = {
        "logprobs": False,
        "top_logprobs": 0,
        "seed": -1,
        "stop": ["", ""],
        "functions": [],
        "top_k": -1,
    }
    body = {"model": "demo", "messages": [{"role": "user", "content": "Hi"}], **nothing}
    assert http.post("/v1/chat/completions", json=body).status_code == 200
    sampling = Generation.from_json(fakes.ledger.only().generation).sampling
    assert (sampling.top_logprobs, sampling.seed, sampling.stop, sampling.top_k) == (None, None, (), 0)
