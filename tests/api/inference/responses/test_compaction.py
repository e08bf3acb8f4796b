"""A conversation is compacted by a job of the model, and its summary is input of later requests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import openai
import pytest
from flask import Flask
from flask.testing import FlaskClient

from api.inference.dialects.sealed_summaries import HEADING
from api.inference.responses.compaction import INSTRUCTION, SUMMARY_TOKENS
from config.settings import ModelDefinition, Settings
from generation.generation import Generation, Message, text_content
from streams.events import End, Event, ReasoningDelta, TextDelta, Usage
from tests.api.conftest import KEY, OTHER_KEY
from tests.support.api_fakes import HELLO, Fakes
from tests.support.recordings import audio_part, wav

SUMMARY: list[Event] = [
    ReasoningDelta("Let me see."),
    TextDelta("They talk "),
    TextDelta("of Oslo.\n"),
    End("completed", "stop", usage=Usage(70, 20, cached_tokens=3, reasoning_tokens=4)),
]
PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAA"
    "AABJRU5ErkJggg=="
)
CONVERSATION: list[dict[str, Any]] = [
    {"role": "developer", "content": "Be brief."},
    {"role": "user", "content": "Where is Oslo?"},
    {"type": "function_call", "call_id": "c", "name": "atlas", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c", "output": "Norway"},
    {"role": "assistant", "content": "In Norway."},
    {
        "role": "user",
        "content": [{"type": "input_text", "text": "And "}, {"type": "input_text", "text": "Rome?"}],
    },
    {"role": "assistant", "content": "In Italy."},
]


@pytest.fixture
def settings(settings: Settings) -> Settings:
    seeing = ModelDefinition("seeing", "stub", options={"stub_image_input": True, "stub_audio_input": True})
    return replace(settings, models={**settings.models, "seeing": seeing})


@pytest.fixture(autouse=True)
def _summary(fakes: Fakes) -> None:
    fakes.ledger.script = SUMMARY


@pytest.fixture
def client(port: int) -> Iterator[openai.OpenAI]:
    """OpenAI's client as it is used; its types lack the messages of the user that OpenAI's answers have."""
    with openai.OpenAI(api_key=KEY, base_url=f"http://127.0.0.1:{port}/v1", max_retries=0) as client:
        yield client


def compact(http: FlaskClient, **body: Any) -> dict[str, Any]:
    answer = http.post("/v1/responses/compact", json={"model": "demo", **body})
    assert answer.status_code == 200, answer.json
    found: dict[str, Any] = answer.json
    return found


def refusal(answer: Any) -> tuple[int, str, str | None]:
    error = answer.json["error"]
    return answer.status_code, error["code"], error["param"]


def respond(http: FlaskClient, *items: dict[str, Any]) -> Any:
    return http.post("/v1/responses", json={"model": "demo", "input": list(items)})


def generation_of(fakes: Fakes, id: str) -> Generation:
    return Generation.from_json(fakes.ledger.jobs[id].generation)


def user(text: str) -> Message:
    return Message("user", text_content(text))


def test_answer_has_the_messages_of_the_user_and_a_sealed_summary(http: FlaskClient, fakes: Fakes) -> None:
    answer = compact(http, input=CONVERSATION, instructions="Speak English.")
    hex_id = answer["id"].removeprefix("resp_")
    *kept, item = answer["output"]
    assert [(one["type"], one["role"], [part["text"] for part in one["content"]]) for one in kept] == [
        ("message", "system", ["Be brief."]),
        ("message", "user", ["Where is Oslo?"]),
        ("message", "user", ["And ", "Rome?"]),
    ]
    assert set(item) == {"id", "type", "encrypted_content"}
    assert (item["id"], item["type"]) == (f"cmp_{hex_id}", "compaction")
    assert "Oslo" not in item["encrypted_content"]
    assert (answer["object"], answer["usage"]["total_tokens"]) == ("response.compaction", 90)
    assert answer["usage"]["output_tokens_details"] == {"reasoning_tokens": 4}
    asked = generation_of(fakes, answer["id"])
    assert asked.messages[0] == Message("system", text_content("Speak English."))
    assert asked.messages[-1] == user(INSTRUCTION)
    assert (asked.sampling.max_tokens, asked.tools) == (SUMMARY_TOKENS, ())
    assert http.get(f"/v1/responses/{answer['id']}").status_code == 404


def test_summary_is_the_models_own_message_in_a_later_request(http: FlaskClient, fakes: Fakes) -> None:
    answer = compact(http, input=CONVERSATION)
    response = respond(http, *answer["output"], {"role": "user", "content": "And Bern?"})
    assert response.status_code == 200
    system, earlier, summary, last = generation_of(fakes, response.json["id"]).messages
    assert (system.role, earlier.role, earlier.text) == ("system", "user", "Where is Oslo?\n\nAnd Rome?")
    assert summary == Message("assistant", text_content(f"{HEADING}\n\nThey talk of Oslo."))
    assert last == user("And Bern?")


def test_instruction_is_a_part_of_the_last_message_when_that_is_the_users(
    http: FlaskClient, fakes: Fakes
) -> None:
    image = {"type": "input_image", "image_url": PIXEL}
    for content in ("Where is Oslo?", [{"type": "input_text", "text": "See:"}, image, audio_part(wav())]):
        answer = compact(http, model="seeing", input=[{"role": "user", "content": content}])
        (message,) = generation_of(fakes, answer["id"]).messages
        assert message.text.endswith(f"\n\n{INSTRUCTION}")
        kept, _ = answer["output"]
        assert kept["content"][0]["text"] in ("Where is Oslo?", "See:")
        types = ["input_image"] * len(message.images) + ["input_audio"] * len(message.recordings)
        assert [part["type"] for part in kept["content"]][1:] == types
    assert compact(http, input="Hi")["output"][0]["content"] == [{"type": "input_text", "text": "Hi"}]


def test_stored_response_is_compacted_with_its_conversation(http: FlaskClient, fakes: Fakes) -> None:
    fakes.ledger.script = HELLO
    first = http.post(
        "/v1/responses", json={"model": "demo", "input": "Hi", "instructions": "Be brief."}
    ).json["id"]
    fakes.ledger.script = SUMMARY
    alone = compact(http, previous_response_id=first)
    assert generation_of(fakes, alone["id"]).messages == (
        user("Hi"),
        Message("assistant", text_content("Hello.")),
        user(INSTRUCTION),
    )
    more = compact(http, previous_response_id=first, input="And?", instructions="Be long.")
    texts = [[part["text"] for part in item["content"]] for item in more["output"][:-1]]
    assert texts == [["Hi"], ["And?"]]
    unknown = http.post("/v1/responses/compact", json={"model": "demo", "previous_response_id": "resp_0"})
    assert refusal(unknown) == (400, "previous_response_not_found", "previous_response_id")


def test_compacted_conversation_is_compacted_again(http: FlaskClient, fakes: Fakes) -> None:
    first = compact(http, input=CONVERSATION)
    again = compact(http, input=[*first["output"], {"role": "user", "content": "And Bern?"}])
    assert [message.role for message in generation_of(fakes, again["id"]).messages] == [
        *("system", "user", "assistant", "user")
    ]
    assert [item["type"] for item in again["output"]] == ["message", "message", "message", "compaction"]


def test_foreign_or_changed_summary_is_refused_before_the_queue(
    app: Flask, http: FlaskClient, fakes: Fakes
) -> None:
    item = compact(http, input="Hi")["output"][-1]
    sealed = item["encrypted_content"]
    question = {"role": "user", "content": "And?"}
    expected = (400, "invalid_encrypted_content", "input[1].encrypted_content")
    for content in (sealed[:-8], sealed[:9] + ("A" if sealed[9] != "A" else "B") + sealed[10:], "gAAAAA=="):
        assert refusal(respond(http, question, {**item, "encrypted_content": content}, question)) == expected
    other = app.test_client()
    other.environ_base["HTTP_X_API_KEY"] = OTHER_KEY
    assert refusal(respond(other, question, item, question)) == expected
    assert len(fakes.ledger.jobs) == 1
    assert respond(http, question, item, question).status_code == 200
    for bad in ({"type": "compaction"}, {"type": "compaction", "encrypted_content": 7}):
        code, error, param = refusal(respond(http, bad))
        assert (code, error, param) == (400, "invalid_request", "input[0].encrypted_content")


def test_conversation_is_required(http: FlaskClient) -> None:
    for fields in ({}, {"input": None}, {"input": ""}):
        answer = http.post("/v1/responses/compact", json={"model": "demo", **fields})
        assert refusal(answer) == (400, "invalid_request", "input")


def test_failure_and_an_empty_summary_are_errors(http: FlaskClient, fakes: Fakes) -> None:
    for events, expected in (
        (
            [End("failed", code="context_length_exceeded", message="too long")],
            (400, "context_length_exceeded"),
        ),
        ([ReasoningDelta("hm"), End("incomplete", "length")], (500, "engine_error")),
    ):
        fakes.ledger.script = [*events]
        answer = http.post("/v1/responses/compact", json={"model": "demo", "input": "Hi"})
        assert (answer.status_code, answer.json["error"]["code"]) == expected


@pytest.mark.filterwarnings("ignore:Pydantic serializer")  # of the SDK's, about the messages of the user
def test_sdk_compacts_a_conversation_and_continues_it(client: openai.OpenAI, fakes: Fakes) -> None:
    compacted = client.responses.compact(model="demo", input=CONVERSATION)  # type: ignore[arg-type]
    assert (compacted.object, compacted.output[-1].type) == ("response.compaction", "compaction")
    assert compacted.usage.input_tokens_details.cached_tokens == 3
    items: Any = [*compacted.output, {"role": "user", "content": "And Bern?"}]
    response = client.responses.create(model="demo", input=items)
    assert len(generation_of(fakes, response.id).messages) == 4
