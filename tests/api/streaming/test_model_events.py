"""GET /v1/admin/events: a UI that follows need not poll."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from api.services import AppServices
from api.streaming.model_events import Feed
from fleet.operation import Operation
from fleet.state_changes import StateChange
from fleet.states import ModelState, OperationStatus
from tests.api.conftest import ADMIN_KEY
from tests.support.api_fakes import Below

pytestmark = pytest.mark.rule("beyond/events")

URL = "/v1/admin/events"


def change(number: int, state: ModelState = ModelState.LOADING) -> StateChange:
    return StateChange(f"{number}-0", "demo", ModelState.UNLOADED, state, 1.5, "load_1", None, None)


def parsed(data: bytes) -> list[tuple[str | None, str, dict[str, Any]]]:
    """(id, name, data) of each event."""
    events = []
    for block in data.decode().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if lines:
            events.append((lines.get("id"), lines["event"], json.loads(lines["data"])))
    return events


@pytest.fixture
def admin(app: Flask) -> FlaskClient:
    client = app.test_client()
    client.environ_base["HTTP_X_API_KEY"] = ADMIN_KEY
    return client


def names(events: list[tuple[str | None, str, dict[str, Any]]]) -> list[str]:
    return [name for _, name, _ in events]


def test_it_begins_with_what_is_now(admin: FlaskClient) -> None:
    answer = admin.get(f"{URL}?follow=false")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    events = parsed(answer.data)
    assert names(events) == ["model", "model", "gpu_memory"]
    listed = admin.get("/v1/admin/models").json["models"]
    assert [data["model"] for _, name, data in events if name == "model"] == listed
    assert events[-1][2]["gpu_memory"] == admin.get("/v1/admin/gpu-memory").json


def test_what_was_missed_is_told_again_from_the_last_event_that_was_heard(
    admin: FlaskClient, rooms_below: Below
) -> None:
    rooms_below.changes.entries = [change(number) for number in (1, 2, 3)]
    answer = admin.get(f"{URL}?follow=false", headers={"Last-Event-ID": "1-0"})
    told = [(id, data) for id, name, data in parsed(answer.data) if name == "state"]
    assert [id for id, _ in told] == ["2-0", "3-0"]
    assert told[0][1] == {
        "type": "state",
        "id": "2-0",
        "model": "demo",
        "from": "unloaded",
        "to": "loading",
        "at": 1.5,
        "operation_id": "load_1",
        "code": None,
        "message": None,
    }
    assert "state" not in names(parsed(admin.get(f"{URL}?follow=false").data)), "who is new hears what is now"


@pytest.mark.parametrize("id", ["x", "1", "1-", "-1", "1-0 ", "$", "99999999999999999999-0"])
def test_an_id_of_another_stream_is_refused(admin: FlaskClient, id: str) -> None:
    answer = admin.get(URL, headers={"Last-Event-ID": id})
    assert (answer.status_code, answer.json["error"]["param"]) in ((400, "Last-Event-ID"), (200, None))
    assert answer.status_code == 400 or id == "1-0 "


def test_only_administrators_follow(http: FlaskClient) -> None:
    assert http.get(URL).status_code == 403


def test_it_begins_only_when_redis_is_there(admin: FlaskClient, rooms_below: Below) -> None:
    rooms_below.fleet.away = True
    assert admin.get(URL).status_code == 503


def test_it_takes_a_seat_and_gives_it_back(admin: FlaskClient, services: AppServices) -> None:
    admin.get(f"{URL}?follow=false").get_data()
    taken = 0
    while services.permits.take():
        taken += 1
    assert taken == services.permits.count
    assert admin.get(URL).status_code == 503


class Follower(threading.Thread):
    """Reads a feed in a thread of its own."""

    def __init__(self, feed: Feed) -> None:
        super().__init__(daemon=True)
        self.feed = feed
        self.left = threading.Event()
        self.heard: list[tuple[str | None, str, dict[str, Any]]] = []
        self.start()

    def run(self) -> None:
        for piece in self.feed.stream(self.left.set):
            self.heard += parsed(piece)

    def wait_for(self, what: str, **expected: object) -> dict[str, Any]:
        for _ in range(1000):
            for _, kind, data in list(self.heard):
                inner = data if kind == "state" else data[kind]
                if kind == what and expected.items() <= inner.items():
                    return dict(inner)
            self.left.wait(0.01)
        raise AssertionError(f"no {what} with {expected} in {names(self.heard)}")


@pytest.fixture
def following(services: AppServices) -> Iterator[Follower]:
    follower = Follower(Feed(services, None))
    follower.wait_for("gpu_memory")
    yield follower
    follower.feed.hang_up()
    assert follower.left.wait(5)


def test_a_change_is_told_with_its_id_and_the_row_after_it(following: Follower, rooms_below: Below) -> None:
    following.heard.clear()
    rooms_below.changes.entries.append(change(7, ModelState.FAILED))
    rooms_below.fleet.states["demo"] = ModelState.FAILED
    following.wait_for("state", to="failed")
    following.wait_for("model", name="demo", runtime_state="failed")
    assert names(following.heard) == ["state", "model"], "what is as it was is not told again"
    assert following.heard[0][0] == "7-0"


def test_an_operation_is_told_until_its_end(following: Follower, rooms_below: Below) -> None:
    fleet = rooms_below.fleet
    running = Operation("load_9", "load", "demo", OperationStatus.RUNNING, "reading", 0.5, None, 1.0, None)
    fleet.operations["load_9"] = running
    fleet.operation_ids["demo"] = "load_9"
    fleet.states["demo"] = ModelState.LOADING
    assert following.wait_for("operation", id="load_9")["progress"] == 0.5
    fleet.states["demo"] = ModelState.LOADED
    fleet.ends_after = 1
    following.wait_for("operation", status="completed")


def test_it_goes_on_when_redis_was_away(following: Follower, rooms_below: Below) -> None:
    rooms_below.fleet.away = True
    following.left.wait(0.1)
    rooms_below.fleet.states["org/deaf"] = ModelState.UNLOADING
    rooms_below.fleet.away = False
    following.wait_for("model", name="org/deaf", runtime_state="unloading")


def test_what_a_look_could_not_finish_is_told_by_the_next(following: Follower, rooms_below: Below) -> None:
    rooms_below.fleet.stumbles = 1
    rooms_below.changes.entries.append(change(7, ModelState.FAILED))
    rooms_below.fleet.states["demo"] = ModelState.FAILED
    following.wait_for("state", to="failed")
    following.wait_for("model", name="demo", runtime_state="failed")


def test_the_end_of_an_operation_is_told_though_another_one_followed(
    following: Follower, rooms_below: Below
) -> None:
    fleet = rooms_below.fleet
    for id, status in (("unload_1", OperationStatus.COMPLETED), ("load_2", OperationStatus.RUNNING)):
        fleet.operations[id] = Operation(id, "load", "demo", status, "", 0.5, None, 1.0, None)
    fleet.operation_ids["demo"] = "load_2"
    fleet.states["demo"] = ModelState.LOADING
    entry = replace(change(8, ModelState.UNLOADED), operation="unload_1")
    rooms_below.changes.entries += [entry, replace(change(9), operation="load_2")]
    following.wait_for("operation", id="unload_1", status="completed")
    following.wait_for("operation", id="load_2", status="running")


def test_all_that_was_missed_is_told_however_much(admin: FlaskClient, rooms_below: Below) -> None:
    rooms_below.changes.entries = [change(10_000 + number) for number in range(250)]
    answer = admin.get(f"{URL}?follow=false", headers={"Last-Event-ID": "10000-0"})
    assert names(parsed(answer.data)).count("state") == 249


def test_it_is_kept_alive_by_comments(services: AppServices) -> None:
    pieces = Feed(services, None).stream(lambda: None)
    next(pieces)
    assert next(pieces) == b": ka\n\n"


def test_it_ends_with_its_process(services: AppServices) -> None:
    services.life.goes_on = lambda: False
    assert list(Feed(services, None).stream(lambda: None)) == []
