"""A request on its way through the API: job, answer, stream, background, repeat."""

from __future__ import annotations

import threading

import orjson
import pytest
from flask import Flask
from flask.testing import FlaskClient

from api.services import AppServices
from api.streaming import response_stream
from api.streaming.response_stream import LOST
from streams.events import End, TextDelta
from tasks.generation import Generation, Message, text_content
from tests.api.conftest import OTHER_KEY
from tests.support.api_fakes import HELLO, Below

ASK = {"model": "demo", "input": "Hi"}
CHAT = {"model": "demo", "messages": [{"role": "user", "content": "Hi"}]}


def frames(text: str) -> list[dict[str, object]]:
    blocks = [block for block in text.split("\n\n") if block and not block.startswith(":")]
    assert blocks.pop() == "data: [DONE]"
    return [orjson.loads(block.split("data: ", 1)[1]) for block in blocks]


def test_a_request_becomes_a_job(http: FlaskClient, rooms_below: Below) -> None:
    http.post("/v1/responses", json={**ASK, "max_output_tokens": 40}, headers={"X-Priority": "high"})
    job = rooms_below.ledger.only()
    assert job.id.startswith("resp_")
    assert len(job.id) == 37
    assert Generation.from_json(job.generation).messages == (Message("user", text_content("Hi")),)
    assert (job.model, job.dialect, job.priority, job.store) == ("demo", "responses", "high", True)
    assert job.subscriber == rooms_below.subscriber.name
    assert job.cost == len(job.generation) // 4 + 40
    assert job.idempotency_key is None


def test_an_answer_comes_with_its_measurements(http: FlaskClient) -> None:
    answer = http.post("/v1/responses", json=ASK)
    assert answer.json["output"][0]["content"][0]["text"] == "Hello."
    assert answer.json["usage"]["total_tokens"] == 9
    assert {name: answer.headers[name] for name in ("X-Queue-Wait-Ms", "X-GPU-Time-Ms")} == {
        "X-Queue-Wait-Ms": "4",
        "X-GPU-Time-Ms": "50",
    }
    assert (answer.headers["X-Cache-Hit"], answer.headers["X-Cache-Tokens-Reused"]) == ("true", "3")


def test_both_dialects_are_answered(http: FlaskClient, rooms_below: Below) -> None:
    answer = http.post("/v1/chat/completions", json=CHAT)
    assert answer.json["choices"][0]["message"]["content"] == "Hello."
    assert answer.json["id"].startswith("chatcmpl-")
    assert rooms_below.ledger.only().store is False


def test_a_stream_says_what_it_is_and_has_no_lines_that_confuse_clients(http: FlaskClient) -> None:
    answer = http.post("/v1/responses", json={**ASK, "stream": True})
    assert answer.content_type == "text/event-stream; charset=utf-8"
    assert (answer.headers["Cache-Control"], answer.headers["X-Accel-Buffering"]) == ("no-cache", "no")
    assert {line.split(":")[0] for line in answer.text.splitlines() if line} == {"event", "data"}
    told = frames(answer.text)
    assert [frame["sequence_number"] for frame in told] == list(range(len(told)))
    assert told[-1]["type"] == "response.completed"


def test_a_chat_stream_names_no_events(http: FlaskClient) -> None:
    text = http.post("/v1/chat/completions", json={**CHAT, "stream": True}).text
    assert {line.split(":")[0] for line in text.splitlines() if line} == {"data"}
    assert frames(text)[-1]["choices"][0]["finish_reason"] == "stop"  # type: ignore[index]


def test_a_failing_chat_stream_tells_an_error(http: FlaskClient, rooms_below: Below) -> None:
    rooms_below.ledger.script = [TextDelta("a"), End("failed", code="worker_lost", message="gone")]
    told = frames(http.post("/v1/chat/completions", json={**CHAT, "stream": True}).text)
    assert told[-1]["error"]["code"] == "worker_lost"  # type: ignore[index]


def test_a_silent_stream_is_kept_alive(http: FlaskClient, rooms_below: Below) -> None:
    ledger = rooms_below.ledger
    ledger.script = None

    def speak() -> None:
        ledger.admitted.wait(5)
        threading.Event().wait(0.2)
        ledger.say(ledger.only().id, *HELLO)

    threading.Thread(target=speak).start()
    text = http.post("/v1/responses", json={**ASK, "stream": True}).text
    assert text.count(": ka\n\n") >= 2
    assert frames(text)[-1]["type"] == "response.completed"


