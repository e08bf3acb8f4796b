"""The Responses dialect: parsing, and that a stream equals the response object."""

from __future__ import annotations

import base64
import re
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai._models import validate_type
from openai.types.responses import Response, ResponseStreamEvent

from api.http.errors import InvalidRequest
from api.http.strict_schema import SchemaMismatch
from api.inference.dialects.base import ResponseMetadata
from api.inference.dialects.output import final_status
from api.inference.responses import dialect as responses
from api.inference.responses.schema import ResponseObject, ResponsesRequest
from generation.generation import Generation, ImagePart, Message, NamedTool, TextPart, ToolCall, text_content
from streams.events import End, Event, ReasoningDelta, TextDelta, ToolCallDelta
from tests.support.event_logs import logs
from tests.support.pictures import data_url, png
from tests.support.published_schemas import PROGRESS
from tests.support.rendering import render_stream

METADATA = ResponseMetadata("resp_" + "ab" * 16, 1_700_000_000, "demo", {})
echoes = st.sampled_from(
    [
        {},
        {"background": True, "metadata": {"a": "b"}, "instructions": "Be brief."},
        {"packs_reasoning": True},
        {"tools": [{"type": "function", "name": "f", "description": None, "parameters": {}, "strict": None}]},
    ]
)


def parse(**body: Any) -> Any:
    full = {"model": "demo", **body}
    ResponsesRequest.check(full)
    return responses.parse(full)


def frames_of(log: list[Event], metadata: ResponseMetadata = METADATA) -> list[dict[str, Any]]:
    return [frame for _, frame in render_stream(responses.stream_renderer(metadata), log)]


def kinds(log: list[Event]) -> list[str]:
    return [frame["type"].removeprefix("response.") for frame in frames_of(log)]


# ---- stream and response object


@given(logs(), echoes)
def test_the_last_frame_holds_the_response_object(log: list[Event], echo: dict[str, Any]) -> None:
    metadata = ResponseMetadata(METADATA.id, METADATA.created_at, METADATA.model, echo)
    assert frames_of(log, metadata)[-1]["response"] == responses.response_object(metadata, log)


@given(logs())
def test_the_deltas_add_up_to_the_items_of_the_response(log: list[Event]) -> None:
    deltas: dict[str, str] = {}
    done: list[dict[str, Any]] = []
    frames = frames_of(log)
    for frame in frames:
        if frame["type"] == "response.output_item.added":
            deltas[frame["item"]["id"]] = ""
        elif frame["type"].endswith(".delta"):
            deltas[frame["item_id"]] += frame["delta"]
        elif frame["type"] == "response.output_item.done":
            done.append(frame["item"])
    output = frames[-1]["response"]["output"]
    whole = {i["id"]: i["arguments"] if "arguments" in i else i["content"][0]["text"] for i in output}
    assert deltas == whole
    assert sorted(done, key=lambda item: item["id"]) == sorted(output, key=lambda item: item["id"])


@given(logs(), echoes)
def test_every_frame_fits_an_sdk_type_in_strict_mode(log: list[Event], echo: dict[str, Any]) -> None:
    metadata = ResponseMetadata(METADATA.id, METADATA.created_at, METADATA.model, echo)
    frames = frames_of(log, metadata)
    assert [frame["sequence_number"] for frame in frames] == list(range(len(frames)))
    for frame in frames:
        if frame["type"] == PROGRESS:
            continue
        event: Any = validate_type(type_=ResponseStreamEvent, value=frame)  # type: ignore[arg-type]
        assert event.type == frame["type"]
    whole = responses.response_object(metadata, log)
    validate_type(type_=Response, value=whole)
    assert ResponseObject().validate(orjson.loads(orjson.dumps(whole))) == {}


@given(logs(), st.integers(0, 12))
def test_a_partial_log_renders_to_the_first_frames_of_the_whole_log(log: list[Event], length: int) -> None:
    part = frames_of(log[:length])
    assert frames_of(log)[: len(part)] == part


