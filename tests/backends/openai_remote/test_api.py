"""Requests and responses in OpenAI's two APIs, as a remote server sends and receives them."""

from __future__ import annotations

from typing import Any

import pytest

from backends.base import GenerationError
from generation.generation import (
    AudioPart,
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
from streams.events import ReasoningDelta, TextDelta, ToolCallDelta, Usage
from tests.backends.conftest import Start, ask
from tests.backends.openai_remote.scripted_server import (
    MODEL,
    chat,
    events,
    remote_model,
    scripted_server,
    status,
)
from tests.support.pictures import DOT

STOKER = {"data": [{"id": MODEL, "owned_by": "stoker"}]}
ANSWER = [
    {"type": "response.output_text.delta", "delta": "a"},
    {"type": "response.completed", "response": {}},
]
TALK = (
    Message("system", text_content("Be brief.")),
    Message("user", text_content("Hi")),
    Message("assistant", text_content("Hello"), reasoning="They greet me."),
    Message("user", text_content("Bye")),
)
TOOL = Tool("f", "does f", {"type": "object"})


def sent_body(
    start: Start, generation: Generation, models: object = None, **options: object
) -> dict[str, Any]:
    """The body of the request that the server receives."""
    step = events(*ANSWER) if options.get("api") == "responses" else chat("a")
    listed = status(200, models or {"data": [{"id": MODEL}]})
    with scripted_server(step, list_models=listed) as server:
        launched = start(remote_model(server.url, **options))
        assert launched.answer(generation).text == "a"
    body = server.posts[0].body
    assert isinstance(body, dict)
    return body


@pytest.mark.parametrize("api", ["chat_completions", "responses"])
def test_only_openais_own_fields_are_sent(start: Start, api: str) -> None:
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
    body = sent_body(start, generation, api=api)
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


def test_max_tokens_is_sent_under_the_configured_field_name(start: Start) -> None:
    assert sent_body(start, ask("Hi", max_tokens=9))["max_tokens"] == 9
    body = sent_body(start, ask("Hi", max_tokens=9), max_tokens_field="max_completion_tokens")
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
def test_the_thinking_mode_is_sent_where_it_is_configured(
    start: Start, api: str, thinking: str, expected: dict[str, Any]
) -> None:
    for configured in (True, False):
        body = sent_body(start, ask("Hi", thinking=thinking), api=api, thinking=configured)
        thinking_fields = {
            name: body[name] for name in ("chat_template_kwargs", "reasoning", "thinking") if name in body
        }
        assert thinking_fields == (expected if configured else {})


@pytest.mark.parametrize(
    ("api", "thinking", "expected"),
    [
        ("chat_completions", "default", {"reasoning_effort": "low"}),
        (
            "chat_completions",
            "enabled",
            {"reasoning_effort": "low", "chat_template_kwargs": {"enable_thinking": True}},
        ),
        ("responses", "enabled", {"reasoning": {"effort": "low"}}),
        ("responses", "disabled", {"reasoning": {"effort": "none"}}),
    ],
)
def test_effort_is_sent_where_thinking_is_configured(
    start: Start, api: str, thinking: str, expected: dict[str, Any]
) -> None:
    names = ("chat_template_kwargs", "reasoning", "reasoning_effort")
    for configured in (True, False):
        generation = ask("Hi", thinking=thinking, reasoning_effort="low")
        body = sent_body(start, generation, api=api, thinking=configured)
        assert {name: body[name] for name in names if name in body} == (expected if configured else {})


@pytest.mark.parametrize(
    ("api", "expected"),
    [
        ("chat_completions", {"reasoning_effort": "high"}),
        ("responses", {"reasoning": {"effort": "high"}}),
    ],
)
def test_effort_is_sent_to_another_stoker(start: Start, api: str, expected: dict[str, Any]) -> None:
    body = sent_body(start, ask("Hi", reasoning_effort="high"), STOKER, api=api)
    assert {name: body[name] for name in ("reasoning", "reasoning_effort") if name in body} == expected


SAMPLED: dict[str, Any] = {
    "top_k": 5,
    "min_p": 0.1,
    "presence_penalty": 0.5,
    "frequency_penalty": 0.25,
    "repetition_penalty": 1.5,
    "logit_bias": ((7, 2.0),),
}


def test_sampling_fields_are_sent_under_their_names(start: Start) -> None:
    body = sent_body(start, ask("Hi", **SAMPLED), further_sampling=True)
    assert {name: body[name] for name in SAMPLED} == {**SAMPLED, "logit_bias": {"7": 2.0}}
    assert not SAMPLED.keys() & sent_body(start, ask("Hi")).keys()


def test_log_probabilities_are_asked_for_with_one_alternative_at_least(start: Start) -> None:
    for count, sent in ((0, 1), (3, 3)):
        body = sent_body(start, ask("Hi", top_logprobs=count))
        assert (body["logprobs"], body["top_logprobs"]) == (True, sent)
    assert "logprobs" not in sent_body(start, ask("Hi"))


def test_earlier_reasoning_is_sent_to_servers_that_read_it(start: Start) -> None:
    body = sent_body(start, Generation("model", TALK, allow_remote=True), thinking=True)
    assert body["messages"][2] == {
        "role": "assistant",
        "content": "Hello",
        "reasoning_content": "They greet me.",
    }


@pytest.mark.parametrize("api", ["chat_completions", "responses"])
def test_stokers_own_fields_are_sent_to_another_stoker(start: Start, api: str) -> None:
    generation = Generation(
        "model", TALK, thinking="disabled", source_lang_code="de", target_lang_code="fr", allow_remote=True
    )
    body = sent_body(start, generation, STOKER, api=api, thinking=True)
    assert body["allow_remote"] is True
    assert body["thinking"] == "disabled"
    assert (body["source_lang_code"], body["target_lang_code"]) == ("de", "fr")
    assert "chat_template_kwargs" not in body
    messages = body["input" if api == "responses" else "messages"]
    assert messages[0] == {"role": "system", "content": "Be brief."}, (
        "the other Stoker adds the translation instruction"
    )
    reasoning = {
        "type": "reasoning",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "They greet me."}],
    }
    if api == "responses":
        assert messages[2] == reasoning
    else:
        assert messages[2]["reasoning_content"] == "They greet me."


