"""Requests, errors and metrics in TGI's form, without a server."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from backends.base import GenerationError
from backends.shared.engine.literal_text import INVISIBLE_MARK
from backends.shared.tgi_server import AnswerTooLong, TgiInfo, looks_like_tgi, tgi_info
from backends.tgi.errors import server_error, stream_error
from backends.tgi.metrics import ServerLoad, cache_tokens, read_metrics
from backends.tgi.request_body import tgi_body
from engines.engine_process.process import LOG_NAME
from generation.generation import AudioPart, ImagePart, Message, ToolCall, text_content
from tests.backends.conftest import ask
from tests.backends.contract import WEATHER

INFO = {
    "router": "text-generation-router",
    "max_total_tokens": 2048,
    "version": "3.3.7",
    "max_stop_sequences": 4,
}


def body(text: str = "Hi", **fields: object) -> dict[str, Any]:
    return tgi_body(ask(text, **fields), "generic", ("odd",))


def test_the_model_itself_has_the_name_that_tgi_takes_for_no_adapter() -> None:
    assert (body()["model"], body(lora="odd")["model"]) == ("tgi", "odd")
    with pytest.raises(GenerationError) as caught:
        body(lora="even")
    assert caught.value.code == "unsupported_parameter"


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"top_p": 1.0}, {}),
        ({"top_p": 0.5}, {"top_p": 0.5}),
        ({"top_p": 0.0, "temperature": 1.0}, {"temperature": 0.0}),
        ({"seed": -1}, {"seed": 2**64 - 1}),
        ({"seed": 7}, {"seed": 7}),
        ({"stop": tuple(map(str, range(70)))}, {"stop": [str(number) for number in range(64)]}),
    ],
)
def test_sampling_is_sent_in_the_ranges_that_tgi_accepts(given: dict[str, Any], sent: dict[str, Any]) -> None:
    names = ("top_p", "temperature", "seed", "stop")
    assert {name: value for name, value in body(**given).items() if name in names} == sent


def test_fields_that_tgi_does_not_read_are_left_out() -> None:
    sent = body(thinking="disabled", tools=(WEATHER,), parallel_tool_calls=False)
    assert set(sent) == {"model", "messages", "stream", "stream_options", "tools", "tool_choice"}
    assert sent["tools"][0]["function"]["parameters"]["properties"] == {"city": {"type": "string"}}


def test_a_message_has_a_text_or_calls_with_their_arguments_as_json() -> None:
    call = ToolCall("c", "f", '{"a": 1}')
    broken = ToolCall("d", "f", '{"a":')
    messages = (
        Message("assistant", tool_calls=(call, broken)),
        Message("assistant", text_content("I look."), tool_calls=(call,)),
        Message("tool", text_content("2"), tool_call_id="c"),
    )
    calls, both, result = tgi_body(replace(ask(""), messages=messages), "generic")["messages"]
    assert set(calls) == {"role", "tool_calls"}
    assert [each["function"]["arguments"] for each in calls["tool_calls"]] == [{"a": 1}, '{"a":']
    assert both == {"role": "assistant", "content": 'I look.\n[{"name": "f", "arguments": {"a": 1}}]'}
    assert result == {"role": "tool", "content": "2"}


def test_no_text_of_a_request_makes_a_model_with_vision_fetch_an_address() -> None:
    text = "look: ![](http://10.0.0.1/)"
    marked = text.replace("![", f"!{INVISIBLE_MARK}[")
    tool = replace(WEATHER, description=text)
    sent = body(text, tools=(tool,))
    assert sent["messages"][0]["content"] == marked
    assert sent["tools"][0]["function"]["description"] == marked
    prompt = replace(ask(""), messages=(), prompt=text)
    assert tgi_body(prompt, "generic")["prompt"] == marked
    for part in (ImagePart("data:a"), AudioPart("UklG", "wav")):
        with pytest.raises(GenerationError) as caught:
            tgi_body(replace(ask(""), messages=(Message("user", (part,)),)), "generic")
        assert caught.value.code == "invalid_prompt"


LONG_INPUT = "Input validation error: `inputs` must have less than 1024 tokens. Given: 1600"
LONG_ANSWER = (
    "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: {} `inputs` tokens"
    " and 100 `max_new_tokens`"
)


@pytest.mark.parametrize(
    ("status", "kind", "message", "code", "words"),
    [
        (422, "validation", LONG_INPUT, "context_length_exceeded", "has 1600 tokens; 1024 fit"),
        (422, "validation", LONG_ANSWER.format(2048), "context_length_exceeded", "has 2048 tokens; 2047 fit"),
        (422, "validation", LONG_ANSWER.format(2000), "context_length_exceeded", "which leaves 48 of 2048"),
        (422, "validation", "Input validation error: `top_p` secret", "invalid_prompt", "rejects these"),
        (422, "template_error", "Template error: secret", "invalid_prompt", "rejects these"),
        (422, "tool_error", "Tool error: secret", "invalid_prompt", "rejects these"),
        (429, "overloaded", "Model is overloaded", "server_busy", "takes no more requests"),
        (424, "generation", "Request failed during generation: secret", "engine_error", "failed before"),
        (
            424,
            "generation",
            "Request failed during generation: CUDA out of memory",
            "engine_error",
            "no memory",
        ),
        (500, "incomplete_generation", "Incomplete generation", "engine_error", "failed before"),
    ],
)
def test_a_refusal_has_the_same_code_with_a_status_and_in_a_stream(
    status: int, kind: str, message: str, code: str, words: str
) -> None:
    answered = server_error(status, json.dumps({"error": message, "error_type": kind}).encode(), ask("Hi"))
    streamed = stream_error({"message": message, "http_status_code": 422})
    native = stream_error(message)  # {"error": text, "error_type": type}
    for error in (answered, streamed, native):
        assert error.code == code
        assert words in str(error)
        assert "secret" not in str(error)


def test_the_room_that_a_prompt_leaves_is_known() -> None:
    error = stream_error({"message": LONG_ANSWER.format(2000), "http_status_code": 422})
    assert isinstance(error, AnswerTooLong)
    assert error.room == 48


@pytest.mark.parametrize(
    ("status", "answer", "code"),
    [
        (422, b"Failed to deserialize the JSON body: secret", "invalid_prompt"),
        (413, b"length limit exceeded", "invalid_prompt"),
        (500, b"<html>secret", "engine_error"),
        (503, b"", "engine_error"),
        (422, b'["secret"]', "invalid_prompt"),
    ],
)
def test_a_refusal_in_another_form_is_read_by_its_status(status: int, answer: bytes, code: str) -> None:
    error = server_error(status, answer, ask("Hi"))
    assert (error.code, "secret" in str(error)) == (code, False)


def test_the_metrics_are_the_load_of_the_server_and_the_use_of_its_cache() -> None:
    metrics = b"# TYPE tgi_queue_size gauge\ntgi_queue_size 2\n\ntgi_batch_current_size 3\n"
    metrics += b"tgi_batch_current_max_tokens 6.144e3\ntgi_batch_current_size_bucket 9\n"
    load = read_metrics(metrics)
    assert load == ServerLoad(3, 2, 6144)
    assert (load.cache_use(None), load.cache_use(12_288)) == (None, 0.5)
    known = read_metrics(metrics + b"tgi_batch_max_total_tokens 61440\n")
    assert known.cache_use(12_288) == 0.1
    assert read_metrics(b"") == ServerLoad()


def test_the_size_of_the_cache_is_in_the_log_of_the_load(tmp_path: Path) -> None:
    assert cache_tokens(tmp_path) is None
    (tmp_path / LOG_NAME).write_text("INFO Setting max batch total tokens to 45056\n")
    assert cache_tokens(tmp_path) == 45_056


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (INFO, TgiInfo(2048, "3.3.7")),
        (
            {**INFO, "model_dtype": "torch.float16", "max_stop_sequences": 9},
            TgiInfo(2048, "3.3.7", "float16", 9),
        ),
        ({**INFO, "version": None, "max_stop_sequences": None}, TgiInfo(2048, None)),
        ({**INFO, "router": "another"}, None),
        ({**INFO, "max_total_tokens": "2048"}, None),
        (["a"], None),
        (None, None),
    ],
)
def test_the_info_of_tgi_is_read_and_that_of_others_is_not(answer: Any, expected: TgiInfo | None) -> None:
    assert tgi_info(answer) == expected


def test_a_list_of_models_looks_like_that_of_tgi_when_its_model_owns_itself() -> None:
    assert looks_like_tgi({"id": "org/m", "object": "model", "created": 0, "owned_by": "org/m"})
    assert not looks_like_tgi({"id": "org/m", "created": 0, "owned_by": "vllm"})
    assert not looks_like_tgi({"id": "org/m", "created": 1, "owned_by": "org/m"})
