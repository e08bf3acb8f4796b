"""The requests to `vllm serve` and its refusals, without vLLM."""

from __future__ import annotations

import json
from dataclasses import replace

import orjson
import pytest

from backends.vllm_serve.adapter import _body, _failure, _refusal
from tests.backends.conftest import ask


def test_max_tokens_is_capped_at_the_context() -> None:
    body = orjson.loads(_body(ask("x", max_tokens=100_000), "generic", served="model", context=2048))
    assert (body["max_tokens"], body["model"], body["stream"]) == (2048, "model", True)
    assert "max_tokens" not in orjson.loads(_body(ask("x"), "generic", served="model", context=2048))


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            "This model's maximum context length is 2048 tokens. However, your prompt contains at least 2049"
            " input tokens, which exceeds this limit even without any output tokens.",
            "the prompt has at least 2049 tokens; 2047 tokens fit",
        ),
        (
            "This model's maximum context length is 2048 tokens. However, your prompt contains 99999"
            " characters (more than 40960 characters, which is the upper bound for 2048 input tokens).",
            "the prompt has 99999 characters; 2047 tokens fit",
        ),
        (
            "The decoder prompt (length 2048) plus the number of requested output tokens (at least 1) is"
            " longer than the maximum model length of 2048.",
            "the prompt has 2048 tokens; 2047 tokens fit",
        ),
    ],
)
def test_a_prompt_that_is_too_long_has_its_own_code_and_message(message: str, expected: str) -> None:
    error = _refusal(400, json.dumps({"error": {"message": message, "code": 400}}).encode(), ask("Hi"))
    assert (error.code, str(error)) == ("context_length_exceeded", expected)


def test_the_servers_message_is_not_passed_on() -> None:
    for status, code in ((400, "invalid_prompt"), (404, "invalid_prompt"), (500, "engine_error")):
        for body in (b'{"error": {"message": "our secret"}}', b'{"error": "our secret"}', b"our secret", b""):
            error = _refusal(status, body, ask("Hi"))
            assert error.code == code
            assert "secret" not in str(error)
    for error_event, code in (
        ({"code": 400}, "invalid_prompt"),
        ({"code": 500}, "engine_error"),
        ("", "engine_error"),
    ):
        error = _failure(
            {**error_event, "message": "our secret"} if isinstance(error_event, dict) else "our secret"
        )
        assert error.code == code
        assert "secret" not in str(error)


def test_log_probabilities_are_asked_for_in_the_form_of_each_endpoint() -> None:
    def sent(**fields: object) -> dict[str, object]:
        body = orjson.loads(_body(ask("x", **fields), "generic", served="model", context=2048))
        return {name: body.get(name) for name in ("logprobs", "top_logprobs")}

    assert sent(top_logprobs=0) == {"logprobs": True, "top_logprobs": 0}
    assert sent(top_logprobs=2) == {"logprobs": True, "top_logprobs": 3}  # the chosen token counts
    assert sent() == {"logprobs": None, "top_logprobs": None}
    prompt = replace(ask("x", top_logprobs=2), messages=(), prompt="x")
    body = orjson.loads(_body(prompt, "generic", served="model", context=2048))
    assert body["logprobs"] == 2
    assert "top_logprobs" not in body