def test_no_thinking_field_is_sent_to_another_stoker_unless_configured(start: Start) -> None:
    body = sent_body(start, ask("Hi"), STOKER)
    assert "thinking" not in body
    assert body["allow_remote"] is True


def test_a_conversation_becomes_input_items(start: Start) -> None:
    generation = Generation(
        "model",
        (
            Message("system", text_content("Be brief.")),
            Message(
                "user",
                (
                    *(TextPart("What is "), ImagePart(DOT, "low"), TextPart(" this?"), ImagePart(DOT)),
                    AudioPart("UklG", "wav", 5),
                ),
            ),
            Message("assistant", text_content("Let me see."), tool_calls=(ToolCall("c1", "f", '{"a": 1}'),)),
            Message("tool", text_content("a dot"), tool_call_id="c1"),
        ),
        tools=(TOOL, Tool("g")),
        tool_choice=NamedTool("g"),
        allow_remote=True,
    )
    body = sent_body(start, generation, api="responses", image_input=True, audio_input=True)
    assert body["input"] == [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "What is "},
                {"type": "input_image", "image_url": DOT, "detail": "low"},
                {"type": "input_text", "text": " this?"},
                {"type": "input_image", "image_url": DOT, "detail": "auto"},
                {"type": "input_audio", "input_audio": {"data": "UklG", "format": "wav"}},
            ],
        },
        {"role": "assistant", "content": "Let me see."},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"a": 1}'},
        {"type": "function_call_output", "call_id": "c1", "output": "a dot"},
    ]
    parameters = {"type": "object", "properties": {}}
    assert body["tools"] == [{"type": "function", "strict": False, "name": "g", "parameters": parameters}]
    assert body["tool_choice"] == "required"


def test_stop_texts_are_rejected_for_the_responses_api(start: Start) -> None:
    with scripted_server() as server:
        launched = start(remote_model(server.url, api="responses"))
        with pytest.raises(GenerationError) as caught:
            launched.answer(ask("Hi", stop=("x",)))
    assert caught.value.code == "unsupported_parameter"
    assert server.posts == []


# ---- answers of the Responses API


def answer_to(start: Start, *script: dict[str, Any]) -> Any:
    with scripted_server(events(*script)) as server:
        model = remote_model(server.url, api="responses", cache_field="cache_salt", retries=0)
        return start(model).answer(ask("Hi"))


def delta(kind: str, text: str, index: int = 0) -> dict[str, Any]:
    return {"type": f"response.{kind}.delta", "output_index": index, "delta": text}


def end(status: str = "completed", **more: object) -> dict[str, Any]:
    return {"type": f"response.{status}", "response": {"status": status, **more}}


