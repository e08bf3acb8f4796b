"""`Prefer: wait=N` (RFC 7240): the response waits for the operation's end."""

from __future__ import annotations

import socket
import time

import pytest
from flask import Flask
from flask.testing import FlaskClient

import tasks.definitions
from api.prefer import MAX_WAIT_S, requested_wait_s
from api.services import AppServices
from fleet.states import ModelState
from tests.api.conftest import ADMIN_KEY
from tests.support.api_fakes import Fakes
from tests.support.waiting import wait_until

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


def test_the_preference_is_ignored_when_no_permit_is_free(admin: FlaskClient, services: AppServices) -> None:
    while services.permits.try_acquire():
        pass
    answer = admin.post(LOAD, json={}, headers={"Prefer": "wait=30"})
    assert (answer.status_code, answer.headers.get("Preference-Applied")) == (202, None)


def test_the_permit_of_a_waiting_load_is_released(
    admin: FlaskClient, services: AppServices, fakes: Fakes
) -> None:
    fakes.fleet.reads_until_end = 1
    admin.post(LOAD, json={}, headers={"Prefer": "wait=30"})
    free = 0
    while services.permits.try_acquire():
        free += 1
    assert free == services.permits.count


def test_the_preference_applies_to_an_unload_too(admin: FlaskClient, fakes: Fakes) -> None:
    fakes.fleet.states["demo"] = ModelState.LOADED
    fakes.fleet.reads_until_end = 2
    answer = admin.post("/v1/admin/models/demo/unload", headers={"Prefer": "wait=30"})
    assert (answer.status_code, answer.json["runtime_state"]) == (200, "unloaded")


def test_the_wait_ends_when_the_client_disconnects(
    admin: FlaskClient, port: int, services: AppServices, fakes: Fakes
) -> None:
    assert admin  # the fixture unloads the model and sends no wake-up messages
    with socket.create_connection(("127.0.0.1", port)) as connection:
        body = b"{}"
        connection.sendall(
            b"POST %b HTTP/1.1\r\nHost: x\r\nx-api-key: %b\r\nPrefer: wait=60\r\n"
            b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
            % (LOAD.encode(), ADMIN_KEY.encode(), len(body), body)
        )
        wait_until(lambda: services.disconnects.watched() == 1)
    wait_until(lambda: services.disconnects.watched() == 0)
    assert fakes.fleet.states["demo"] is ModelState.LOADING, "the load continues"
