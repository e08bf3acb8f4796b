"""What is sent to a remote server: OpenAI's own fields, and others only where they are understood."""

from __future__ import annotations

from typing import Any

import pytest

from backends.base import GenerationError
from streams.events import ReasoningDelta, TextDelta, ToolCallDelta, Usage
from tasks.generation import (
    Generation,
    ImagePart,
    Message,
    NamedTool,
    Sampling,
    TextPart,
    Tool,
    ToolCall,
    text_content,
)
from tests.backends.conftest import Start, ask
from tests.backends.openai_remote.scripted import MODEL, chat, events, far, scripted, status
from tests.support.pictures import DOT

STOKER = {"data": [{"id": MODEL, "owned_by": "stoker"}]}
SAID = [{"type": "response.output_text.delta", "delta": "a"}, {"type": "response.completed", "response": {}}]
TALK = (
    Message("system", text_content("Be brief.")),
    Message("user", text_content("Hi")),
    Message("assistant", text_content("Hello"), reasoning="They greet me."),
    Message("user", text_content("Bye")),
)
TOOL = Tool("f", "does f", {"type": "object"})


def sent(start: Start, generation: Generation, models: object = None, **options: object) -> dict[str, Any]:
    """The body that reaches the server."""
    step = events(*SAID) if options.get("api") == "responses" else chat("a")
    listed = status(200, models or {"data": [{"id": MODEL}]})
    with scripted(step, list_models=listed) as server:
        launched = start(far(server.url, **options))
        assert launched.answer(generation).text == "a"
    body = server.posts[0].body
    assert isinstance(body, dict)
    return body


@pytest.mark.parametrize("api", ["chat_completions", "responses"])
def test_a_server_gets_openais_own_fields_and_no_others(start: Start, api: str) -> None:
    """OpenAI refuses a request with any other."""
    generation = Generation(
        "model",
        TALK,
        Sampling(9, 0.5, 0.9),
        tools=(TOOL,),
        thinking="enabled",
        target_lang_code="fr",
        allow_remote=True,
    )
    body = sent(start, generation, api=api)
    if api == "responses":
        assert set(body) == {
            *("model", "input", "max_output_tokens", "temperature", "top_p"),
            *("tools", "tool_choice", "stream", "store"),
        }
        assert body["store"] is False
    else:
        assert set(body) == {
            *("model", "messages", "max_tokens", "temperature", "top_p"),
            *("tools", "tool_choice", "stream", "stream_options"),
        }
        assert all(set(message) == {"role", "content"} for message in body["messages"])
    assert body["stream"] is True


def test_the_most_tokens_go_by_the_name_that_the_server_knows(start: Start) -> None:
    assert sent(start, ask("Hi", max_tokens=9))["max_tokens"] == 9
    body = sent(start, ask("Hi", max_tokens=9), max_tokens_field="max_completion_tokens")
    assert body["max_completion_tokens"] == 9
    assert "max_tokens" not in body


@pytest.mark.parametrize(
    ("api", "thinking", "expected"),
    [
        ("chat_completions", "enabled", {"chat_template_kwargs": {"enable_thinking": True}}),
        ("chat_completions", "disabled", {"chat_template_kwargs": {"enable_thinking": False}}),
        ("chat_completions", "default", {}),
        ("responses", "enabled", {"reasoning": {"effort": "medium"}}),
        ("responses", "disabled", {"reasoning": {"effort": "none"}}),
        ("responses", "default", {}),
    ],
)
def test_a_wish_to_think_is_told_where_it_is_configured(
    start: Start, api: str, thinking: str, expected: dict[str, Any]
) -> None:
    for configured in (True, False):
        body = sent(start, ask("Hi", thinking=thinking), api=api, thinking=configured)
        told = {
            name: body[name] for name in ("chat_template_kwargs", "reasoning", "thinking") if name in body
        }
        assert told == (expected if configured else {})


def test_earlier_thoughts_go_to_servers_that_read_them(start: Start) -> None:
    body = sent(start, Generation("model", TALK, allow_remote=True), thinking=True)
    assert body["messages"][2] == {
        "role": "assistant",
        "content": "Hello",
        "reasoning_content": "They greet me.",
    }