def test_reasoning_text_and_calls_are_streamed_in_the_documented_order_of_events() -> None:
    log = [
        ReasoningDelta("hm"),
        TextDelta("a"),
        TextDelta("b"),
        ToolCallDelta(0, '{"x":', "call_7", "f"),
        ToolCallDelta(0, "1}"),
        End("completed", "tool_calls"),
    ]
    assert kinds(log) == [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "reasoning_text.delta",
        "reasoning_text.done",
        "content_part.done",
        "output_item.done",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
        "completed",
    ]


def test_an_empty_answer_has_an_empty_message() -> None:
    (item,) = responses.response_object(METADATA, [End("completed", "stop")])["output"]
    assert item["content"][0]["text"] == ""


def test_a_response_is_incomplete_with_a_reason_when_the_token_limit_is_reached() -> None:
    whole = responses.response_object(METADATA, [TextDelta("a"), End("incomplete", "length")])
    assert whole["status"] == "incomplete"
    assert whole["incomplete_details"] == {"reason": "max_output_tokens"}
    assert whole["output"][0]["status"] == "incomplete"


def test_an_error_message_begins_with_the_platform_s_code() -> None:
    log: list[Event] = [TextDelta("a"), End("failed", code="engine_crashed", message="killed by SIGKILL")]
    assert kinds(log)[-1] == "failed"
    error = responses.response_object(METADATA, log)["error"]
    assert error == {"code": "server_error", "message": "engine_crashed: killed by SIGKILL"}


def test_a_response_is_incomplete_with_a_reason_when_it_was_filtered() -> None:
    whole = responses.response_object(METADATA, [TextDelta("a"), End("incomplete", "content_filter")])
    assert whole["incomplete_details"] == {"reason": "content_filter"}


def test_a_cancelled_stream_ends_incomplete_with_the_status_cancelled() -> None:
    log: list[Event] = [TextDelta("a"), End("cancelled", code="cancelled")]
    assert kinds(log)[-1] == "incomplete"
    assert frames_of(log)[-1]["response"]["status"] == "cancelled"


def test_a_response_is_failed_when_the_platform_removed_it_from_the_queue() -> None:
    end = End("cancelled", code="model_unloading", message="the model is being unloaded")
    assert final_status(end) == "failed"
    assert kinds([end])[-1] == "failed"


def test_a_background_response_is_queued_until_its_first_event() -> None:
    metadata = ResponseMetadata(METADATA.id, METADATA.created_at, METADATA.model, {"background": True})
    names = [name for name, _ in render_stream(responses.stream_renderer(metadata), [TextDelta("a")])][:3]
    assert names == ["response.created", "response.queued", "response.in_progress"]


# ---- parsing


def test_a_text_is_one_user_message_after_the_instructions() -> None:
    generation = parse(input="Hi", instructions="Be brief.").generation
    assert generation.messages == (
        Message("system", text_content("Be brief.")),
        Message("user", text_content("Hi")),
    )


def test_adjacent_items_of_the_assistant_become_one_message() -> None:
    items = [
        {
            "role": "developer",
            "content": [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}],
        },
        {"role": "user", "content": "Weather?"},
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [],
            "content": [{"type": "reasoning_text", "text": "hm"}],
        },
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"type": "function_call", "call_id": "c2", "name": "g", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "sunny"},
        {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "warm"}]},
    ]
    assert parse(input=items).generation.messages == (
        Message("system", (TextPart("a"), TextPart("b"))),
        Message("user", text_content("Weather?")),
        Message(
            "assistant",
            text_content("I look."),
            reasoning="hm",
            tool_calls=(ToolCall("c1", "f", "{}"), ToolCall("c2", "g", "{}")),
        ),
        Message("tool", text_content("sunny"), tool_call_id="c1"),
        Message("tool", text_content("warm"), tool_call_id="c2"),
    )


