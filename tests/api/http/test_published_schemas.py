"""The check of each answer against the published schemas, which the fixtures of this folder run."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from flask import Flask

from api.http.anthropic_errors import error_object
from api.http.errors import CODES, ApiError, body_of
from api.inference.chat import dialect as chat
from api.inference.dialects.base import ResponseMetadata
from api.webhooks.signing import event_body
from streams.events import End, TextDelta
from tests.support.published_answers import checked_dialects
from tests.support.published_schemas import (
    EVENT_STREAM,
    JSON,
    JSON_LINES,
    anthropic_check,
    checks_of,
    complaints,
    openai_schema,
)

ERROR = {"error": {"type": "t", "message": "m", "param": None, "code": None}}


def complaints_of(path: str, body: Any, status: int = 200, kind: str = JSON, method: str = "POST") -> str:
    return "\n".join(complaints(checks_of(method, path, status, kind), iter([body])))


@pytest.mark.parametrize(
    ("method", "path", "kind"),
    [
        ("POST", "/v1/responses", JSON),
        ("POST", "/v1/responses", EVENT_STREAM),
        ("GET", "/v1/responses/resp_1", EVENT_STREAM),
        ("GET", "/v1/responses/resp_1/input_items", JSON),
        ("POST", "/v1/responses/compact", JSON),
        ("POST", "/v1/chat/completions", JSON),
        ("POST", "/v1/chat/completions", EVENT_STREAM),
        ("POST", "/v1/completions", EVENT_STREAM),
        ("POST", "/v1/embeddings", JSON),
        ("GET", "/v1/conversations/conv_1/items", JSON),
        ("GET", "/v1/files", JSON),
        ("POST", "/v1/batches/batch_1/cancel", JSON),
        ("GET", "/v1/models/org/plain", JSON),
        ("POST", "/v1/messages", JSON),
        ("POST", "/v1/messages", EVENT_STREAM),
        ("POST", "/v1/messages/count_tokens", JSON),
        ("GET", "/v1/messages/batches", JSON),
        ("GET", "/v1/messages/batches/msgbatch_1/results", JSON_LINES),
    ],
)
def test_an_answer_without_fields_fits_no_published_schema(method: str, path: str, kind: str) -> None:
    checks = checks_of(method, path, 200, kind)
    assert checks
    assert all(check({"type": "response.created"}) is not None for check in checks)


def test_models_have_the_schemas_of_both_vendors() -> None:
    assert len(checks_of("GET", "/v1/models/demo", 200, JSON)) == 2
    assert checks_of("GET", "/v1/models/load/x", 200, JSON) == []


def test_errors_have_the_envelope_of_their_api() -> None:
    assert complaints_of("/v1/files", ERROR, 400) == ""
    assert "code" in complaints_of("/v1/files", {"error": {"type": "t", "message": "m", "param": None}}, 404)
    theirs = {"type": "error", "error": {"type": "not_found_error", "message": "m"}, "request_id": None}
    assert complaints_of("/v1/messages/x", theirs, 404) == ""
    assert "type" in complaints_of("/v1/messages/x", ERROR, 404)


@pytest.mark.parametrize("code", CODES)
def test_each_error_of_the_platform_has_the_envelope_of_each_api(code: str) -> None:
    error = ApiError("m", code=code, param="p")
    assert openai_schema("ErrorResponse")(body_of(error)) is None
    assert anthropic_check("error")(error_object(error)) is None


@pytest.mark.parametrize(
    ("event", "name"),
    [
        ("response.completed", "WebhookResponseCompleted"),
        ("response.incomplete", "WebhookResponseIncomplete"),
        ("response.failed", "WebhookResponseFailed"),
        ("response.cancelled", "WebhookResponseCancelled"),
    ],
)
def test_a_webhook_has_the_published_schema_of_its_event(event: str, name: str) -> None:
    body = orjson.loads(event_body("resp_1", event, 1_700_000_000))
    assert openai_schema(name)(body) is None
    assert openai_schema(name)({**body, "data": {}}) is not None


def test_only_the_known_deviations_are_accepted() -> None:
    chunk = {
        "id": "cmpl-1",
        "object": "text_completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "text": "a", "logprobs": None, "finish_reason": None}],
    }
    assert complaints_of("/v1/completions", chunk, kind=EVENT_STREAM) == ""
    del chunk["choices"][0]["text"]  # type: ignore[attr-defined]
    assert "text" in complaints_of("/v1/completions", chunk, kind=EVENT_STREAM)


def test_each_event_of_an_answer_is_checked(answer_checks: list[str]) -> None:
    app = Flask("a")

    @app.post("/v1/chat/completions")
    def stream() -> Any:
        return 'data: {"id": 1}\n\ndata: [DONE]\n\n', {"Content-Type": EVENT_STREAM}

    assert app.test_client().post("/v1/chat/completions").text
    assert any('"choices" is a required property' in one for one in answer_checks)
    answer_checks.clear()


def test_each_frame_that_a_dialect_renders_is_checked() -> None:
    with checked_dialects() as found:
        metadata = ResponseMetadata("chatcmpl-1", 1, "demo", {})
        chat.response_object(metadata, [TextDelta("a"), End("completed", "stop")])
        assert found == []
        chat.response_object(ResponseMetadata(1, 1, "demo", {}), [End("completed", "stop")])  # type: ignore[arg-type]
        assert found == ['CreateChatCompletionResponse.id: 1 is not of type "string"']
        found.clear()
        chat.stream_renderer(ResponseMetadata("a", "b", "demo", {})).begin()  # type: ignore[arg-type]
        assert len(found) == 1
