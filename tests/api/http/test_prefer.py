"""`Prefer: wait=N` (RFC 7240): the response waits for the operation's end."""

from __future__ import annotations

import asyncio
import time

import pytest
from flask import Flask
from flask.testing import FlaskClient

import tasks.definitions
from api.http.open_streams import OpenStreams
from api.http.prefer import MAX_WAIT_S, OperationWait, requested_wait_s
from api.http.shutdown_flag import ShutdownFlag
from api.services import AppServices
from fleet.operation import Operation
from fleet.states import ModelState, OperationStatus
from tests.api.conftest import ADMIN_KEY
from tests.support.api_fakes import Fakes
from tests.support.recorded_client import RecordedClient
from tests.support.waiting import scaled

pytestmark = pytest.mark.rule("beyond/prefer-wait-n")

LOAD = "/v1/admin/models/demo/load"


@pytest.fixture
def admin(app: Flask, fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> FlaskClient:
    monkeypatch.setattr(tasks.definitions, "notify_workers", lambda _: None)
    fakes.fleet.states["demo"] = ModelState.UNLOADED
    client = app.test_client()
    client.environ_base["HTTP_X_API_KEY"] = ADMIN_KEY
    return client


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, 0),
        ("wait=10", 10),
        ("Wait = 10", 10),
        ("respond-async, wait=10", 10),
        ('wait="7"; foo=bar', 7),
        ("wait=99999", MAX_WAIT_S),
        ("wait=-1", 0),
        ("wait=ten", 0),
        ("wait", 0),
        ("await=10", 0),
        ("wait=1.5", 0),
    ],
)
def test_a_preference_is_read_or_ignored(app: Flask, header: str | None, seconds: int) -> None:
    with app.test_request_context(headers={"Prefer": header} if header else {}):
        assert requested_wait_s() == seconds


def test_a_load_that_ends_in_time_answers_200_with_the_finished_row(admin: FlaskClient, fakes: Fakes) -> None:
    fakes.fleet.reads_until_end = 2
    answer = admin.post(LOAD, json={}, headers={"Prefer": "wait=30"})
    assert (answer.status_code, answer.headers["Preference-Applied"]) == (200, "wait=30")
    assert (answer.json["runtime_state"], answer.json["operation"]["status"]) == ("loaded", "completed")
    assert "Location" not in answer.headers


def test_a_load_that_does_not_end_in_time_is_202_with_the_url_to_poll(admin: FlaskClient) -> None:
    began = time.monotonic()
    answer = admin.post(LOAD, json={}, headers={"Prefer": "wait=1"})
    assert time.monotonic() - began >= 1
    assert (answer.status_code, answer.headers["Preference-Applied"]) == (202, "wait=1")
    assert answer.headers["Location"] == f"/v1/admin/operations/{answer.json['operation']['id']}"


def test_without_a_preference_the_request_does_not_wait(admin: FlaskClient, fakes: Fakes) -> None:
    fakes.fleet.reads_until_end = 2
    answer = admin.post(LOAD, json={})
    assert (answer.status_code, answer.headers.get("Preference-Applied")) == (202, None)


def test_the_preference_is_ignored_when_too_many_requests_wait(
    admin: FlaskClient, services: AppServices
) -> None:
    services[OpenStreams].limit = 0
    answer = admin.post(LOAD, json={}, headers={"Prefer": "wait=30"})
    assert (answer.status_code, answer.headers.get("Preference-Applied")) == (202, None)


def test_the_preference_applies_to_an_unload_too(admin: FlaskClient, fakes: Fakes) -> None:
    fakes.fleet.states["demo"] = ModelState.LOADED
    fakes.fleet.reads_until_end = 2
    answer = admin.post("/v1/admin/models/demo/unload", headers={"Prefer": "wait=30"})
    assert (answer.status_code, answer.json["runtime_state"]) == (200, "unloaded")


def test_the_wait_ends_when_the_client_disconnects(services: AppServices, fakes: Fakes) -> None:
    operation = Operation("load_1", "load", "demo", OperationStatus.RUNNING, "", 0.5, None, 1.0, None)
    fakes.fleet.operations["load_1"] = operation
    client = RecordedClient()

    async def wait() -> Operation:
        services.loop.call_later(0.05, client.disconnect)
        return await OperationWait(client).end_of(services, operation, 60)

    assert asyncio.run_coroutine_threadsafe(wait(), services.loop).result(scaled(10)) == operation


def test_the_wait_ends_when_the_process_shuts_down(services: AppServices, fakes: Fakes) -> None:
    operation = Operation("load_1", "load", "demo", OperationStatus.RUNNING, "", 0.5, None, 1.0, None)
    fakes.fleet.operations["load_1"] = operation
    services[ShutdownFlag].is_running = lambda: False

    async def wait() -> Operation:
        return await OperationWait(RecordedClient()).end_of(services, operation, 60)

    assert asyncio.run_coroutine_threadsafe(wait(), services.loop).result(scaled(10)) == operation
