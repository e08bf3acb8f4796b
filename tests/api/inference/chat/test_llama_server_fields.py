"""The fields of chat requests that only llama-server knows, and what its clients find in the answers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from api.http.errors import InvalidRequest
from api.http.strict_schema import SchemaMismatch
from api.inference.answer.rendered_event import render_event
from api.inference.chat import dialect as chat
from api.inference.chat.schema import ChatRequest
from api.inference.dialects.base import ParsedRequest, ResponseMetadata
from api.inference.dialects.output import final_status
from streams.events import (
    End,
    Event,
    PromptProgress,
    ReasoningDelta,
    ScoredTextDelta,
    TextDelta,
    TokenLogprob,
    ToolCallDelta,
    Usage,
)
from tests.support.event_logs import logs
from tests.support.grammars import EXPONENTIAL
from tests.support.rendering import render_stream

USER = {"role": "user", "content": "Hi"}
BEGUN = [USER, {"role": "assistant", "content": "We"}]
TOOL = {"type": "function", "function": {"name": "f"}}
OF_WEB_UI: dict[str, Any] = {
    "stream": True,
    "return_progress": True,
    "timings_per_token": True,
    "reasoning_format": "auto",
    "reasoning_control": True,
    "chat_template_kwargs": {"enable_thinking": True},
}
PROGRESS = [PromptProgress(20, 4, 4, 0), PromptProgress(20, 4, 20, 30)]
END = End("completed", "stop", usage=Usage(20, 5, 4, 2), run_ms=130, first_ms=30)
LOG: list[Event] = [
    *PROGRESS,
    ReasoningDelta("Hm"),
    ReasoningDelta("."),
    TextDelta("We"),
    TextDelta("ll"),
    END,
]
TIMINGS = {
    "cache_n": 4,
    "prompt_n": 16,
    "prompt_ms": 30.0,
    "prompt_per_token_ms": 30 / 16,
    "prompt_per_second": 16_000 / 30,
    "predicted_n": 5,
    "predicted_ms": 100.0,
    "predicted_per_token_ms": 20.0,
    "predicted_per_second": 50.0,
}


def parse(**body: Any) -> ParsedRequest:
    full = {"model": "demo", "messages": [USER], **body}
    ChatRequest.check(full)
    return chat.parse(full)


def metadata(**body: Any) -> ResponseMetadata:
    return ResponseMetadata("chatcmpl-" + "ab" * 16, 1_700_000_000, "demo", parse(**body).echo)


def frames(log: list[Event], **body: Any) -> list[dict[str, Any]]:
    return [
        frame for _, frame in render_stream(chat.stream_renderer(metadata(**{**body, "stream": True})), log)
    ]


def rendered(log: list[Event], **body: Any) -> bytes:
    """The bytes of a stream, as they are written and read again."""
    renderer = chat.stream_renderer(metadata(**{**body, "stream": True}))
    begun = chat.FRAMING.encode(renderer.begin())
    return begun + b"".join(render_event(renderer, chat.FRAMING, event.encode()) for event in log[:-1])


def deltas(frames: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [choice["delta"] for frame in frames for choice in frame["choices"]]


def content(frames: list[dict[str, Any]], name: str = "content") -> str:
    return "".join(delta.get(name) or "" for delta in deltas(frames))


# ---- the request


def test_a_request_without_such_fields_is_parsed_and_answered_as_before() -> None:
    parsed = parse(stream=True)
    assert parsed.echo == {}
    generation = parsed.generation
    assert not generation.reports_progress
    assert not generation.ends_reasoning
    assert generation.cache_mode == "prefix"
    assert "timings" not in chat.response_object(metadata(), LOG)
    assert not any("timings" in frame or "prompt_progress" in frame for frame in frames(LOG))
    assert frames(LOG) == frames(LOG[2:])


@pytest.mark.rule("llama-server/chat-timings")
@pytest.mark.parametrize(
    "field",
    [
        *({name: True} for name in ("return_progress", "timings_per_token", "reasoning_control")),
        *({"cache_prompt": value} for value in (True, False)),
        *({"n_predict": 5}, {"id_slot": -1}, {"n_probs": 2}, {"samplers": ["top_k"]}),
        *({"reasoning_format": value} for value in ("none", "auto", "deepseek", "deepseek-legacy")),
        *({"thinking_budget_tokens": -1}, {"parse_tool_calls": True}),
    ],
    ids=str,
)
def test_a_field_that_only_llama_server_knows_asks_for_timings(field: dict[str, Any]) -> None:
    assert chat.response_object(metadata(**field), LOG)["timings"] == TIMINGS
    assert frames(LOG, **field)[-1]["timings"] == TIMINGS


@pytest.mark.parametrize(
    "field",
    [
        *({"return_progress": None}, {"n_predict": None}, {"chat_template": None}, {"chat_template": ""}),
        *({"enable_thinking": True}, {"add_generation_prompt": True}, {"sse_ping_interval": 1}),
        *({"chat_template_kwargs": {"enable_thinking": True}}, {"stream_options": {"include_usage": True}}),
    ],
    ids=str,
)
def test_fields_of_other_servers_and_nulls_ask_for_no_timings(field: dict[str, Any]) -> None:
    assert "timings" not in chat.response_object(metadata(**field), LOG)


def test_the_request_of_the_web_ui_asks_for_progress_and_control() -> None:
    parsed = parse(**OF_WEB_UI)
    generation = parsed.generation
    assert (generation.reports_progress, generation.ends_reasoning) == (True, True)
    assert generation.thinking == "enabled"
    assert not parse(**{**OF_WEB_UI, "stream": False}).generation.reports_progress


@pytest.mark.parametrize(
    ("body", "most"),
    [
        ({"n_predict": -1, "max_tokens": 7}, None),
        ({"n_predict": 5, "max_tokens": 7, "max_completion_tokens": 8}, 5),
        ({"n_predict": 0}, 1),
        ({"n_predict": None, "max_tokens": 7}, 7),
    ],
)
def test_n_predict_limits_the_answer(body: dict[str, Any], most: int | None) -> None:
    assert parse(**body).generation.sampling.max_tokens == most


@pytest.mark.parametrize(
    ("body", "alternatives"),
    [({"n_probs": 3}, 3), ({"n_probs": 0}, None), ({"n_probs": 3, "logprobs": True, "top_logprobs": 1}, 1)],
)
def test_n_probs_asks_for_log_probabilities(body: dict[str, Any], alternatives: int | None) -> None:
    assert parse(**body).generation.sampling.top_logprobs == alternatives


@pytest.mark.parametrize(
    ("body", "llama"),
    [
        ({"xtc_probability": 0.5, "xtc_threshold": 0.2}, {"xtc_probability": 0.5, "xtc_threshold": 0.2}),
        ({"xtc_probability": 0.0, "xtc_threshold": 0.2, "mirostat": 0}, None),
        ({"samplers": ["top_k", "temperature"]}, {"samplers": ["top_k", "temperature"]}),
        ({"repeat_last_n": 9}, None),
        ({"repeat_last_n": 9, "presence_penalty": 1}, {"repeat_last_n": 9}),
        ({"repeat_last_n": 9, "repeat_penalty": 1.2}, {"repeat_last_n": 9}),
        (
            {"n_indent": "?", "ignore_eos": True, "post_sampling_probs": True, "n_probs": 1, "min_keep": 0},
            None,
        ),
    ],
)
def test_llama_cpps_samplers_are_those_of_its_own_routes(
    body: dict[str, Any], llama: dict[str, Any] | None
) -> None:
    assert parse(**body).generation.sampling.llama == llama


def test_repeat_penalty_is_another_name_of_the_repetition_penalty() -> None:
    assert parse(repeat_penalty=1.2).generation.sampling.repetition_penalty == 1.2
    both = parse(repeat_penalty=1.2, repetition_penalty=1.3).generation.sampling
    assert both.repetition_penalty == 1.3


@pytest.mark.parametrize(
    "body", [{"dry_sequence_breakers": []}, {"samplers": ["x"] * 33}, {"xtc_threshold": 2}]
)
def test_llama_cpps_samplers_are_bounded(body: dict[str, Any]) -> None:
    with pytest.raises(SchemaMismatch):
        parse(**body)


@pytest.mark.parametrize(("given", "mode"), [(False, "none"), (True, "prefix"), (None, "prefix")])
def test_cache_prompt_is_a_cache_mode(given: bool | None, mode: str) -> None:
    assert parse(cache_prompt=given).generation.cache_mode == mode


@pytest.mark.parametrize(
    ("body", "budget"),
    [
        ({"thinking_budget_tokens": 9}, 9),
        ({"thinking_budget_tokens": 0}, 0),
        ({"thinking_budget_tokens": -1}, None),
        ({"chat_template_kwargs": {"thinking_budget": 4}}, 4),
        ({"chat_template_kwargs": {"thinking_budget": 4}, "thinking_budget_tokens": 9}, 9),
    ],
)
def test_the_budget_of_the_reasoning_is_taken(body: dict[str, Any], budget: int | None) -> None:
    assert parse(**body).generation.thinking_budget == budget


@pytest.mark.rule("llama-server/chat-template-kwargs")
@pytest.mark.parametrize(
    ("body", "thinking", "effort"),
    [
        ({"chat_template_kwargs": {"reasoning_effort": "low"}}, "default", "low"),
        ({"chat_template_kwargs": {"reasoning_effort": "none"}}, "disabled", None),
        (
            {"chat_template_kwargs": {"reasoning_effort": "low"}, "reasoning_effort": "high"},
            "default",
            "high",
        ),
        ({"enable_thinking": False}, "disabled", None),
        ({"enable_thinking": False, "chat_template_kwargs": {"enable_thinking": True}}, "enabled", None),
        ({"chat_template_kwargs": {"preserve_thinking": True, "messages": []}}, "default", None),
    ],
)
def test_known_arguments_of_the_template_are_taken(
    body: dict[str, Any], thinking: str, effort: str | None
) -> None:
    generation = parse(**body).generation
    assert (generation.thinking, generation.reasoning_effort) == (thinking, effort)


@pytest.mark.rule("llama-server/refused-fields")
@pytest.mark.parametrize(
    "body",
    [
        *({"id_slot": 0}, {"id_slot": 3}, {"chat_template": "{{ messages }}"}),
        *({"add_generation_prompt": False}, {"parse_tool_calls": False, "tools": [TOOL]}),
        *({"reasoning_format": "xml"}, {"n_predict": -2}, {"n_probs": 21}, {"thinking_budget_tokens": -2}),
        *(
            {"return_progress": 1},
            {"chat_template_kwargs": {"thinking_budget": "a"}},
            {"grammar": "root ::= 'a'"},
        ),
    ],
    ids=str,
)
def test_a_value_that_would_change_the_answer_is_refused_by_its_name(body: dict[str, Any]) -> None:
    with pytest.raises((InvalidRequest, SchemaMismatch)) as caught:
        parse(**body)
    if isinstance(caught.value, InvalidRequest):
        assert caught.value.param == next(iter(body))


@pytest.mark.rule("llama-server/grammar")
def test_a_grammar_is_taken_for_an_answer_that_nothing_else_constrains() -> None:
    grammar = {"grammar": 'root ::= "yes" | "no"'}
    assert parse(**grammar).generation.answer_grammar == 'g0 ::= "yes" | "no"\n'
    assert parse(**grammar, tools=[TOOL], tool_choice="none").generation.answer_grammar
    for other in ({"tools": [TOOL]}, {"response_format": {"type": "json_object"}}, {"json_schema": {}}):
        with pytest.raises(InvalidRequest, match="must not be set beside") as caught:
            parse(**grammar, **other)
        assert caught.value.param == "grammar"
    with pytest.raises(InvalidRequest, match="in the rule root, two alternatives may begin"):
        parse(grammar=EXPONENTIAL)


def test_a_begun_answer_takes_the_fields_that_name_it() -> None:
    assert parse(
        messages=BEGUN, add_generation_prompt=False, continue_final_message=True
    ).generation.continue_last


def test_a_begun_answer_does_not_reason_whatever_the_argument_of_the_template_is() -> None:
    for body in (OF_WEB_UI, {"chat_template_kwargs": {"thinking": True}}, {"enable_thinking": True}):
        assert parse(messages=BEGUN, **body).generation.thinking == "default"
    assert parse(messages=BEGUN, thinking="enabled").generation.thinking == "enabled", "which is refused"
    off = {"chat_template_kwargs": {"enable_thinking": False}}
    assert parse(messages=BEGUN, **off).generation.thinking == "disabled"


# ---- the answer


def test_the_progress_of_the_prompt_comes_before_the_role() -> None:
    first, second, role, *rest = frames(LOG, **OF_WEB_UI)
    assert first["prompt_progress"] == {"total": 20, "cache": 4, "processed": 4, "time_ms": 0}
    assert second["prompt_progress"] == {"total": 20, "cache": 4, "processed": 20, "time_ms": 30}
    assert (second["timings"]["cache_n"], second["timings"]["prompt_n"]) == (4, 16)
    assert (second["timings"]["prompt_ms"], second["timings"]["predicted_n"]) == (30.0, 0)
    assert deltas([first, second, role]) == [{"role": "assistant", "content": None}] * 3
    assert "prompt_progress" not in role
    assert [next(iter(delta), "") for delta in deltas(rest)] == [
        *("reasoning_content", "reasoning_content", "content", "content", ""),
    ]
    assert rest[-1]["timings"] == TIMINGS
    assert not any("timings" in frame for frame in rest[:-1])


def test_the_role_comes_with_the_first_output_where_no_progress_is_reported() -> None:
    role, *rest = frames([TextDelta("We"), END], **OF_WEB_UI)
    assert deltas([role]) == [{"role": "assistant", "content": None}]
    assert content(rest) == "We"
    assert len(frames([End("failed", code="engine_error")], **OF_WEB_UI)) == 1


def test_the_last_chunk_has_the_usage_and_the_timings() -> None:
    *_, reason, last = frames(LOG, return_progress=True, stream_options={"include_usage": True})
    assert reason["choices"][0]["finish_reason"] == "stop"
    assert "timings" not in reason
    assert (last["choices"], last["usage"]["prompt_tokens"], last["timings"]) == ([], 20, TIMINGS)


def test_several_answers_have_their_timings_together() -> None:
    whole = chat.choices_object([(metadata(n_predict=5), LOG)] * 2, Usage(20, 10, 4))
    assert (whole["timings"]["prompt_n"], whole["timings"]["predicted_n"]) == (16, 10)
    assert (whole["timings"]["prompt_ms"], whole["timings"]["predicted_ms"]) == (60.0, 200.0)


@given(logs())
def test_the_bytes_of_a_stream_are_those_of_its_frames(log: list[Event]) -> None:
    """Texts take a shorter way, once the progress of the prompt is over."""
    for body in ({}, OF_WEB_UI, {"reasoning_format": "none", "return_progress": True}):
        whole = chat.FRAMING.encode([("", frame) for frame in frames(log, **body)])
        assert whole.startswith(rendered(log, **body))


@pytest.mark.rule("llama-server/reasoning-format")
def test_reasoning_is_left_in_the_text_between_markers() -> None:
    message = chat.response_object(metadata(reasoning_format="none"), LOG)["choices"][0]["message"]
    assert message["content"] == "<think>\nHm.\n</think>\n\nWell"
    assert "reasoning_content" not in message
    streamed = frames(LOG, reasoning_format="none")
    assert content(streamed) == message["content"]
    assert content(streamed, "reasoning_content") == ""


@pytest.mark.rule("llama-server/reasoning-format")
@pytest.mark.parametrize("format", ["auto", "deepseek", "deepseek-legacy"])
def test_reasoning_has_a_field_of_its_own_in_the_other_formats(format: str) -> None:
    message = chat.response_object(metadata(reasoning_format=format), LOG)["choices"][0]["message"]
    assert (message["content"], message["reasoning_content"]) == ("Well", "Hm.")
    streamed = frames(LOG, reasoning_format=format)
    assert (content(streamed), content(streamed, "reasoning_content")) == ("Well", "Hm.")


def test_reasoning_in_the_text_is_closed_before_a_call_and_before_scored_text() -> None:
    scored = ScoredTextDelta("We", (TokenLogprob("We", -0.5),))
    for following, text in ((ToolCallDelta(0, "{}", "call_1", "f"), ""), (scored, "We")):
        log: list[Event] = [ReasoningDelta("Hm."), following, END]
        message = chat.response_object(metadata(reasoning_format="none"), log)["choices"][0]["message"]
        assert message["content"] == f"<think>\nHm.\n</think>\n\n{text}"
        assert content(frames(log, reasoning_format="none")) == message["content"]
    cut_off: list[Event] = [ReasoningDelta("Hm"), End("incomplete", "length")]
    assert content(frames(cut_off, reasoning_format="none")) == "<think>\nHm"


@given(logs())
def test_a_stream_with_reasoning_in_the_text_adds_up_to_the_answer_in_one_piece(log: list[Event]) -> None:
    end = log[-1]
    assert isinstance(end, End)
    if final_status(end) in ("failed", "cancelled"):
        return
    whole = chat.response_object(metadata(reasoning_format="none"), log)["choices"][0]["message"]
    assert content(frames(log, reasoning_format="none")) == (whole["content"] or "")
