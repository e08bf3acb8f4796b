"""An input that refers to output items of stored responses gets the items, of the same tenant only."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient

from generation.generation import Generation, Message, ToolCall, text_content
from streams.events import End, Event, ReasoningDelta, TextDelta, ToolCallDelta
from tests.api.conftest import OTHER_KEY
from tests.support.api_fakes import Fakes

CALL: list[Event] = [
    ReasoningDelta("hm"),
    TextDelta("I look."),
    ToolCallDelta(0, '{"input": "a"}', "call_a", "look"),
    End("completed", finish_reason="tool_calls"),
]
TOOLS = [{"type": "namespace", "name": "eyes", "tools": [{"type": "custom", "name": "look"}]}]
USER = {"role": "user", "content": "Hi"}
OUTPUT = {"type": "custom_tool_call_output", "call_id": "call_a", "output": "done"}


def ask(http: FlaskClient, given: Any, status: int = 200, **body: Any) -> dict[str, Any]:
    answer = http.post("/v1/responses", json={"model": "demo", "input": given, **body})
    assert answer.status_code == status, answer.json
    found: dict[str, Any] = answer.json
    return found


def references(response: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"type": "item_reference", "id": item["id"]} for item in response["output"]]


def messages_of(fakes: Fakes, response: dict[str, Any]) -> tuple[Message, ...]:
    return Generation.from_json(fakes.ledger.jobs[response["id"]].generation).messages


def test_items_that_an_input_refers_to_are_read_as_if_they_were_sent(http: FlaskClient, fakes: Fakes) -> None:
    fakes.ledger.script = [*CALL]
    first = ask(http, "Hi", tools=TOOLS)
    second = ask(http, [USER, *references(first), OUTPUT], tools=TOOLS, instructions="Be brief.")
    assert messages_of(fakes, second) == (
        Message("system", text_content("Be brief.")),
        Message("user", text_content("Hi")),
        Message(
            "assistant",
            text_content("I look."),
            reasoning="hm",
            tool_calls=(ToolCall("call_a", "eyes__look", '{"input":"a"}'),),
        ),
        Message("tool", text_content("done"), tool_call_id="call_a"),
    )


@pytest.mark.parametrize("route", ["/v1/responses/input_tokens", "/v1/responses"])
def test_references_join_a_conversation_and_a_count(http: FlaskClient, fakes: Fakes, route: str) -> None:
    first = ask(http, "Hi")
    conversation = http.post("/v1/conversations", json={}).json["id"]
    body = {"model": "demo", "input": [*references(first), USER], "conversation": conversation}
    assert http.post(route, json=body).status_code == 200
    asked = Generation.from_json(list(fakes.ledger.jobs.values())[-1].generation)
    assert [message.role for message in asked.messages] == ["assistant", "user"]
    if route == "/v1/responses":
        items = http.get(f"/v1/conversations/{conversation}/items?order=asc").json["data"]
        assert [item["role"] for item in items] == ["assistant", "user", "assistant"]


@pytest.mark.parametrize("id", ["x", "msg_" + "0" * 35, "msg_1"])
def test_an_item_that_no_stored_response_has_is_not_found(http: FlaskClient, id: str) -> None:
    error = ask(http, [USER, {"type": "item_reference", "id": id}], 404)["error"]
    assert (error["code"], error["param"]) == ("not_found", "input[1].id")


def test_an_item_of_another_tenant_or_of_a_response_that_is_not_stored_is_not_found(
    http: FlaskClient,
) -> None:
    mine = references(ask(http, "Hi"))
    headers = {"Authorization": f"Bearer {OTHER_KEY}"}
    answer = http.post("/v1/responses", json={"model": "demo", "input": mine}, headers=headers)
    assert answer.status_code == 404
    ask(http, references(ask(http, "Hi", store=False)), 404)


def test_an_input_refers_to_items_of_a_bounded_number_of_responses(
    http: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.inference.conversations.item_references.MAX_RESPONSES", 1)
    two = [*references(ask(http, "Hi")), *references(ask(http, "Hi"))]
    assert "more than 1 responses" in ask(http, two, 400)["error"]["message"]


@pytest.mark.parametrize(
    ("route", "field", "param"),
    [("/v1/responses/compact", "input", "input"), ("/v1/conversations", "items", "items[0].type")],
)
def test_a_reference_is_refused_where_it_is_not_read(
    http: FlaskClient, route: str, field: str, param: str
) -> None:
    given = [{"type": "item_reference", "id": "msg_" + "0" * 35}]
    error = http.post(route, json={"model": "demo", field: given}).json["error"]
    assert (error["code"], error["param"]) == ("unsupported_input", param)