@pytest.mark.parametrize(
    ("verbosity", "text"),
    [
        ("low", {"format": {"type": "text"}, "verbosity": "low"}),
        ("other", {"format": {"type": "text"}}),
    ],
)
def test_the_verbosity_of_the_text_is_repeated(verbosity: str, text: dict[str, Any]) -> None:
    echo = parse(input="Hi", text={"verbosity": verbosity}).echo
    metadata = ResponseMetadata(METADATA.id, METADATA.created_at, METADATA.model, echo)
    found = responses.response_object(metadata, [End("completed")])
    assert found["text"] == text
    validate_type(type_=Response, value=found)
    both = parse(input="Hi", text={"verbosity": verbosity, "format": {"type": "json_object"}}).echo["text"]
    assert both == text | {"format": {"type": "json_object"}}


def test_images_and_files_in_the_output_of_a_call_are_read() -> None:
    url = data_url(png(2, 3))
    image = {"type": "input_image", "image_url": url, "detail": "low"}
    file = {"type": "input_file", "filename": "a.txt", "file_data": base64.b64encode(b"cold").decode()}
    outputs = [
        {
            "type": "function_call_output",
            "call_id": "a",
            "output": [{"type": "input_text", "text": "x"}, image],
        },
        {"type": "function_call_output", "call_id": "b", "output": [image, file]},
    ]
    intro = "The images in the result of the call {}:\n"
    shown = (
        *(TextPart(intro.format("a")), ImagePart(url, "low")),
        *(TextPart(intro.format("b")), ImagePart(url, "low")),
    )
    results = (
        Message("tool", (TextPart("x"),), tool_call_id="a"),
        Message("tool", (TextPart("a.txt\ncold"),), tool_call_id="b"),
    )
    parsed = parse(input=outputs)
    assert parsed.generation.messages == (*results, Message("user", shown))
    assert parsed.image_params == ("input[0].output[1]", "input[1].output[0]")
    asked = parse(input=[*outputs, {"role": "user", "content": "And?"}]).generation.messages
    assert asked == (*results, Message("user", (*shown, TextPart("And?"))))
    answered = parse(input=[*outputs, {"role": "assistant", "content": "A dot."}]).generation.messages
    assert answered == (*results, Message("user", shown), Message("assistant", text_content("A dot.")))


def test_the_output_of_a_response_can_be_sent_back_as_input() -> None:
    log = [
        ReasoningDelta("hm"),
        TextDelta("Hi."),
        ToolCallDelta(0, "{}", "c1", "f"),
        End("completed", "stop"),
    ]
    output = responses.response_object(METADATA, log)["output"]
    (message,) = parse(input=output).generation.messages
    assert message == Message(
        "assistant", text_content("Hi."), reasoning="hm", tool_calls=(ToolCall("c1", "f", "{}"),)
    )


def test_reasoning_can_be_sent_back_as_its_encrypted_content() -> None:
    asked = parse(input="Hi", include=["reasoning.encrypted_content"])
    metadata = ResponseMetadata(METADATA.id, METADATA.created_at, METADATA.model, asked.echo)
    log = [ReasoningDelta("hm é"), TextDelta("Hi."), End("completed", "stop")]
    found = responses.response_object(metadata, log)
    validate_type(type_=Response, value=found)
    assert "packs_reasoning" not in found
    reasoning, answer = found["output"]
    kept = {name: reasoning[name] for name in ("type", "id", "summary", "encrypted_content")}
    (message,) = parse(input=[kept, answer]).generation.messages
    assert message == Message("assistant", text_content("Hi."), reasoning="hm é")
    other = {**kept, "encrypted_content": "gAAAAA"}  # of another server
    assert parse(input=[other, answer]).generation.messages == (Message("assistant", text_content("Hi.")),)
    with pytest.raises(InvalidRequest) as refused:
        parse(input=[{**kept, "encrypted_content": kept["encrypted_content"][:-1]}, answer])
    assert (refused.value.code, refused.value.param) == (
        "invalid_encrypted_content",
        "input[0].encrypted_content",
    )
    assert "encrypted_content" not in responses.response_object(METADATA, log)["output"][0]