USAGE = {
    "input_tokens": 9,
    "output_tokens": 7,
    "input_tokens_details": {"cached_tokens": 4},
    "output_tokens_details": {"reasoning_tokens": 3},
}


def test_reasoning_and_text_are_separate_deltas_and_the_usage_is_read(start: Start) -> None:
    answer = answer_to(
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


def test_tool_calls_have_names_and_indexes(start: Start) -> None:
    def call(index: int, **item: object) -> dict[str, Any]:
        item = {"type": "function_call", "arguments": "", **item}
        return {"type": "response.output_item.added", "output_index": index, "item": item}

    answer = answer_to(
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
def test_an_incomplete_answer_has_its_finish_reason(start: Start, details: object, reason: str) -> None:
    answer = answer_to(start, delta("output_text", "a"), end("incomplete", incomplete_details=details))
    assert answer.finish.reason == reason
    assert answer.finish.usage == Usage(1, 1, 0, 0)  # the prompt is estimated


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
def test_a_failed_response_has_one_of_stokers_error_codes(
    start: Start, event: dict[str, Any], code: str
) -> None:
    with pytest.raises(GenerationError) as caught:
        answer_to(start, delta("output_text", "a"), event)
    assert caught.value.code == code
    assert "secret" not in str(caught.value)


def test_reasoning_events_named_as_in_open_responses_are_read(start: Start) -> None:
    answer = answer_to(start, delta("reasoning", "thought"), *ANSWER)
    assert answer.deltas == [ReasoningDelta("thought"), TextDelta("a")]


# ---- the prefix cache


@pytest.mark.parametrize("api", ["chat_completions", "responses"])
@pytest.mark.parametrize("field", ["cache_salt", "prompt_cache_key"])
def test_the_cache_namespace_is_sent_in_the_configured_field(start: Start, api: str, field: str) -> None:
    def sent(**fields: object) -> str:
        return str(sent_body(start, ask("Hi", **fields), api=api, cache_field=field)[field])

    assert sent(cache_namespace="a") == sent(cache_namespace="a") == "a"
    assert len({sent(cache_mode="none"), sent(cache_mode="none"), sent(cache_namespace=None)}) == 3


def test_another_stoker_gets_the_cache_namespace_as_its_tag(start: Start) -> None:
    listed = status(200, {"data": [{"id": MODEL, "owned_by": "stoker"}]})
    with scripted_server(chat("a"), chat("a"), list_models=listed) as server:
        launched = start(remote_model(server.url))
        launched.answer(ask("Hi", cache_namespace="a"))
        launched.answer(ask("Hi", cache_namespace="a", cache_mode="none"))
    tagged, alone = (post.headers for post in server.posts)
    assert (tagged.get("x-cache-tag"), tagged.get("x-cache-mode")) == ("a", None)
    assert (alone.get("x-cache-tag"), alone.get("x-cache-mode")) == (None, "none")


def test_a_prompt_without_a_conversation_has_the_salt_of_its_namespace(start: Start) -> None:
    def sent(**fields: Any) -> str:
        prompt = Generation("model", (), prompt="Hi", allow_remote=True, **fields)
        return str(sent_body(start, prompt, cache_field="cache_salt")["cache_salt"])

    assert sent(cache_namespace="a") == sent(cache_namespace="a") == "a"
    assert len({sent(cache_mode="none"), sent(cache_mode="none"), sent(cache_namespace=None)}) == 3


def test_a_prompt_without_a_conversation_has_no_field_that_completions_refuse(start: Start) -> None:
    prompt = Generation("model", (), prompt="Hi", allow_remote=True, cache_namespace="a")
    assert "prompt_cache_key" not in sent_body(start, prompt, cache_field="prompt_cache_key")


@pytest.mark.parametrize(("field", "reported"), [("cache_salt", 4), ("prompt_cache_key", 0), (None, 0)])
def test_cached_tokens_of_a_server_that_may_share_its_cache_are_not_reported(
    start: Start, field: str | None, reported: int
) -> None:
    """They would tell a tenant what others have sent."""
    usage = {"prompt_tokens": 9, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 4}}
    with scripted_server(chat("a", usage=usage)) as server:
        finish = start(remote_model(server.url, cache_field=field)).answer(ask("Hi")).finish
    assert finish is not None
    assert finish.usage == Usage(9, 1, reported, 0)


def test_a_request_without_allow_remote_is_not_sent(start: Start) -> None:
    """A worker may have the newer configuration, in which the model is a remote one."""
    with pytest.raises(GenerationError) as caught:
        sent_body(start, Generation("model", TALK))
    assert caught.value.code == "remote_not_allowed"