def test_a_response_whose_log_is_lost_fails(
    http: FlaskClient, rooms_below: Below, monkeypatch: pytest.MonkeyPatch
) -> None:
    rooms_below.ledger.script = None
    monkeypatch.setattr(response_stream, "longest_wait_s", lambda _: 0.1)
    answer = http.post("/v1/responses", json=ASK)
    assert (answer.status_code, answer.json["error"]["code"]) == (504, LOST.code)
    assert rooms_below.ledger.cancelled == [rooms_below.ledger.only().id]


def test_a_background_response_is_answered_at_once(http: FlaskClient, rooms_below: Below) -> None:
    rooms_below.ledger.script = None
    answer = http.post("/v1/responses", json={**ASK, "background": True})
    assert (answer.status_code, answer.json["status"], answer.json["background"]) == (200, "queued", True)
    job = rooms_below.ledger.only()
    assert job.subscriber is None
    assert http.get(f"/v1/responses/{job.id}").json["status"] == "queued"
    rooms_below.ledger.say(job.id, HELLO[0])
    assert http.get(f"/v1/responses/{job.id}").json["status"] == "in_progress"
    rooms_below.ledger.say(job.id, *HELLO[1:])
    assert http.get(f"/v1/responses/{job.id}").json["status"] == "completed"


def test_thinking_is_refused_where_the_model_cannot_be_told(http: FlaskClient) -> None:
    ask = {"model": "org/deaf", "input": "x", "thinking": "enabled"}
    answer = http.post("/v1/responses", json=ask)
    assert (answer.status_code, answer.json["error"]["code"]) == (400, "thinking_unsupported")
    assert http.post("/v1/responses", json={**ask, "thinking": "default"}).status_code == 200
    assert http.post("/v1/responses", json={**ask, "model": "demo"}).status_code == 200


def test_a_model_that_is_not_configured_is_unknown(http: FlaskClient) -> None:
    for path, ask in (("responses", ASK), ("chat/completions", CHAT)):
        answer = http.post(f"/v1/{path}", json={**ask, "model": "nobody"})
        assert (answer.status_code, answer.json["error"]["code"]) == (404, "unknown_model")
        assert answer.json["error"]["param"] == "model"


def test_a_repeat_under_one_idempotency_key_gets_the_same_response(
    http: FlaskClient, rooms_below: Below
) -> None:
    headers = {"Idempotency-Key": "k1"}
    first = http.post("/v1/responses", json=ASK, headers=headers)
    again = http.post("/v1/responses", json=ASK, headers=headers)
    assert again.json == first.json
    assert len(rooms_below.ledger.jobs) == 1
    other = http.post("/v1/responses", json={**ASK, "input": "Bye"}, headers=headers)
    assert (other.status_code, other.json["error"]["code"]) == (409, "idempotency_key_reused")
    bad = http.post("/v1/responses", json=ASK, headers={"Idempotency-Key": "a b"})
    assert (bad.status_code, bad.json["error"]["param"]) == (400, "Idempotency-Key")


def test_a_seat_is_left_by_everybody_and_none_means_busy(
    http: FlaskClient, services: AppServices, rooms_below: Below
) -> None:
    for _ in range(40):
        http.post("/v1/responses", json={**ASK, "stream": True}).get_data()
        http.post("/v1/responses", json=ASK)
    rooms_below.ledger.rejection = RuntimeError()
    for _ in range(20):
        http.post("/v1/responses", json=ASK)
    rooms_below.ledger.rejection = None
    taken = 0
    while services.permits.take():
        taken += 1
    assert taken == services.permits.count < 16
    answer = http.post("/v1/responses", json=ASK)
    assert (answer.status_code, answer.json["error"]["code"]) == (503, "server_busy")
    assert http.get("/health").status_code == 200


def test_a_cursor_is_closed_whatever_happens(http: FlaskClient, rooms_below: Below) -> None:
    http.post("/v1/responses", json={**ASK, "stream": True}).get_data()
    http.post("/v1/responses", json=ASK)
    rooms_below.ledger.rejection = RuntimeError()
    http.post("/v1/responses", json=ASK)
    assert rooms_below.subscriber.open_responses() == 0


def test_two_tenants_do_not_share_an_idempotency_key(
    app: Flask, http: FlaskClient, rooms_below: Below
) -> None:
    http.post("/v1/responses", json=ASK, headers={"Idempotency-Key": "k"})
    app.test_client().post(
        "/v1/responses", json=ASK, headers={"Idempotency-Key": "k", "x-api-key": OTHER_KEY}
    )
    assert len(rooms_below.ledger.jobs) == 2
