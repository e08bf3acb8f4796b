"""/v1/queue and /v1/admin/queue on a real ledger, and the comments of waiting streams."""

from __future__ import annotations

import threading
from dataclasses import replace

import openai
import pytest
import redis
from flask import Flask
from flask.testing import FlaskClient

from api.inference.answer.queue_notes import QueueNotes
from api.inference.queue_orders import QueueOrders
from api.operations.queues_schema import CancelledRequest, CancelledTenant, QueueListing, QueuePlace
from api.services import AppServices
from api.wiring import make_services
from config.api_keys import digest_of
from config.settings import ModelDefinition, Settings
from governance.audit import AuditLog
from tests.api.conftest import ADMIN_KEY, OTHER_KEY
from tests.support.simulated_platform import LONG_LEASE, SimulatedPlatform
from tests.support.waiting import scaled, wait_until

BACKGROUND = {"model": "alpha", "input": "x", "background": True}
STREAMED = {"model": "alpha", "messages": [{"role": "user", "content": "x"}], "stream": True}
NOT_WAITING = dict.fromkeys(
    ("position", "positionIsEstimate", "queueDepth", "waitedMs", "estimatedWaitMs", "reason")
)


@pytest.fixture
def settings(shared_settings: Settings) -> Settings:
    return replace(
        shared_settings,
        lease=LONG_LEASE,
        models={name: ModelDefinition(name, "stub") for name in ("alpha", "beta")},
    )


@pytest.fixture
def made_services(settings: Settings) -> AppServices:
    services = make_services(settings)
    services[QueueNotes] = QueueNotes(services[QueueOrders], interval_s=0.05)
    services.background.append(services[QueueNotes].run)
    return services


@pytest.fixture
def platform(client: redis.Redis, settings: Settings) -> SimulatedPlatform:
    """Model alpha with one slot, which is taken."""
    platform = SimulatedPlatform(client, settings)
    platform.register()
    platform.load(slots=1)
    platform.admit("one")
    return platform


@pytest.fixture
def admin(app: Flask) -> FlaskClient:
    client = app.test_client()
    client.environ_base["HTTP_X_API_KEY"] = ADMIN_KEY
    return client


def ask(http: FlaskClient, **headers: str) -> str:
    return str(http.post("/v1/responses", json=BACKGROUND, headers=headers).get_json()["id"])


# ---- a request's place


@pytest.mark.usefixtures("platform")
def test_waiting_requests_see_their_places(http: FlaskClient) -> None:
    ids = [ask(http), ask(http), ask(http, **{"X-Priority": "high"})]
    places = [http.get(f"/v1/queue/{id}").get_json() for id in ids]
    assert [QueuePlace().validate(place) for place in places] == [{}, {}, {}]
    assert [place["position"] for place in places] == [2, 3, 1]
    assert {(place["status"], place["queueDepth"], place["reason"]) for place in places} == {
        ("queued", 3, "waiting for a slot")
    }
    assert not any(place["positionIsEstimate"] for place in places)


def test_a_request_that_runs_or_has_ended_has_no_place(
    http: FlaskClient, platform: SimulatedPlatform
) -> None:
    id = ask(http)
    platform.serve_next()
    assert http.get(f"/v1/queue/{id}").get_json() == {
        "id": id, "object": "queue.place", "model": "alpha", "status": "running", **NOT_WAITING
    }  # fmt: skip
    platform.serve_next()
    assert http.get(f"/v1/queue/{id}").get_json()["status"] == "completed"


def test_the_estimated_wait_follows_from_the_latest_runs(
    http: FlaskClient, platform: SimulatedPlatform
) -> None:
    ask(http)
    ask(http)
    platform.advance_time(100)  # the time of the requests is a small part of that of the run
    platform.serve_next()
    place = http.get(f"/v1/queue/{ask(http)}").get_json()
    assert place["position"] == 2
    assert place["estimatedWaitMs"] == pytest.approx(200_000, rel=0.1)


def test_the_reason_of_a_crashed_engine_is_its_restart(
    http: FlaskClient, platform: SimulatedPlatform
) -> None:
    id = ask(http)
    platform.crash(platform.claims()[0].replica)
    assert http.get(f"/v1/queue/{id}").get_json()["reason"] == "the engine is restarting"


@pytest.mark.usefixtures("platform")
@pytest.mark.parametrize("whose", ["another tenant's", "unknown"])
def test_no_place_is_shown_to_others(http: FlaskClient, app: Flask, whose: str) -> None:
    id = ask(http) if whose == "another tenant's" else "resp_unknown"
    answer = app.test_client().get(f"/v1/queue/{id}", headers={"Authorization": f"Bearer {OTHER_KEY}"})
    assert (answer.status_code, answer.get_json()["error"]["code"]) == (404, "not_found")


def test_a_new_request_is_in_an_order_that_was_read_before_it(
    http: FlaskClient, platform: SimulatedPlatform
) -> None:
    http.get(f"/v1/queue/{ask(http)}")
    platform.admit("two")
    id = ask(http)
    wait_until(lambda: not http.get(f"/v1/queue/{id}").get_json()["positionIsEstimate"], seconds=0.5)
    assert http.get(f"/v1/queue/{id}").get_json()["position"] == 3


# ---- comments of streams


