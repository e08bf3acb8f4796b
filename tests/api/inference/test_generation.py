"""Requests for a generation: job, answer, stream, background, idempotent repeat."""

from __future__ import annotations

import asyncio
import threading

import orjson
import pytest
from flask import Flask
from flask.testing import FlaskClient

from api.http import sse
from api.http.open_streams import OpenStreams
from api.inference import make_job
from api.inference.answer import response_readers
from api.inference.answer.response_readers import LOST
from api.inference.answer.streaming_reader import StreamingReader
from api.services import AppServices
from generation.generation import Generation, Message, text_content
from scheduler.job import Admission, Job
from scheduler.ledger import AsyncLedger
from streams.events import End, TextDelta
from tests.api.conftest import OTHER_KEY
from tests.support.api_fakes import HELLO, FakeAsyncLedger, Fakes
from tests.support.waiting import scaled, wait_until

ASK = {"model": "demo", "input": "Hi"}
CHAT = {"model": "demo", "messages": [{"role": "user", "content": "Hi"}]}


def frames(text: str) -> list[dict[str, object]]:
    blocks = [block for block in text.split("\n\n") if block and not block.startswith(":")]
    assert blocks.pop() == "data: [DONE]"
    return [orjson.loads(block.split("data: ", 1)[1]) for block in blocks]


def test_a_request_becomes_a_job(http: FlaskClient, fakes: Fakes) -> None:
    http.post("/v1/responses", json={**ASK, "max_output_tokens": 40}, headers={"X-Priority": "high"})
    job = fakes.ledger.only()
    assert job.id.startswith("resp_")
    assert len(job.id) == 37
    assert Generation.from_json(job.generation).messages == (Message("user", text_content("Hi")),)
    assert (job.model, job.dialect, job.priority, job.store) == ("demo", "responses", "high", True)
    assert job.subscriber == fakes.subscriber.name
    assert job.cost == (len(job.generation) - make_job._FRAME_BYTES) // 4 + 40
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


def test_both_dialects_are_answered(http: FlaskClient, fakes: Fakes) -> None:
    answer = http.post("/v1/chat/completions", json=CHAT)
    assert answer.json["choices"][0]["message"]["content"] == "Hello."
    assert answer.json["id"].startswith("chatcmpl-")
    assert fakes.ledger.only().store is False


def test_a_stream_declares_its_type_and_has_event_and_data_lines_only(http: FlaskClient) -> None:
    answer = http.post("/v1/responses", json={**ASK, "stream": True})
    assert answer.content_type == "text/event-stream; charset=utf-8"
    assert (answer.headers["Cache-Control"], answer.headers["X-Accel-Buffering"]) == ("no-store", "no")
    assert {line.split(":")[0] for line in answer.text.splitlines() if line} == {"event", "data"}
    events = frames(answer.text)
    assert [frame["sequence_number"] for frame in events] == list(range(len(events)))
    assert events[-1]["type"] == "response.completed"


def test_a_chat_stream_names_no_events(http: FlaskClient) -> None:
    text = http.post("/v1/chat/completions", json={**CHAT, "stream": True}).text
    assert {line.split(":")[0] for line in text.splitlines() if line} == {"data"}
    assert frames(text)[-1]["choices"][0]["finish_reason"] == "stop"  # type: ignore[index]


def test_a_failing_chat_stream_ends_with_an_error(http: FlaskClient, fakes: Fakes) -> None:
    fakes.ledger.script = [TextDelta("a"), End("failed", code="worker_lost", message="gone")]
    events = frames(http.post("/v1/chat/completions", json={**CHAT, "stream": True}).text)
    assert events[-1]["error"]["code"] == "worker_lost"  # type: ignore[index]