@pytest.mark.parametrize("api", ["chat_completions", "responses"])
def test_another_stoker_is_asked_in_its_own_words(start: Start, api: str) -> None:
    generation = Generation(
        "model", TALK, thinking="disabled", source_lang_code="de", target_lang_code="fr", allow_remote=True
    )
    body = sent(start, generation, STOKER, api=api, thinking=True)
    assert body["allow_remote"] is True
    assert body["thinking"] == "disabled"
    assert (body["source_lang_code"], body["target_lang_code"]) == ("de", "fr")
    assert "chat_template_kwargs" not in body
    said = body["input" if api == "responses" else "messages"]
    assert said[0] == {"role": "system", "content": "Be brief."}, "it makes the wish for a language itself"
    thoughts = {
        "type": "reasoning",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "They greet me."}],
    }
    if api == "responses":
        assert said[2] == thoughts
    else:
        assert said[2]["reasoning_content"] == "They greet me."


def test_another_stoker_decides_itself_unless_thinking_is_configured(start: Start) -> None:
    body = sent(start, ask("Hi"), STOKER)
    assert "thinking" not in body
    assert body["allow_remote"] is True


def test_a_conversation_becomes_items(start: Start) -> None:
    generation = Generation(
        "model",
        (
            Message("system", text_content("Be brief.")),
            Message(
                "user",
                (TextPart("What is "), ImagePart(DOT, "low"), TextPart(" this?"), ImagePart(DOT)),
            ),
            Message("assistant", text_content("Let me see."), tool_calls=(ToolCall("c1", "f", '{"a": 1}'),)),
            Message("tool", text_content("a dot"), tool_call_id="c1"),
        ),
        tools=(TOOL, Tool("g")),
        tool_choice=NamedTool("g"),
        allow_remote=True,
    )
    body = sent(start, generation, api="responses", image_input=True)
    assert body["input"] == [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "What is "},
                {"type": "input_image", "image_url": DOT, "detail": "low"},
                {"type": "input_text", "text": " this?"},
                {"type": "input_image", "image_url": DOT, "detail": "auto"},
            ],
        },
        {"role": "assistant", "content": "Let me see."},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"a": 1}'},
        {"type": "function_call_output", "call_id": "c1", "output": "a dot"},
    ]
    parameters = {"type": "object", "properties": {}}
    assert body["tools"] == [{"type": "function", "strict": False, "name": "g", "parameters": parameters}]
    assert body["tool_choice"] == "required"


def test_stop_texts_are_refused_where_the_server_takes_none(start: Start) -> None:
    with scripted() as server:
        launched = start(far(server.url, api="responses"))
        with pytest.raises(GenerationError) as caught:
            launched.answer(ask("Hi", stop=("x",)))
    assert caught.value.code == "unsupported_parameter"
    assert server.posts == []


# ---- answers of the Responses API


def told(start: Start, *script: dict[str, Any]) -> Any:
    with scripted(events(*script)) as server:
        return start(far(server.url, api="responses", retries=0)).answer(ask("Hi"))


def delta(kind: str, text: str, place: int = 0) -> dict[str, Any]:
    return {"type": f"response.{kind}.delta", "output_index": place, "delta": text}


def end(status: str = "completed", **more: object) -> dict[str, Any]:
    return {"type": f"response.{status}", "response": {"status": status, **more}}


USAGE = {
    "input_tokens": 9,
    "output_tokens": 7,
    "input_tokens_details": {"cached_tokens": 4},
    "output_tokens_details": {"reasoning_tokens": 3},
}


