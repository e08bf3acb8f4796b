"""A request that continues a stored response gets its conversation, of the same tenant only."""

from __future__ import annotations

from typing import Any

import openai
import pytest
from flask import Flask
from flask.testing import FlaskClient

from api.http.errors import InvalidRequest
from api.inference.conversations.previous_response import add_earlier_conversation
from api.inference.dialects.base import ParsedRequest, ResponseMetadata
from api.inference.dialects.images import MAX_IMAGES
from api.inference.dialects.recordings import MAX_RECORDINGS
from api.inference.responses import dialect as responses
from generation.generation import Generation, Message, ToolCall, text_content
from store.errors import RateLimited
from streams.events import End, Event, ReasoningDelta, TextDelta, ToolCallDelta
from tests.api.conftest import OTHER_KEY
from tests.support.api_fakes import HELLO, Fakes
from tests.support.recordings import audio_part, wav

PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAA"
    "AABJRU5ErkJggg=="
)
CALL: list[Event] = [
    ReasoningDelta("hm"),
    ToolCallDelta(0, '{"a"', "call_a", "f"),
    ToolCallDelta(1, "{}", None, "g"),
    ToolCallDelta(0, ": 1}"),
    End("completed", finish_reason="tool_calls"),
]


def ask(http: FlaskClient, **body: Any) -> dict[str, Any]:
    answer = http.post("/v1/responses", json={"model": "demo", "input": "Hi", **body})
    assert answer.status_code == 200, answer.json
    found: dict[str, Any] = answer.json
    return found


def error_of(http: FlaskClient, previous: str, **body: Any) -> tuple[int, str, str]:
    answer = http.post(
        "/v1/responses", json={"model": "demo", "input": "And?", "previous_response_id": previous, **body}
    )
    error = answer.json["error"]
    return answer.status_code, error["code"], error["param"]


def messages_of(fakes: Fakes, response: dict[str, Any]) -> tuple[Message, ...]:
    return Generation.from_json(fakes.ledger.jobs[response["id"]].generation).messages


def message(role: str, text: str) -> Message:
    return Message(role, text_content(text))


def test_conversation_is_continued_with_the_new_instructions_alone(http: FlaskClient, fakes: Fakes) -> None:
    first = ask(http, instructions="Be brief.", tools=[{"type": "function", "name": "f"}])
    second = ask(http, input="And?", previous_response_id=first["id"], instructions="Be long.")
    third = ask(http, input="Why?", previous_response_id=second["id"])
    hello = [message("user", "Hi"), message("assistant", "Hello.")]
    assert messages_of(fakes, second) == (message("system", "Be long."), *hello, message("user", "And?"))
    assert messages_of(fakes, third) == (
        *hello,
        message("user", "And?"),
        message("assistant", "Hello."),
        message("user", "Why?"),
    )
    assert Generation.from_json(fakes.ledger.jobs[second["id"]].generation).tools == ()
    assert (first["previous_response_id"], third["previous_response_id"]) == (None, second["id"])
    assert http.get(f"/v1/responses/{third['id']}").json == third