@pytest.mark.usefixtures("platform")
def test_a_waiting_stream_shows_the_place_until_it_runs(
    sdk: openai.OpenAI, platform: SimulatedPlatform
) -> None:
    lines: list[str] = []
    commented = threading.Event()

    def free_the_slot() -> None:
        commented.wait(scaled(10))
        platform.serve_next()
        claim = platform.next_claim()
        assert claim
        platform.append_text(claim, 1, "hello")
        platform.release(claim)

    worker = threading.Thread(target=free_the_slot)
    worker.start()
    with sdk.chat.completions.with_streaming_response.create(**STREAMED) as answer:  # type: ignore[call-overload]
        for line in answer.iter_lines():
            lines.append(line)
            if line.startswith(": queue"):
                commented.set()
    worker.join()
    comments = [line for line in lines if line.startswith(": queue")]
    assert set(comments) == {": queue position 1 of 1, waiting for a slot"}
    begins = next(at for at, line in enumerate(lines) if "hello" in line)
    assert all(lines.index(comment) < begins for comment in comments)
    assert not any(line.startswith(": queue") for line in lines[begins:])


def test_a_background_response_that_waits_shows_the_place_to_who_follows_it(
    sdk: openai.OpenAI, http: FlaskClient, platform: SimulatedPlatform
) -> None:
    id = ask(http)
    lines = []
    with sdk.responses.with_streaming_response.retrieve(id, stream=True) as answer:
        for line in answer.iter_lines():
            lines.append(line)
            if line.startswith(": queue"):
                platform.ledger.cancel(id, "one")
    assert ": queue position 1 of 1, waiting for a slot" in lines
    assert "data: [DONE]" in lines


def test_openais_sdk_ignores_the_comments(sdk: openai.OpenAI, platform: SimulatedPlatform) -> None:
    def serve() -> None:
        wait_until(platform.waiting)
        threading.Event().wait(0.3)  # several comments
        platform.serve_next()
        claim = platform.next_claim()
        assert claim
        platform.append_text(claim, 1, "hello")
        platform.release(claim)

    worker = threading.Thread(target=serve)
    worker.start()
    texts = [chunk.choices[0].delta.content for chunk in sdk.chat.completions.create(**STREAMED)]  # type: ignore[call-overload]
    worker.join()
    assert "".join(text or "" for text in texts) == "hello"


# ---- the operator


def test_the_operator_sees_who_waits(
    http: FlaskClient, admin: FlaskClient, platform: SimulatedPlatform
) -> None:
    ids = [ask(http), ask(http)]
    platform.admit("two", "low")
    listing = admin.get("/v1/admin/queue").get_json()
    assert QueueListing().validate(listing) == {}
    alpha, beta = listing["models"]
    assert (alpha["queueDepth"], alpha["maxDepth"], alpha["slots"], alpha["running"]) == (3, 64, 1, 1)
    one, two = alpha["tenants"]
    assert (one["tenant"], one["queueDepth"], one["running"], one["oldestId"]) == ("one", 2, 1, ids[0])
    assert two["byPriority"] == {"high": 0, "normal": 0, "low": 1}
    assert (beta["model"], beta["queueDepth"], beta["oldestWaitMs"], beta["tenants"]) == ("beta", 0, None, [])
    assert len(admin.get("/v1/admin/queue?model=beta").get_json()["models"]) == 1


@pytest.mark.usefixtures("platform")
def test_the_operator_cancels_one_request(
    http: FlaskClient, admin: FlaskClient, services: AppServices
) -> None:
    id = ask(http)
    cancelled = admin.delete(f"/v1/admin/queue/{id}").get_json()
    assert CancelledRequest().validate(cancelled) == {}
    assert cancelled == {"id": id, "tenant": "one", "status": "cancelled"}
    assert http.get(f"/v1/responses/{id}").get_json()["status"] == "cancelled"
    (record,) = [record for record in services[AuditLog].records() if record.action == "cancel"]
    assert (record.actor, record.action, record.subject) == ("boss", "cancel", id)


def test_the_operator_cancels_all_of_a_tenant(
    http: FlaskClient, admin: FlaskClient, services: AppServices, platform: SimulatedPlatform
) -> None:
    ask(http)
    ask(http)
    other = platform.admit("two")
    cancelled = admin.delete("/v1/admin/queue?tenant=one&running=true").get_json()
    assert CancelledTenant().validate(cancelled) == {}
    assert cancelled == {
        "tenant": "one", "models": ["alpha", "beta"], "cancelled": 2, "left": 0, "stopping": 1
    }  # fmt: skip
    assert platform.waiting() == [other]
    (record,) = [record for record in services[AuditLog].records() if record.action == "cancel"]
    assert (record.subject, record.detail) == (
        "alpha",
        {"tenant": "one", "waiting": 2, "running": 1, "key": f"key_config_{digest_of(ADMIN_KEY)[:12]}"},
    )


@pytest.mark.parametrize(
    ("call", "status", "code"),
    [
        ("DELETE /v1/admin/queue", 400, "invalid_request"),
        ("DELETE /v1/admin/queue?tenant=a:b", 400, "invalid_request"),
        ("DELETE /v1/admin/queue?tenant=one&model=none", 404, "unknown_model"),
        ("DELETE /v1/admin/queue?tenant=one&running=perhaps", 400, "invalid_request"),
        ("DELETE /v1/admin/queue/resp_unknown", 404, "not_found"),
        ("GET /v1/admin/queue?model=none", 404, "unknown_model"),
    ],
)
def test_a_wrong_cancel_changes_nothing(
    admin: FlaskClient, platform: SimulatedPlatform, call: str, status: int, code: str
) -> None:
    platform.admit("one")
    method, path = call.split()
    answer = admin.open(path, method=method)
    assert (answer.status_code, answer.get_json()["error"]["code"]) == (status, code)
    assert len(platform.waiting()) == 1


def test_a_tenant_may_not_use_the_operators_routes(http: FlaskClient, platform: SimulatedPlatform) -> None:
    id = ask(http)
    for method, path in (("GET", ""), ("DELETE", f"/{id}"), ("DELETE", "?tenant=one")):
        assert http.open(f"/v1/admin/queue{path}", method=method).status_code == 403
    assert platform.waiting() == [id]