def test_messages_can_be_sent_instead_of_input() -> None:
    messages = [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]
    assert parse(messages=messages).generation.messages == (Message("user", text_content("Hi")),)


def test_thinking_overrides_the_effort_and_an_effort_of_none_disables_it() -> None:
    assert parse(input="x").generation.thinking == "default"
    assert parse(input="x", thinking="enabled", reasoning={"effort": "none"}).generation.thinking == "enabled"
    assert parse(input="x", reasoning={"effort": "none"}).generation.thinking == "disabled"
    assert parse(input="x", reasoning={"effort": "high"}).generation.thinking == "default"


@pytest.mark.parametrize(
    ("effort", "expected"),
    [
        ("minimal", "low"),
        ("low", "low"),
        ("medium", "medium"),
        ("xhigh", "high"),
        ("none", None),
        ("a", None),
    ],
)
def test_effort_is_one_of_those_that_templates_know(effort: str, expected: str | None) -> None:
    assert parse(input="x", reasoning={"effort": effort}).generation.reasoning_effort == expected


@pytest.mark.parametrize("name", ["none", "auto", "required"])
def test_a_function_with_the_name_of_a_mode_can_be_chosen(name: str) -> None:
    tools = [{"type": "function", "name": other} for other in ("f", name)]
    chosen = parse(input="x", tools=tools, tool_choice={"type": "function", "name": name}).generation
    assert chosen.tool_choice == NamedTool(name)
    assert Generation.from_json(chosen.to_json()) == chosen
    assert parse(input="x", tools=tools, tool_choice=name).generation.tool_choice == name


def test_the_fields_for_sampling_are_those_of_chat_completions() -> None:
    asked = {"top_k": 40, "min_p": 0.05, "repetition_penalty": 1.1, "seed": 7, "stop": ["END", ""]}
    sampling = parse(input="hi", **asked).generation.sampling
    assert (sampling.top_k, sampling.min_p, sampling.repetition_penalty) == (40, 0.05, 1.1)
    assert (sampling.seed, sampling.stop) == (7, ("END",))
    assert parse(input="hi", seed=-1, top_k=-1).generation.sampling.seed is None


def test_language_codes_are_parsed() -> None:
    generation = parse(input="x", source_lang_code="auto", target_lang_code="nb").generation
    assert (generation.source_lang_code, generation.target_lang_code) == ("auto", "nb")


def test_the_response_repeats_request_fields() -> None:
    tool = {"type": "function", "name": "f", "parameters": {"type": "object"}}
    parsed = parse(
        input="x", tools=[tool], tool_choice="required", temperature=0, metadata={"a": "b"}, store=False
    )
    whole = responses.response_object(ResponseMetadata("resp_1", 1, "demo", parsed.echo), [End("completed")])
    assert whole["tools"] == [{**tool, "description": None, "strict": None}]
    assert (whole["tool_choice"], whole["temperature"], whole["metadata"]) == ("required", 0, {"a": "b"})
    assert (whole["store"], whole["background"], whole["top_p"]) == (False, False, 1)


def test_an_integer_may_be_written_with_a_fraction_of_zero() -> None:
    tokens = parse(input="x", max_output_tokens=5.0).generation.sampling.max_tokens
    assert (type(tokens), tokens) == (int, 5)


def test_a_tool_message_may_have_no_content() -> None:
    (message,) = parse(messages=[{"role": "tool", "tool_call_id": "c1"}]).generation.messages
    assert message == Message("tool", text_content(""), tool_call_id="c1")


def test_unknown_fields_and_nulls_are_tolerated() -> None:
    parsed = parse(input="x", brand_new=1, temperature=None, tools=None, stream=None, prompt_cache_options={})
    assert parsed.generation.sampling.temperature is None