def test_a_silent_stream_gets_keep_alives(
    http: FlaskClient, fakes: Fakes, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = fakes.ledger
    ledger.script = None
    write, written, two = StreamingReader.write, [], threading.Event()

    def note(reader: StreamingReader, data: bytes) -> None:
        write(reader, data)
        written.append(data)
        if written.count(sse.KEEP_ALIVE) >= 2:
            two.set()

    def append_later() -> None:
        two.wait(scaled(20))
        ledger.append(ledger.only().id, *HELLO)

    monkeypatch.setattr(StreamingReader, "write", note)
    threading.Thread(target=append_later).start()
    text = http.post("/v1/responses", json={**ASK, "stream": True}).text
    assert text.count(": ka\n\n") >= 2
    assert frames(text)[-1]["type"] == "response.completed"


def test_a_response_whose_log_is_lost_fails(
    http: FlaskClient, fakes: Fakes, monkeypatch: pytest.MonkeyPatch
) -> None:
    fakes.ledger.script = None
    monkeypatch.setattr(response_readers, "longest_wait_s", lambda _: 0.1)
    answer = http.post("/v1/responses", json=ASK)
    assert (answer.status_code, answer.json["error"]["code"]) == (504, LOST.code)
    assert fakes.ledger.cancelled == [fakes.ledger.only().id]


class ResubscribingLedger(FakeAsyncLedger):
    """A new subscription makes all cursors ask the ledger: just before each admission, or just after it.

    `loses_jobs`: after it the ledger has no record of the job.
    """

    def __init__(self, fakes: Fakes, *, loses_jobs: bool = False) -> None:
        super().__init__(fakes.ledger)
        self._fakes, self._loses_jobs = fakes, loses_jobs

    async def admit(self, job: Job) -> Admission:
        if not self._loses_jobs:
            self._fakes.subscriber.catch_up_all()
            while self._fakes.subscriber._catching_up is not None:
                await asyncio.sleep(0)
        admission = await super().admit(job)
        if self._loses_jobs:
            asyncio.get_running_loop().call_soon(self._lose, job.id)
        return admission

    def _lose(self, id: str) -> None:
        del self._fakes.store.logs[id], self._fakes.ledger.rows[id]
        self._fakes.subscriber.catch_up_all()


@pytest.mark.parametrize("choices", [1, 2])
def test_a_new_subscription_during_an_admission_does_not_end_the_response(
    services: AppServices, http: FlaskClient, fakes: Fakes, choices: int
) -> None:
    services[AsyncLedger] = ResubscribingLedger(fakes)  # type: ignore[assignment]
    answer = http.post("/v1/chat/completions", json={**CHAT, "n": choices})
    assert [choice["message"]["content"] for choice in answer.json["choices"]] == ["Hello."] * choices


@pytest.mark.parametrize("choices", [1, 2])
def test_a_new_subscription_finds_a_response_that_was_lost_after_its_admission(
    services: AppServices, http: FlaskClient, fakes: Fakes, choices: int
) -> None:
    fakes.ledger.script = None
    services[AsyncLedger] = ResubscribingLedger(fakes, loses_jobs=True)  # type: ignore[assignment]
    answer = http.post("/v1/chat/completions", json={**CHAT, "n": choices})
    assert (answer.status_code, answer.json["error"]["code"]) == (504, LOST.code)


def test_a_background_response_is_answered_at_once(http: FlaskClient, fakes: Fakes) -> None:
    fakes.ledger.script = None
    answer = http.post("/v1/responses", json={**ASK, "background": True})
    assert (answer.status_code, answer.json["status"], answer.json["background"]) == (200, "queued", True)
    job = fakes.ledger.only()
    assert job.subscriber is None
    assert http.get(f"/v1/responses/{job.id}").json["status"] == "queued"
    fakes.ledger.append(job.id, HELLO[0])
    assert http.get(f"/v1/responses/{job.id}").json["status"] == "in_progress"
    fakes.ledger.append(job.id, *HELLO[1:])
    assert http.get(f"/v1/responses/{job.id}").json["status"] == "completed"


def test_thinking_is_refused_for_a_model_without_that_capability(http: FlaskClient) -> None:
    ask = {"model": "org/plain", "input": "x", "thinking": "enabled"}
    answer = http.post("/v1/responses", json=ask)
    assert (answer.status_code, answer.json["error"]["code"]) == (400, "thinking_unsupported")
    assert http.post("/v1/responses", json={**ask, "thinking": "default"}).status_code == 200
    assert http.post("/v1/responses", json={**ask, "model": "demo"}).status_code == 200


def test_a_model_that_is_not_configured_is_unknown(http: FlaskClient) -> None:
    for path, ask in (("responses", ASK), ("chat/completions", CHAT)):
        answer = http.post(f"/v1/{path}", json={**ask, "model": "unknown"})
        assert (answer.status_code, answer.json["error"]["code"]) == (404, "unknown_model")
        assert answer.json["error"]["param"] == "model"


def test_a_repeat_under_one_idempotency_key_gets_the_same_response(http: FlaskClient, fakes: Fakes) -> None:
    headers = {"Idempotency-Key": "k1"}
    first = http.post("/v1/responses", json=ASK, headers=headers)
    again = http.post("/v1/responses", json=ASK, headers=headers)
    assert again.json == first.json
    assert len(fakes.ledger.jobs) == 1
    other = http.post("/v1/responses", json={**ASK, "input": "Bye"}, headers=headers)
    assert (other.status_code, other.json["error"]["code"]) == (409, "idempotency_key_reused")
    bad = http.post("/v1/responses", json=ASK, headers={"Idempotency-Key": "a b"})
    assert (bad.status_code, bad.json["error"]["param"]) == (400, "Idempotency-Key")


def test_every_request_leaves_the_open_streams_and_beyond_their_limit_the_server_is_busy(
    http: FlaskClient, services: AppServices, fakes: Fakes
) -> None:
    http.post("/v1/responses", json={**ASK, "stream": True}).get_data()
    http.post("/v1/responses", json=ASK)
    fakes.ledger.rejection = RuntimeError()
    assert http.post("/v1/responses", json=ASK).status_code == 500
    fakes.ledger.rejection = None
    wait_until(lambda: len(services[OpenStreams]) == 0)
    services[OpenStreams].limit = 0
    for ask in (ASK, {**ASK, "stream": True}):
        answer = http.post("/v1/responses", json=ask)
        assert (answer.status_code, answer.json["error"]["code"]) == (503, "server_busy")
        assert answer.headers["Retry-After"] == "2"
    assert http.post("/v1/responses", json={**ASK, "background": True}).status_code == 200
    assert http.get("/health").status_code == 200


def test_the_cursor_is_closed_after_success_and_failure(http: FlaskClient, fakes: Fakes) -> None:
    http.post("/v1/responses", json={**ASK, "stream": True}).get_data()
    http.post("/v1/responses", json=ASK)
    fakes.ledger.rejection = RuntimeError()
    http.post("/v1/responses", json=ASK)
    wait_until(lambda: fakes.subscriber.open_responses() == 0)


@pytest.mark.parametrize("path", ["responses", "chat/completions"])
def test_a_repeat_under_one_idempotency_key_runs_again_when_the_first_request_failed(
    http: FlaskClient, fakes: Fakes, path: str
) -> None:
    body, headers = ASK if path == "responses" else CHAT, {"Idempotency-Key": "k"}
    fakes.ledger.script = [End("failed", code="worker_lost", run_ms=1)]
    assert http.post(f"/v1/{path}", json=body, headers=headers).status_code == 503
    fakes.ledger.script = HELLO
    second = http.post(f"/v1/{path}", json=body, headers=headers)
    assert second.status_code == 200
    assert http.post(f"/v1/{path}", json=body, headers=headers).json == second.json
    assert len(fakes.ledger.jobs) == 2


def test_two_tenants_do_not_share_an_idempotency_key(app: Flask, http: FlaskClient, fakes: Fakes) -> None:
    http.post("/v1/responses", json=ASK, headers={"Idempotency-Key": "k"})
    app.test_client().post(
        "/v1/responses", json=ASK, headers={"Idempotency-Key": "k", "x-api-key": OTHER_KEY}
    )
    assert len(fakes.ledger.jobs) == 2
