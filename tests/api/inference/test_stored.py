"""A stored response can be fetched, replayed, resumed, cancelled and deleted, by its own tenant only."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from api.http.detached import DetachedResponse, run_detached
from api.http.fair_semaphore import Limit
from api.http.open_streams import OpenStreams
from api.inference.answer import large_reads, stored_response
from api.inference.answer.large_reads import LogReads
from api.services import AppServices
from scheduler.job import Status
from streams.events import End, TextDelta
from streams.log import Command
from tests.api.conftest import KEY, OTHER_KEY
from tests.api.inference.test_generation import ASK, frames
from tests.support.api_fakes import HELLO, Fakes
from tests.support.recorded_client import RecordedClient
from tests.support.waiting import scaled


@pytest.fixture
def stored(http: FlaskClient) -> str:
    return str(http.post("/v1/responses", json=ASK).json["id"])


def test_a_fetched_response_equals_the_answer(http: FlaskClient) -> None:
    first = http.post("/v1/responses", json=ASK).json
    assert http.get(f"/v1/responses/{first['id']}").json == first


def test_a_replay_sends_the_same_events_and_starting_after_only_the_later_ones(http: FlaskClient) -> None:
    first = frames(http.post("/v1/responses", json={**ASK, "stream": True}).text)
    url = f"/v1/responses/{first[0]['response']['id']}"  # type: ignore[index]
    assert frames(http.get(f"{url}?stream=true").text) == first
    assert frames(http.get(f"{url}?stream=true&starting_after=3").text) == first[4:]
    assert frames(http.get(f"{url}?stream=true&starting_after=999").text) == []


def test_a_resumed_stream_continues_with_the_events_to_come(http: FlaskClient, fakes: Fakes) -> None:
    ledger = fakes.ledger
    ledger.script = [HELLO[0]]
    id = http.post("/v1/responses", json={**ASK, "background": True}).json["id"]
    resumed = http.get(f"/v1/responses/{id}?stream=true&starting_after=0", buffered=False)
    chunks = iter(resumed.response)
    received = next(chunks) + next(chunks)
    ledger.append(id, *HELLO[1:])
    received += b"".join(chunks)
    resumed.close()
    assert [frame["sequence_number"] for frame in frames(received.decode())] == list(range(1, 11))


def test_tenant_whose_responses_are_being_read_delays_and_refuses_only_itself(
    app: Flask, http: FlaskClient, services: AppServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = large_reads.LOG_READS_OF_TENANT.running
    monkeypatch.setattr(large_reads, "LOG_READS_OF_TENANT", Limit(running, running + 1))
    services[LogReads] = LogReads()
    other = app.test_client()
    other.environ_base["HTTP_X_API_KEY"] = OTHER_KEY
    ids = {client: client.post("/v1/responses", json=ASK).json["id"] for client in (http, other)}

    async def while_held() -> tuple[int, int]:
        async with AsyncExitStack() as stack:
            for _ in range(running):
                await stack.enter_async_context(services[LogReads].hold("one"))
            waiting = asyncio.ensure_future(services[LogReads].hold("one").__aenter__())
            await asyncio.sleep(0)
            own, others = [
                (await asyncio.to_thread(client.get, f"/v1/responses/{ids[client]}")).status_code
                for client in (http, other)
            ]
            waiting.cancel()
        return own, others

    held = asyncio.run_coroutine_threadsafe(while_held(), services.loop)
    assert held.result(scaled(10)) == (429, 200)


@pytest.mark.parametrize(("method", "path"), [("GET", ""), ("GET", "/input_items"), ("POST", "/cancel")])
def test_client_that_disconnects_waits_no_longer_for_the_reads_of_its_tenant(
    app: Flask, services: AppServices, stored: str, method: str, path: str
) -> None:
    running, headers = large_reads.LOG_READS_OF_TENANT.running, {"Authorization": f"Bearer {KEY}"}
    with app.test_request_context(f"/v1/responses/{stored}{path}", method=method, headers=headers):
        response = app.full_dispatch_request()
    assert isinstance(response, DetachedResponse)

    async def run() -> None:
        client, turns = RecordedClient(), services[LogReads]
        async with asyncio.timeout(5), AsyncExitStack() as stack:
            for _ in range(running):
                await stack.enter_async_context(turns.hold("one"))
            task = asyncio.ensure_future(run_detached(response, client))
            while turns.requests == running:
                await asyncio.sleep(0)
            client.disconnect()
            await task
            assert turns.requests == running

    asyncio.run_coroutine_threadsafe(run(), services.loop).result(scaled(10))


@pytest.mark.parametrize(
    "query", ["stream=maybe", "stream=true&starting_after=-1", "stream=true&starting_after=x"]
)
def test_an_invalid_query_is_refused(http: FlaskClient, stored: str, query: str) -> None:
    assert http.get(f"/v1/responses/{stored}?{query}").status_code == 400


def test_another_tenants_response_does_not_exist(app: Flask, stored: str) -> None:
    other = app.test_client()
    other.environ_base["HTTP_X_API_KEY"] = OTHER_KEY
    url = f"/v1/responses/{stored}"
    for answer in (
        other.get(url),
        other.delete(url),
        other.post(f"{url}/cancel"),
        other.get(f"{url}?stream=true"),
    ):
        assert (answer.status_code, answer.json["error"]["code"]) == (404, "not_found")


def test_a_response_that_is_not_stored_is_not_found(http: FlaskClient) -> None:
    id = http.post("/v1/responses", json={**ASK, "store": False}).json["id"]
    assert http.get(f"/v1/responses/{id}").status_code == 404
    chat = http.post(
        "/v1/chat/completions", json={"model": "demo", "messages": [{"role": "user", "content": "x"}]}
    )
    assert http.get(f"/v1/responses/{chat.json['id']}").status_code == 404


def test_a_running_response_is_cancelled_as_the_sdk_asks(http: FlaskClient, fakes: Fakes) -> None:
    fakes.ledger.script = [HELLO[0]]
    id = http.post("/v1/responses", json={**ASK, "background": True}).json["id"]
    # an empty body under a JSON content type is what OpenAI's SDK sends
    answer = http.post(f"/v1/responses/{id}/cancel", data=b"", content_type="application/json")
    assert (answer.status_code, answer.json["status"]) == (200, "cancelled")
    assert answer.json["output"][0]["content"][0]["text"] == "Hel"
    assert http.post(f"/v1/responses/{id}/cancel").json == answer.json


def test_cancelling_an_ended_response_changes_nothing(http: FlaskClient, stored: str) -> None:
    assert http.post(f"/v1/responses/{stored}/cancel").json["status"] == "completed"


def test_cancelling_an_ended_response_answers_with_all_of_it_whatever_its_size(
    http: FlaskClient, fakes: Fakes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_response, "CANCEL_TIMEOUT_S", 0.0)
    fakes.ledger.script = None
    exchange = fakes.store.exchange

    async def later(commands: Sequence[Command]) -> list[Any]:
        await asyncio.sleep(0)
        return await exchange(commands)

    monkeypatch.setattr(fakes.store, "exchange", later)
    id = http.post("/v1/responses", json={**ASK, "background": True}).json["id"]
    fakes.ledger.append(id, *[TextDelta("word ")] * 2500, HELLO[-1])
    answer = http.post(f"/v1/responses/{id}/cancel").json
    assert answer["status"] == "completed"
    assert answer["output"][0]["content"][0]["text"] == "word " * 2500


@pytest.mark.parametrize("has_ended", [True, False])
def test_a_cancellation_answers_when_the_engine_has_stopped_or_after_the_time_out(
    http: FlaskClient, fakes: Fakes, monkeypatch: pytest.MonkeyPatch, has_ended: bool
) -> None:
    monkeypatch.setattr(stored_response, "CANCEL_TIMEOUT_S", 10.0 if has_ended else 0.0)
    ledger = fakes.ledger
    ledger.script = [HELLO[0]]
    id = http.post("/v1/responses", json={**ASK, "background": True}).json["id"]

    def subscribe(_id: str, _subscriber: str) -> Status:
        if has_ended:
            ledger.append(id, HELLO[1], End("cancelled", code="cancelled", message="cancelled by its client"))
        return Status.RUNNING

    monkeypatch.setattr(ledger, "cancel", lambda _id, _tenant: Status.RUNNING)
    monkeypatch.setattr(ledger, "subscribe", subscribe)
    answer = http.post(f"/v1/responses/{id}/cancel").json
    text = answer["output"][0]["content"][0]["text"]
    assert (answer["status"], text) == (("cancelled", "Hello.") if has_ended else ("in_progress", "Hel"))


def test_waiting_for_a_cancelled_response_counts_as_an_open_stream(
    http: FlaskClient, fakes: Fakes, services: AppServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    fakes.ledger.script = [HELLO[0]]
    id = http.post("/v1/responses", json={**ASK, "background": True}).json["id"]
    monkeypatch.setattr(fakes.ledger, "cancel", lambda _id, _tenant: Status.RUNNING)
    services[OpenStreams].limit = 0
    answer = http.post(f"/v1/responses/{id}/cancel")
    assert (answer.status_code, answer.json["error"]["code"]) == (503, "server_busy")


def test_a_deleted_response_is_gone(http: FlaskClient, stored: str) -> None:
    url = f"/v1/responses/{stored}"
    answer = http.delete(url, data=b"", content_type="application/json")
    assert answer.json == {"id": stored, "object": "response", "deleted": True}
    assert http.get(url).status_code == 404
    assert http.delete(url).status_code == 404


def test_a_stored_response_is_503_while_redis_is_unreachable(
    http: FlaskClient, fakes: Fakes, stored: str
) -> None:
    fakes.store.unreachable = True
    answer = http.get(f"/v1/responses/{stored}")
    assert (answer.status_code, answer.json["error"]["code"]) == (503, "storage_unavailable")
    assert answer.headers["Retry-After"] == "2"