@pytest.mark.parametrize(
    ("body", "code", "param"),
    [
        ({}, "invalid_request", "input"),
        ({"input": []}, "invalid_request", "input"),
        ({"input": [], "conversation": {"id": "c"}}, "invalid_request", "input"),
        ({"input": "x", "continue_final_message": True}, "invalid_request", "continue_final_message"),
        ({"input": "x", "messages": [{"role": "user", "content": "x"}]}, "invalid_request", "messages"),
        ({"input": "x", "conversation": "c", "store": False}, "invalid_request", "store"),
        ({"input": "x", "background": True, "store": False}, "invalid_request", "background"),
        ({"input": "x", "tool_choice": "required"}, "invalid_request", "tool_choice"),
        (
            {
                "input": "x",
                "tools": [{"type": "function", "name": "f"}],
                "tool_choice": {"type": "function", "name": "g"},
            },
            "invalid_request",
            "tool_choice",
        ),
        ({"messages": [{"role": "user"}]}, "invalid_request", "messages[0].content"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "invalid_request", "messages[0].tool_call_id"),
    ],
)
def test_an_unsupported_request_is_refused_with_its_parameter(
    body: dict[str, Any], code: str, param: str
) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse(**body)
    assert (caught.value.code, caught.value.param) == (code, param)


@pytest.mark.parametrize(
    ("body", "code", "path"),
    [
        ({"input": 5}, "invalid_request", "input"),
        ({"input": [{"role": "user", "content": "a"}, 7]}, "invalid_request", "input[1]"),
        ({"input": [{"content": "a"}]}, "invalid_request", "input[0].role"),
        ({"input": [{"type": "item_reference"}]}, "invalid_request", "input[0].id"),
        (
            {"input": [{"role": "user", "content": [{"type": "input_video", "data": "x"}]}]},
            "unsupported_input",
            "input[0].content[0].type",
        ),
        ({"input": "x", "tools": [{"type": "function"}]}, "invalid_request", "tools[0].name"),
        ({"input": "x", "tool_choice": {"type": "file_search"}}, "unsupported_parameter", "tool_choice"),
        ({"input": "x", "tool_choice": 1}, "invalid_request", "tool_choice"),
        ({"input": "x", "text": {"format": {"type": "grammar"}}}, "unsupported_parameter", "text.format"),
        (
            {"input": "x", "text": {"format": {"type": "json_schema"}}},
            "invalid_request",
            "text.format.schema",
        ),
        ({"input": "x", "temperature": "1"}, "invalid_request", "temperature"),
        ({"input": "x", "temperature": True}, "invalid_request", "temperature"),
        ({"input": "x", "temperature": 2.5}, "invalid_request", "temperature"),
        ({"input": "x", "max_output_tokens": True}, "invalid_request", "max_output_tokens"),
        ({"input": "x", "max_output_tokens": 5.5}, "invalid_request", "max_output_tokens"),
        ({"input": "x", "max_output_tokens": 0}, "invalid_request", "max_output_tokens"),
        ({"input": "x", "stream": "true"}, "invalid_request", "stream"),
        ({"input": "x", "stream": 1}, "invalid_request", "stream"),
        ({"input": "x", "metadata": {"a": 1}}, "invalid_request", "metadata.a"),
        ({"input": "x", "metadata": {str(n): "" for n in range(17)}}, "invalid_request", "metadata"),
        ({"input": "x", "thinking": "maybe"}, "invalid_request", "thinking"),
        ({"input": "x", "model": None}, "invalid_request", "model"),
        ({"input": "x", "model": ""}, "invalid_request", "model"),
        ({"input": "x", "target_lang_code": "no\n"}, "invalid_request", "target_lang_code"),
        ({"input": "x", "target_lang_code": "a"}, "invalid_request", "target_lang_code"),
        ({"input": "x", "source_lang_code": "de-"}, "invalid_request", "source_lang_code"),
    ],
)
def test_a_schema_mismatch_has_the_path_of_the_value(body: dict[str, Any], code: str, path: str) -> None:
    with pytest.raises(SchemaMismatch) as caught:
        parse(**body)
    assert (caught.value.code, caught.value.path) == (code, path)
    assert re.fullmatch(r"[a-zA-Z][^\n]+", caught.value.message)