def test_system_message_of_the_input_stays_when_the_response_had_no_instructions(
    http: FlaskClient, fakes: Fakes
) -> None:
    first = ask(
        http, input=[{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    )
    second = ask(http, input="And?", previous_response_id=first["id"])
    assert [one.role for one in messages_of(fakes, second)] == ["system", "user", "assistant", "user"]


def test_result_of_a_call_follows_the_call_of_the_earlier_response(http: FlaskClient, fakes: Fakes) -> None:
    fakes.ledger.script = CALL
    first = ask(http)
    fakes.ledger.script = HELLO
    calls = [item for item in first["output"] if item["type"] == "function_call"]
    results = [
        {"type": "function_call_output", "call_id": call["call_id"], "output": "sunny"} for call in calls
    ]
    second = ask(http, input=results, previous_response_id=first["id"])
    assert messages_of(fakes, second) == (
        message("user", "Hi"),
        Message(
            "assistant",
            reasoning="hm",
            tool_calls=(ToolCall("call_a", "f", '{"a": 1}'), ToolCall(calls[1]["call_id"], "g", "{}")),
        ),
        *(Message("tool", text_content("sunny"), tool_call_id=call["call_id"]) for call in calls),
    )


def test_call_that_was_cut_off_is_left_out_and_the_text_before_it_is_not(
    http: FlaskClient, fakes: Fakes
) -> None:
    fakes.ledger.script = [TextDelta("So"), *CALL[1:2], End("incomplete", finish_reason="length")]
    first = ask(http)
    second = ask(http, input="And?", previous_response_id=first["id"])
    assert messages_of(fakes, second)[1] == message("assistant", "So")


@pytest.mark.parametrize(
    "script",
    [[HELLO[0]], [HELLO[0], End("failed", code="engine_crashed")], [End("cancelled", code="cancelled")]],
)
def test_response_without_a_whole_answer_is_refused_when_it_is_continued(
    http: FlaskClient, fakes: Fakes, script: list[Event]
) -> None:
    fakes.ledger.script = script
    first = ask(http, background=True)
    assert error_of(http, first["id"]) == (400, "invalid_request", "previous_response_id")
    assert len(fakes.ledger.jobs) == 1


def test_unknown_foreign_unstored_and_deleted_responses_are_not_found(
    app: Flask, http: FlaskClient, fakes: Fakes
) -> None:
    expected = (400, "previous_response_not_found", "previous_response_id")
    first = ask(http)
    other = app.test_client()
    other.environ_base["HTTP_X_API_KEY"] = OTHER_KEY
    assert error_of(other, first["id"]) == expected
    assert error_of(http, "resp_1") == error_of(http, ask(http, store=False)["id"]) == expected
    chat = {"model": "demo", "messages": [{"role": "user", "content": "x"}]}
    assert error_of(http, http.post("/v1/chat/completions", json=chat).json["id"]) == expected
    http.delete(f"/v1/responses/{first['id']}")
    assert error_of(http, first["id"]) == expected
    admitted = len(fakes.ledger.jobs)
    assert error_of(http, first["id"], stream=True) == expected
    assert len(fakes.ledger.jobs) == admitted


def test_conversation_is_refused_when_it_outgrows_a_body(http: FlaskClient) -> None:
    first = ask(http, input="x" * 600_000)
    assert error_of(http, first["id"], input="x" * 500_000) == (
        413,
        "request_too_large",
        "previous_response_id",
    )
    body = {"model": "demo", "previous_response_id": first["id"], "input": "x" * 500_000}
    message = http.post("/v1/responses", json=body).json["error"]["message"]
    assert "more than 1000000 (api.max_body_bytes): start a new one, or send truncation" in message


def test_images_of_all_requests_count_together() -> None:
    def given(count: int) -> ParsedRequest:
        part = {"type": "input_image", "image_url": PIXEL}
        return responses.parse({"model": "m", "input": [{"role": "user", "content": [part] * count}]})

    earlier = given(MAX_IMAGES - 1).generation
    metadata = ResponseMetadata("resp_1", 0, "m", {})
    joined = add_earlier_conversation(given(1), earlier, metadata, HELLO)
    assert joined.image_params == ("previous_response_id",) * (MAX_IMAGES - 1) + ("input[0].content[0]",)
    with pytest.raises(InvalidRequest) as caught:
        add_earlier_conversation(given(2), earlier, metadata, HELLO)
    assert (caught.value.code, caught.value.param) == ("unsupported_input", "input[0].content[1]")


def test_recordings_of_all_requests_count_together() -> None:
    def given(count: int) -> ParsedRequest:
        content = [audio_part(wav(0.01))] * count
        return responses.parse({"model": "m", "input": [{"role": "user", "content": content}]})

    earlier = given(MAX_RECORDINGS - 1).generation
    metadata = ResponseMetadata("resp_1", 0, "m", {})
    joined = add_earlier_conversation(given(1), earlier, metadata, HELLO)
    assert joined.audio_params == ("previous_response_id",) * (MAX_RECORDINGS - 1) + ("input[0].content[0]",)
    with pytest.raises(InvalidRequest) as caught:
        add_earlier_conversation(given(2), earlier, metadata, HELLO)
    assert (caught.value.code, caught.value.param) == ("unsupported_input", "input[0].content[1]")


def test_input_tokens_are_those_of_the_whole_conversation(http: FlaskClient, fakes: Fakes) -> None:
    first = ask(http)
    body = {"model": "demo", "input": "And?", "previous_response_id": first["id"]}
    assert http.post("/v1/responses/input_tokens", json=body).status_code == 200
    counted = Generation.from_json(list(fakes.ledger.jobs.values())[-1].generation)
    assert counted.count_only
    assert len(counted.messages) == 3


def test_sdk_continues_a_response_and_gets_its_own_error(sdk: openai.OpenAI) -> None:
    first = sdk.responses.create(model="demo", input="Hi")
    with sdk.responses.stream(model="demo", input="And?", previous_response_id=first.id) as stream:
        assert stream.get_final_response().previous_response_id == first.id
    with pytest.raises(openai.BadRequestError) as caught:
        sdk.responses.create(model="demo", input="And?", previous_response_id="resp_0")
    assert caught.value.code == "previous_response_not_found"


def test_replay_of_a_key_is_the_first_answer_when_the_request_continues_a_response(
    http: FlaskClient, fakes: Fakes
) -> None:
    first = ask(http)
    body = {"model": "demo", "input": "And?", "previous_response_id": first["id"]}
    headers = {"Idempotency-Key": "k"}
    second = http.post("/v1/responses", json=body, headers=headers).json
    http.delete(f"/v1/responses/{first['id']}")
    assert http.post("/v1/responses", json=body, headers=headers).json == second
    assert len(fakes.ledger.jobs) == 2


def test_input_items_are_the_whole_conversation_without_its_instructions(
    http: FlaskClient, fakes: Fakes
) -> None:
    fakes.ledger.script = CALL
    first = ask(http, instructions="Be brief.", input=[{"role": "developer", "content": "Hi"}])
    fakes.ledger.script = HELLO
    second = ask(
        http,
        input=[{"type": "function_call_output", "call_id": "call_a", "output": "sunny"}],
        previous_response_id=first["id"],
    )
    url = f"/v1/responses/{second['id']}/input_items"
    listed = http.get(f"{url}?order=asc").json
    items = listed["data"]
    kinds = ["message", "reasoning", "function_call", "function_call", "function_call_output"]
    assert [item["type"] for item in items] == kinds
    assert items[0]["content"] == [{"type": "input_text", "text": "Hi"}]
    assert items[1]["content"] == [{"type": "reasoning_text", "text": "hm"}]
    assert (items[2]["call_id"], items[2]["arguments"]) == ("call_a", '{"a": 1}')
    assert (items[4]["call_id"], items[4]["output"]) == ("call_a", "sunny")
    assert len({item["id"] for item in items}) == len(items)
    assert http.get(url).json["data"] == items[::-1]
    page = http.get(f"{url}?limit=2&after={items[3]['id']}").json
    assert ([item["id"] for item in page["data"]], page["has_more"]) == (
        [items[2]["id"], items[1]["id"]],
        True,
    )


def test_input_items_are_those_of_a_stored_response_of_the_tenant(app: Flask, http: FlaskClient) -> None:
    first, unstored = ask(http), ask(http, store=False)
    other = app.test_client()
    other.environ_base["HTTP_X_API_KEY"] = OTHER_KEY
    for client, id in ((other, first["id"]), (http, unstored["id"]), (http, "resp_1")):
        assert client.get(f"/v1/responses/{id}/input_items").status_code == 404
    for query in ("after=msg_1", "limit=0", "limit=101", "order=up"):
        assert http.get(f"/v1/responses/{first['id']}/input_items?{query}").status_code == 400


def test_sdk_reads_all_pages_of_the_input_items(sdk: openai.OpenAI) -> None:
    given: Any = [
        {"role": "user", "content": "Hi"},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "sunny"},
    ]
    response = sdk.responses.create(model="demo", input=given)
    items = list(sdk.responses.input_items.list(response.id, limit=2, order="asc"))
    assert [item.type for item in items] == ["message", "function_call", "function_call_output"]


def test_earlier_conversation_is_not_read_for_a_tenant_over_its_limits(
    http: FlaskClient, fakes: Fakes
) -> None:
    fakes.ledger.rejection, fakes.ledger.checks_limits = RateLimited("slow", retry_after_s=3), True
    answer = http.post(
        "/v1/responses", json={"model": "demo", "input": "x", "previous_response_id": "resp_of_nobody"}
    )
    assert (answer.status_code, answer.json["error"]["code"]) == (429, "rate_limit_exceeded")
    assert fakes.ledger.refusals == 0
