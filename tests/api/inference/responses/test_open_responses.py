"""Objects and events of /v1/responses against the published schema of Open Responses.

The package `openresponses-types` has that schema as pydantic types (generated; Apache-2.0).
"""

from __future__ import annotations

from typing import Any

import openresponses_types.types as published
import orjson
import pytest
from hypothesis import given
from pydantic import BaseModel

from api.inference.dialects.base import ResponseMetadata
from api.inference.responses import dialect as responses
from api.inference.responses.schema import ResponsesRequest
from streams.events import End, Event, ReasoningDelta, TextDelta, ToolCallDelta
from tests.support.event_logs import logs
from tests.support.published_schemas import PROGRESS
from tests.support.rendering import render_stream

EVENTS: dict[str, type[BaseModel]] = {
    kind.value: event
    for name, event in vars(published).items()
    if name.endswith("StreamingEvent")
    for kind in event.model_fields["type"].annotation
}
TERMINAL_EVENTS = ("response.completed", "response.incomplete", "response.failed")
TOOL = {"type": "function", "name": "f", "parameters": {"type": "object"}}
REQUESTS: list[dict[str, Any]] = [
    {},
    {"temperature": None, "top_p": None, "top_logprobs": None, "reasoning": None, "metadata": None},
    {"temperature": 0, "top_p": 0.5, "max_output_tokens": 5, "truncation": "auto", "store": False},
    {"background": True, "instructions": "Be brief.", "metadata": {"a": "b"}, "max_tool_calls": 3},
    {"tools": [TOOL], "tool_choice": {"type": "function", "name": "f"}, "parallel_tool_calls": False},
    {"tools": [{"type": "function", "name": "f", "strict": True}], "tool_choice": "required"},
    {"reasoning": {"effort": "high", "summary": "auto"}, "safety_identifier": "a", "prompt_cache_key": "b"},
    {"reasoning": {"effort": "minimal", "summary": "brief"}},
    {"text": {"format": {"type": "text"}}, "service_tier": "flex", "user": "u"},
]
FULL_LOG: list[Event] = [
    ReasoningDelta("hm"),
    TextDelta("a"),
    ToolCallDelta(0, "{}", "call_7", "f"),
    End("completed", "tool_calls"),
]


def metadata_of(**body: Any) -> ResponseMetadata:
    full = {"model": "demo", "input": "x", **body}
    ResponsesRequest.check(full)
    return ResponseMetadata("resp_" + "ab" * 16, 1_700_000_000, "demo", responses.parse(full).echo)


def check(kind: type[BaseModel], value: dict[str, Any]) -> None:
    kind.model_validate_json(orjson.dumps(value), strict=True)


def check_event(frame: dict[str, Any]) -> None:
    if frame["type"] == PROGRESS:
        return
    # the one deviation (docs/api.md): OpenAI's SDK knows these events by a longer name
    name = frame["type"].replace("response.reasoning_text.", "response.reasoning.")
    check(EVENTS[name], {**frame, "type": name})


@pytest.mark.parametrize("body", REQUESTS)
def test_a_response_and_its_events_fit_the_published_schema_for_every_request(body: dict[str, Any]) -> None:
    metadata = metadata_of(**body)
    for pending in ("queued", "in_progress"):
        check(published.ResponseResource, responses.response_object(metadata, [], pending))
    check(published.ResponseResource, responses.response_object(metadata, FULL_LOG))
    for _, frame in render_stream(responses.stream_renderer(metadata), FULL_LOG):
        check_event(frame)


@given(logs())
def test_a_response_and_its_events_fit_the_published_schema_for_every_log(log: list[Event]) -> None:
    metadata = metadata_of()
    check(published.ResponseResource, responses.response_object(metadata, log))
    for _, frame in render_stream(responses.stream_renderer(metadata), log):
        check_event(frame)


@given(logs())
def test_the_terminal_event_has_the_usage_for_every_log(log: list[Event]) -> None:
    *earlier, last = [frame for _, frame in render_stream(responses.stream_renderer(metadata_of()), log)]
    assert last["type"] in TERMINAL_EVENTS
    check(published.Usage, last["response"]["usage"])
    assert not any(frame["type"] in TERMINAL_EVENTS for frame in earlier)


def test_sampling_fields_are_openai_s_defaults_unless_they_are_set() -> None:
    whole = responses.response_object(metadata_of(), FULL_LOG)
    names = ("temperature", "top_p", "presence_penalty", "frequency_penalty", "top_logprobs")
    assert [whole[name] for name in names] == [1, 1, 0, 0, 0]
    whole = responses.response_object(metadata_of(temperature=0, top_p=0.5), FULL_LOG)
    assert (whole["temperature"], whole["top_p"]) == (0, 0.5)


def test_an_effort_is_repeated_when_the_published_schema_knows_it() -> None:
    for effort in published.ReasoningEffortEnum:
        whole = responses.response_object(metadata_of(reasoning={"effort": effort.value}), FULL_LOG)
        assert whole["reasoning"]["effort"] == effort.value
