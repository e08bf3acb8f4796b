"""A conversation that ends with the beginning of its answer, in the APIs that continue it."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient

from generation.generation import Generation, text_content
from tests.support.api_fakes import Fakes

BEGUN = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Well,"}]
ROUTES: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"model": "demo", "messages": BEGUN},
    "/v1/messages": {"model": "demo", "messages": BEGUN, "max_tokens": 9},
    "/api/chat": {"model": "demo", "messages": BEGUN, "stream": False},
}
TOOL = {"type": "function", "function": {"name": "f"}}
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}


@pytest.mark.parametrize("path", ROUTES)
def test_answer_continues_the_last_message_of_the_assistant(
    http: FlaskClient, fakes: Fakes, path: str
) -> None:
    assert http.post(path, json=ROUTES[path]).status_code == 200
    generation = Generation.from_json(fakes.ledger.only().generation)
    assert generation.continue_last
    assert generation.messages[-1].content == text_content("Well,")


@pytest.mark.parametrize(
    "last",
    [
        {"role": "user", "content": "And?"},
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": "So", "tool_calls": [CALL]},
    ],
    ids=["user", "empty", "call"],
)
def test_answer_is_a_new_message_after_any_other_one(
    http: FlaskClient, fakes: Fakes, last: dict[str, Any]
) -> None:
    body = {"model": "demo", "messages": [BEGUN[0], last], "tools": [TOOL]}
    assert http.post("/v1/chat/completions", json=body).status_code == 200
    assert not Generation.from_json(fakes.ledger.only().generation).continue_last


def test_response_is_a_new_message_even_after_one_of_the_assistant(http: FlaskClient, fakes: Fakes) -> None:
    assert http.post("/v1/responses", json={"model": "demo", "input": BEGUN}).status_code == 200
    assert not Generation.from_json(fakes.ledger.only().generation).continue_last


@pytest.mark.parametrize(
    ("path", "fields", "param"),
    [
        ("/v1/chat/completions", {"response_format": {"type": "json_object"}}, "response_format"),
        ("/v1/chat/completions", {"thinking": "enabled"}, "thinking"),
        ("/v1/chat/completions", {"tools": [TOOL], "tool_choice": "required"}, "tool_choice"),
        (
            "/v1/messages",
            {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 2000},
            "thinking",
        ),
    ],
)
def test_field_that_no_continuation_can_have_is_refused(
    http: FlaskClient, fakes: Fakes, path: str, fields: dict[str, Any], param: str
) -> None:
    answer = http.post(path, json={**ROUTES[path], **fields})
    error = answer.json["error"]
    assert (answer.status_code, error["code"], error["param"]) == (400, "unsupported_parameter", param)
    assert not fakes.ledger.jobs


def test_tools_that_may_be_called_pass(http: FlaskClient, fakes: Fakes) -> None:
    body = {**ROUTES["/v1/chat/completions"], "tools": [TOOL]}
    assert http.post("/v1/chat/completions", json=body).status_code == 200
    assert Generation.from_json(fakes.ledger.only().generation).continue_last
