"""`Prefer: wait=N` (RFC 7240): the end instead of an operation to poll."""

from __future__ import annotations

import socket
import time

import pytest
from flask import Flask
from flask.testing import FlaskClient

import tasks.lifecycle
from api.prefer import LONGEST_S, wait_wanted
from api.services import AppServices
from fleet.states import ModelState
from tests.api.conftest import ADMIN_KEY
from tests.support.api_fakes import Below

pytestmark = pytest.mark.rule("beyond/prefer-wait-n")

LOAD = "/v1/admin/models/demo/load"


@pytest.fixture
def admin(app: Flask, rooms_below: Below, monkeypatch: pytest.MonkeyPatch) -> FlaskClient:
    monkeypatch.setattr(tasks.lifecycle, "ring", lambda _: None)
    rooms_below.fleet.states["demo"] = ModelState.UNLOADED
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
        ("wait=99999", LONGEST_S),
        ("wait=-1", 0),
        ("wait=ten", 0),
        ("wait", 0),
        ("await=10", 0),
        ("wait=1.5", 0),
    ],
)
def test_a_preference_is_understood_or_passed_over(app: Flask, header: str | None, seconds: int) -> None:
    with app.test_request_context(headers={"Prefer": header} if header else {}):
        assert wait_wanted() == seconds


def test_a_load_that_ends_in_time_answers_200_with_the_finished_row(
    admin: FlaskClient, rooms_below: Below
) -> None:
    rooms_below.fleet.ends_after = 2
    answer = admin.post(LOAD, json={}, headers={"Prefer": "wait=30"})
    assert (answer.status_code, answer.headers["Preference-Applied"]) == (200, "wait=30")
    assert (answer.json["runtime_state"], answer.json["operation"]["status"]) == ("loaded", "completed")
    assert "Location" not in answer.headers


def test_one_that_does_not_is_202_and_says_where_to_poll(admin: FlaskClient) -> None:
    began = time.monotonic()
    answer = admin.post(LOAD, json={}, headers={"Prefer": "wait=1"})
    assert time.monotonic() - began >= 1
    assert (answer.status_code, answer.headers["Preference-Applied"]) == (202, "wait=1")
    assert answer.headers["Location"] == f"/v1/admin/operations/{answer.json['operation']['id']}"


def test_without_a_preference_nobody_waits(admin: FlaskClient, rooms_below: Below) -> None:
    rooms_below.fleet.ends_after = 2
    answer = admin.post(LOAD, json={})
    assert (answer.status_code, answer.headers.get("Preference-Applied")) == (202, None)


def test_when_all_seats_are_taken_the_preference_is_passed_over(
    admin: FlaskClient, services: AppServices
) -> None:
    while services.permits.take():
        pass
    answer = admin.post(LOAD, json={}, headers={"Prefer": "wait=30"})
    assert (answer.status_code, answer.headers.get("Preference-Applied")) == (202, None)


def test_the_seat_is_given_back(admin: FlaskClient, services: AppServices, rooms_below: Below) -> None:
    rooms_below.fleet.ends_after = 1
    admin.post(LOAD, json={}, headers={"Prefer": "wait=30"})
    taken = 0
    while services.permits.take():
        taken += 1
    assert taken == services.permits.count


def test_an_unload_can_be_waited_for_too(admin: FlaskClient, rooms_below: Below) -> None:
    rooms_below.fleet.states["demo"] = ModelState.LOADED
    rooms_below.fleet.ends_after = 2
    answer = admin.post("/v1/admin/models/demo/unload", headers={"Prefer": "wait=30"})
    assert (answer.status_code, answer.json["runtime_state"]) == (200, "unloaded")


def test_a_client_that_hangs_up_is_not_waited_for(
    admin: FlaskClient, port: int, services: AppServices, rooms_below: Below
) -> None:
    assert admin  # nothing is loaded, and no bell rings
    with socket.create_connection(("127.0.0.1", port)) as connection:
        body = b"{}"
        connection.sendall(
            b"POST %b HTTP/1.1\r\nHost: x\r\nx-api-key: %b\r\nPrefer: wait=60\r\n"
            b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
            % (LOAD.encode(), ADMIN_KEY.encode(), len(body), body)
        )
        until(lambda: services.disconnects.watched() == 1)
    until(lambda: services.disconnects.watched() == 0)
    assert rooms_below.fleet.states["demo"] is ModelState.LOADING, "the load itself goes on"


def until(true: object) -> None:
    deadline = time.monotonic() + 10
    while not true():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.01)