def test_thoughts_and_text_are_kept_apart_and_the_usage_is_read(start: Start) -> None:
    answer = told(
        start,
        {"type": "response.created", "response": {"status": "in_progress"}},
        delta("reasoning_summary_text", "First"),
        {"type": "response.reasoning_summary_part.added", "summary_index": 1},
        delta("reasoning_summary_text", "then"),
        delta("reasoning_text", " raw"),
        {"type": "response.something_new", "delta": 7},
        delta("output_text", "4"),
        delta("refusal", " no"),
        end(usage=USAGE),
    )
    assert answer.reasoning == "First\n\nthen raw"
    assert answer.text == "4 no"
    assert answer.finish.reason == "stop"
    assert answer.finish.usage == Usage(9, 7, 4, 3)


def test_calls_come_with_their_names_and_numbers(start: Start) -> None:
    def call(place: int, **item: object) -> dict[str, Any]:
        item = {"type": "function_call", "arguments": "", **item}
        return {"type": "response.output_item.added", "output_index": place, "item": item}

    answer = told(
        start,
        {"type": "response.output_item.added", "output_index": 0, "item": {"type": "reasoning"}},
        call(1, call_id="c1", name="f"),
        delta("function_call_arguments", '{"a"', 1),
        delta("function_call_arguments", ":1}", 1),
        {"type": "response.function_call_arguments.done", "output_index": 1, "arguments": '{"a":1}'},
        call(2, call_id="c2", name="g"),
        {"type": "response.function_call_arguments.done", "output_index": 2, "arguments": "{}"},
        end(usage=USAGE),
    )
    assert answer.deltas == [
        ToolCallDelta(0, "", "c1", "f"),
        ToolCallDelta(0, '{"a"'),
        ToolCallDelta(0, ":1}"),
        ToolCallDelta(1, "", "c2", "g"),
        ToolCallDelta(1, "{}"),
    ]
    assert answer.finish.reason == "tool_calls"


@pytest.mark.parametrize(
    ("details", "reason"),
    [
        ({"reason": "max_output_tokens"}, "length"),
        ({"reason": "content_filter"}, "content_filter"),
        (None, "length"),
    ],
)
def test_an_answer_that_was_cut_off_says_by_what(start: Start, details: object, reason: str) -> None:
    answer = told(start, delta("output_text", "a"), end("incomplete", incomplete_details=details))
    assert answer.finish.reason == reason
    assert answer.finish.usage == Usage(1, 1, 0, 0)  # of the prompt, a guess


@pytest.mark.parametrize(
    ("event", "code"),
    [
        (end("failed", error={"code": "server_error", "message": "secret"}), "engine_error"),
        (end("failed", error={"code": "invalid_prompt", "message": "secret"}), "invalid_prompt"),
        (
            end("failed", error={"code": "invalid_prompt", "message": "context_length_exceeded: 9 fit"}),
            "context_length_exceeded",
        ),
        (end("failed", error={"code": "rate_limit_exceeded"}), "remote_rate_limited"),
        (end("failed", error=None), "engine_error"),
        ({"type": "error", "code": "server_error", "message": "secret"}, "engine_error"),
        ({"type": "error", "error": {"code": "rate_limit_exceeded"}}, "remote_rate_limited"),
        ({"type": "response.incomplete", "response": {"status": "cancelled"}}, "engine_error"),
        ({"type": "response.completed"}, "engine_error"),
        ({"type": "response.output_text.delta", "delta": 7}, "engine_error"),
        (delta("function_call_arguments", "{", 3), "engine_error"),
        ({"no": "type"}, "engine_error"),
    ],
)
def test_a_failure_has_a_code_of_ours(start: Start, event: dict[str, Any], code: str) -> None:
    with pytest.raises(GenerationError) as caught:
        told(start, delta("output_text", "a"), event)
    assert caught.value.code == code
    assert "secret" not in str(caught.value)


def test_thoughts_may_go_by_the_name_that_open_responses_gives_them(start: Start) -> None:
    answer = told(start, delta("reasoning", "thought"), *SAID)
    assert answer.deltas == [ReasoningDelta("thought"), TextDelta("a")]


def test_a_request_that_allows_no_remote_model_goes_nowhere(start: Start) -> None:
    """A worker may know of a move before the API does."""
    with pytest.raises(GenerationError) as caught:
        sent(start, Generation("model", TALK))
    assert caught.value.code == "remote_not_allowed"
