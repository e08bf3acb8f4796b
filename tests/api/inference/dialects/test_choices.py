"""Requests for several choices: how they are split into jobs, and that a stream equals the whole answer."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai._models import validate_type
from openai.types import Completion as SdkTextCompletion
from openai.types.chat import ChatCompletion as SdkCompletion
from openai.types.chat import ChatCompletionChunk

from api.http.errors import InvalidRequest
from api.http.strict_schema import SchemaMismatch
from api.inference.chat import dialect as chat
from api.inference.chat.schema import ChatRequest
from api.inference.completions import dialect as completions
from api.inference.completions.schema import CompletionRequest
from api.inference.dialects.base import ParsedRequest, ResponseMetadata
from api.inference.dialects.choices import joined_end, split
from api.inference.dialects.output import final_status
from streams.events import End, Event, TextDelta, ToolCallDelta, Usage
from tests.support.event_logs import logs
from tests.support.rendering import render_stream

METADATA = ResponseMetadata("chatcmpl-" + "ab" * 16, 1_700_000_000, "demo", {"include_usage": True})
USER = {"role": "user", "content": "Hi"}


def parse_chat(**body: Any) -> ParsedRequest:
    full = {"model": "demo", "messages": [USER], **body}
    ChatRequest.check(full)
    return chat.parse(full)


def parse_completion(**body: Any) -> ParsedRequest:
    full = {"model": "demo", "prompt": "Hi", **body}
    CompletionRequest.check(full)
    return completions.parse(full)


def test_the_seeds_of_the_choices_follow_one_another() -> None:
    seeds = [one.generation.sampling.seed for one in split(parse_chat(n=3, seed=7))]
    assert seeds == [7, 8, 9]
    assert [one.generation.sampling.seed for one in split(parse_chat(n=2))] == [None, None]
    last = 2**63 - 1
    assert [one.generation.sampling.seed for one in split(parse_chat(n=2, seed=last))] == [last, -(2**63)]


def test_each_prompt_has_n_choices_that_are_neighbours() -> None:
    requests = split(parse_completion(prompt=["a", "b"], n=2, seed=1, echo=True))
    assert [one.generation.prompt for one in requests] == ["a", "a", "b", "b"]
    assert [one.generation.sampling.seed for one in requests] == [1, 2, 1, 2]
    assert [one.echo["prompt"] for one in requests] == ["a", "a", "b", "b"]


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"prompt": ["a"] * 5, "n": 7}, "prompt"),
        ({"prompt": ["a", ""]}, "prompt[1]"),
    ],
)
def test_prompts_are_refused_when_one_is_empty_or_the_choices_are_too_many(
    body: dict[str, Any], param: str
) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse_completion(**body)
    assert caught.value.param == param


@pytest.mark.parametrize("body", [{"n": 9}, {"n": 0}, {"prompt": ["a"] * 33}])
def test_choices_are_bounded_by_the_schema(body: dict[str, Any]) -> None:
    with pytest.raises(SchemaMismatch):
        parse_completion(**body)


def test_the_usage_counts_each_prompt_once() -> None:
    ends = [
        End("completed", usage=Usage(10, 3, 0, 1), queue_ms=5, run_ms=7),
        End("incomplete", usage=Usage(10, 4, 8, 2), queue_ms=2, run_ms=6),
        End("completed", usage=Usage(20, 1, 19), run_ms=1),
        End("completed", usage=None),
    ]
    joined = joined_end(ends, 2)
    assert joined.usage == Usage(30, 8, cached_tokens=0, reasoning_tokens=3)
    assert (joined.queue_ms, joined.run_ms) == (5, 14)
    assert joined_end(ends[:2], 1).usage == Usage(20, 7, 8, 3)


@pytest.mark.parametrize("dialect", [chat, completions])
@given(several=st.lists(logs(), min_size=2, max_size=3))
def test_the_chunks_of_all_choices_add_up_to_the_whole_answer(
    dialect: Any, several: list[list[Event]]
) -> None:
    ends = [log[-1] for log in several]
    if any(isinstance(end, End) and final_status(end) in ("failed", "cancelled") for end in ends):
        return
    usage = joined_end([end for end in ends if isinstance(end, End)], 1).usage or Usage()
    whole = dialect.choices_object([(METADATA, log) for log in several], usage)
    renderers = dialect.choice_renderers([METADATA] * len(several), 1)
    last: dict[str, Any] = {}
    for index, log in enumerate(several):
        alone = dialect.response_object(METADATA, log)["choices"][0]
        chosen = whole["choices"][index]
        assert chosen["index"] == index
        assert text_of(chosen) == text_of(alone)
        frames = [frame for _, frame in render_stream(renderers[index], log)]
        if index == len(several) - 1:
            last = frames.pop()
        assert all(frame["choices"][0]["index"] == index for frame in frames)
        assert "".join(text_of(frame["choices"][0]) for frame in frames) == text_of(chosen)
        assert frames[-1]["choices"][0]["finish_reason"] == chosen["finish_reason"]
        assert all(frame["usage"] is None and "measurements" not in frame for frame in frames)
    assert (last["choices"], last["usage"]) == ([], whole["usage"])
    check_types(dialect, whole, last)


def text_of(choice: dict[str, Any]) -> str:
    text: str | None = (choice.get("delta") or choice.get("message") or choice).get("content")
    return text or choice.get("text") or ""


def check_types(dialect: ModuleType, whole: dict[str, Any], last: dict[str, Any]) -> None:
    if dialect is chat:
        validate_type(type_=SdkCompletion, value=whole)
        validate_type(type_=ChatCompletionChunk, value=last)
    else:
        finished = [choice for choice in whole["choices"] if choice["finish_reason"] != "tool_calls"]
        validate_type(type_=SdkTextCompletion, value={**whole, "choices": finished})


def test_calls_of_different_choices_have_different_ids() -> None:
    log: list[Event] = [ToolCallDelta(0, "{}", None, "f"), End("completed", "tool_calls")]
    whole = chat.choices_object([(METADATA, log), (METADATA, log)], Usage())
    ids = [choice["message"]["tool_calls"][0]["id"] for choice in whole["choices"]]
    assert len(set(ids)) == 2
    frames = [frame for _, frame in render_stream(chat.choice_renderers([METADATA] * 2, 1)[1], log)]
    opened = [call for frame in frames for call in frame["choices"][0]["delta"].get("tool_calls", ())]
    assert opened[0]["id"] == ids[1]


def test_a_failing_choice_ends_its_stream_with_an_error() -> None:
    log: list[Event] = [TextDelta("a"), End("failed", code="engine_crashed", message="killed")]
    frames = [frame for _, frame in render_stream(chat.choice_renderers([METADATA] * 2, 1)[1], log)]
    assert frames[-1]["error"]["code"] == "engine_crashed"
