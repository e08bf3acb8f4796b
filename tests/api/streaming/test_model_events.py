"""GET /v1/admin/events: changes of the models as server-sent events."""

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
from api.streaming.model_events import ModelEventStream
from fleet.operation import Operation
from fleet.state_changes import StateChange
from fleet.states import ModelState, OperationStatus
from tests.api.conftest import ADMIN_KEY
from tests.support.api_fakes import Fakes

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


def test_the_stream_begins_with_the_current_state(admin: FlaskClient) -> None:
    answer = admin.get(f"{URL}?follow=false")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    events = parsed(answer.data)
    assert names(events) == ["model", "model", "gpu_memory"]
    listed = admin.get("/v1/admin/models").json["models"]
    assert [data["model"] for _, name, data in events if name == "model"] == listed
    assert events[-1][2]["gpu_memory"] == admin.get("/v1/admin/gpu-memory").json


def test_state_changes_after_last_event_id_are_replayed(admin: FlaskClient, fakes: Fakes) -> None:
    fakes.changes.entries = [change(number) for number in (1, 2, 3)]
    answer = admin.get(f"{URL}?follow=false", headers={"Last-Event-ID": "1-0"})
    states = [(id, data) for id, name, data in parsed(answer.data) if name == "state"]
    assert [id for id, _ in states] == ["2-0", "3-0"]
    assert states[0][1] == {
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
    assert "state" not in names(parsed(admin.get(f"{URL}?follow=false").data)), (
        "a new client gets the current state only"
    )


@pytest.mark.parametrize("id", ["x", "1", "1-", "-1", "1-0 ", "$", "99999999999999999999-0"])
def test_an_id_of_another_stream_is_refused(admin: FlaskClient, id: str) -> None:
    answer = admin.get(URL, headers={"Last-Event-ID": id})
    assert (answer.status_code, answer.json["error"]["param"]) in ((400, "Last-Event-ID"), (200, None))
    assert answer.status_code == 400 or id == "1-0 "


def test_only_administrators_may_follow(http: FlaskClient) -> None:
    assert http.get(URL).status_code == 403


def test_the_stream_does_not_begin_while_redis_is_unreachable(admin: FlaskClient, fakes: Fakes) -> None:
    fakes.fleet.unreachable = True
    assert admin.get(URL).status_code == 503


def test_the_stream_holds_a_permit_and_releases_it(admin: FlaskClient, services: AppServices) -> None:
    admin.get(f"{URL}?follow=false").get_data()
    free = 0
    while services.permits.try_acquire():
        free += 1
    assert free == services.permits.count
    assert admin.get(URL).status_code == 503


class StreamFollower(threading.Thread):
    """Reads a stream of model events in its own thread."""

    def __init__(self, services: AppServices) -> None:
        super().__init__(daemon=True)
        self.closed = threading.Event()
        self.stream = ModelEventStream(services, None, on_close=self.closed.set)
        self.received: list[tuple[str | None, str, dict[str, Any]]] = []
        self.start()

    def run(self) -> None:
        for piece in self.stream.stream():
            self.received += parsed(piece)

    def wait_for(self, event: str, **expected: object) -> dict[str, Any]:
        for _ in range(1000):
            for _, kind, data in list(self.received):
                inner = data if kind == "state" else data[kind]
                if kind == event and expected.items() <= inner.items():
                    return dict(inner)
            self.closed.wait(0.01)
        raise AssertionError(f"no {event} with {expected} in {names(self.received)}")


@pytest.fixture
def following(services: AppServices) -> Iterator[StreamFollower]:
    follower = StreamFollower(services)
    follower.wait_for("gpu_memory")
    yield follower
    follower.stream.disconnect()
    assert follower.closed.wait(5)


def test_a_state_change_is_sent_with_its_id_before_the_model(following: StreamFollower, fakes: Fakes) -> None:
    following.received.clear()
    fakes.changes.entries.append(change(7, ModelState.FAILED))
    fakes.fleet.states["demo"] = ModelState.FAILED
    following.wait_for("state", to="failed")
    following.wait_for("model", name="demo", runtime_state="failed")
    assert names(following.received) == ["state", "model"], "unchanged objects are not sent again"
    assert following.received[0][0] == "7-0"


def test_an_operation_is_sent_until_its_end(following: StreamFollower, fakes: Fakes) -> None:
    fleet = fakes.fleet
    running = Operation("load_9", "load", "demo", OperationStatus.RUNNING, "reading", 0.5, None, 1.0, None)
    fleet.operations["load_9"] = running
    fleet.operation_ids["demo"] = "load_9"
    fleet.states["demo"] = ModelState.LOADING
    assert following.wait_for("operation", id="load_9")["progress"] == 0.5
    fleet.states["demo"] = ModelState.LOADED
    fleet.reads_until_end = 1
    following.wait_for("operation", status="completed")


def test_the_stream_continues_after_redis_was_unreachable(following: StreamFollower, fakes: Fakes) -> None:
    fakes.fleet.unreachable = True
    following.closed.wait(0.1)
    fakes.fleet.states["org/plain"] = ModelState.UNLOADING
    fakes.fleet.unreachable = False
    following.wait_for("model", name="org/plain", runtime_state="unloading")


def test_events_of_a_poll_that_failed_are_sent_by_the_next(following: StreamFollower, fakes: Fakes) -> None:
    fakes.fleet.failing_reads = 1
    fakes.changes.entries.append(change(7, ModelState.FAILED))
    fakes.fleet.states["demo"] = ModelState.FAILED
    following.wait_for("state", to="failed")
    following.wait_for("model", name="demo", runtime_state="failed")


def test_the_end_of_an_operation_is_sent_even_if_another_one_has_begun(
    following: StreamFollower, fakes: Fakes
) -> None:
    fleet = fakes.fleet
    for id, status in (("unload_1", OperationStatus.COMPLETED), ("load_2", OperationStatus.RUNNING)):
        fleet.operations[id] = Operation(id, "load", "demo", status, "", 0.5, None, 1.0, None)
    fleet.operation_ids["demo"] = "load_2"
    fleet.states["demo"] = ModelState.LOADING
    entry = replace(change(8, ModelState.UNLOADED), operation="unload_1")
    fakes.changes.entries += [entry, replace(change(9), operation="load_2")]
    following.wait_for("operation", id="unload_1", status="completed")
    following.wait_for("operation", id="load_2", status="running")


def test_all_missed_state_changes_are_sent_over_several_pages(admin: FlaskClient, fakes: Fakes) -> None:
    fakes.changes.entries = [change(10_000 + number) for number in range(250)]
    answer = admin.get(f"{URL}?follow=false", headers={"Last-Event-ID": "10000-0"})
    assert names(parsed(answer.data)).count("state") == 249


def test_comments_keep_the_stream_alive(services: AppServices) -> None:
    pieces = ModelEventStream(services, None).stream()
    next(pieces)
    assert next(pieces) == b": ka\n\n"


def test_the_stream_ends_when_its_process_shuts_down(services: AppServices) -> None:
    services.shutdown.is_running = lambda: False
    assert list(ModelEventStream(services, None).stream()) == []
