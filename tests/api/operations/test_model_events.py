"""GET /v1/admin/events: changes of the models as server-sent events."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from api.http import sse
from api.http.open_streams import OpenStreams
from api.http.shutdown_flag import ShutdownFlag
from api.operations.model_events import ModelFeed, ModelFollower
from api.operations.model_snapshots import MODEL, CurrentValue, Snapshot, removals
from api.services import AppServices
from fleet.operation import Operation
from fleet.state_changes import StateChange
from fleet.states import ModelState, OperationStatus
from tests.api.conftest import ADMIN_KEY
from tests.support.api_fakes import Fakes
from tests.support.waiting import scaled, wait_for, wait_until

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


def test_the_first_events_end_with_an_id_so_that_no_later_change_is_missed(
    admin: FlaskClient, fakes: Fakes
) -> None:
    fakes.changes.entries = [change(7)]
    for address in (URL, f"{URL}?follow=false"):
        answer = admin.get(address)
        begin = next(answer.iter_encoded())
        answer.close()
        ids = [id for id, _, _ in parsed(begin)]
        assert ids == [None] * (len(ids) - 1) + ["7-0"]


def test_a_model_that_leaves_the_catalogue_is_removed() -> None:
    value = CurrentValue(b"event", b"compared")
    before = {"model a": value, "model org/b": value, "operation model c": value, "gpu_memory": value}
    (event,) = removals(before, {"model a": value})
    assert parsed(event) == [(None, "model_removed", {"type": "model_removed", "name": "org/b"})]
    assert removals({}, before) == []


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


def test_the_stream_is_counted_while_it_is_open(admin: FlaskClient, services: AppServices) -> None:
    answer = admin.get(URL)
    next(answer.iter_encoded())
    assert len(services[OpenStreams]) == 1
    services[OpenStreams].limit = 1
    assert admin.get(URL).status_code == 503
    answer.close()
    wait_until(lambda: len(services[OpenStreams]) == 0)
    assert admin.get(f"{URL}?follow=false").status_code == 200


class StreamFollower(threading.Thread):
    """Reads a stream of model events in its own thread."""

    def __init__(self, admin: FlaskClient, after: str | None = None) -> None:
        super().__init__(daemon=True)
        self.ended = threading.Event()
        self.answer = admin.get(URL, headers={} if after is None else {"Last-Event-ID": after})
        self.received: list[tuple[str | None, str, dict[str, Any]]] = []
        self.data = b""
        self.start()

    def run(self) -> None:
        for piece in self.answer.iter_encoded():
            self.data += piece
            self.received += parsed(piece)
        self.ended.set()

    def wait_for(self, event: str, **expected: object) -> dict[str, Any]:
        def found() -> dict[str, Any] | None:
            for _, kind, data in list(self.received):
                inner = data if kind == "state" else data[kind]
                if kind == event and expected.items() <= inner.items():
                    return dict(inner)
            return None

        answer = wait_for(found, details=lambda: f"{event} with {expected} in {names(self.received)}")
        assert answer is not None
        return answer


@pytest.fixture
def following(admin: FlaskClient, services: AppServices) -> Iterator[StreamFollower]:
    follower = StreamFollower(admin)
    follower.wait_for("gpu_memory")
    yield follower
    services[ShutdownFlag].is_running = lambda: False
    assert follower.ended.wait(scaled(5))


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


def test_an_operation_that_changes_no_state_is_sent_once(following: StreamFollower, fakes: Fakes) -> None:
    ended = Operation("flush_9", "flush", "", OperationStatus.COMPLETED, "completed", 1.0, None, 1.0, 2.0)
    fakes.fleet.operations["flush_9"] = ended
    assert following.wait_for("operation", id="flush_9")["status"] == "completed"
    fakes.fleet.states["demo"] = ModelState.FAILED
    following.wait_for("model", name="demo", runtime_state="failed")
    assert names(following.received).count("operation") == 1


def test_the_stream_continues_after_redis_was_unreachable(following: StreamFollower, fakes: Fakes) -> None:
    fakes.fleet.unreachable = True
    following.ended.wait(0.1)
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


def test_comments_keep_the_stream_alive(following: StreamFollower) -> None:
    wait_until(lambda: following.data.count(b": ka\n\n") >= 2)


def test_the_stream_ends_when_its_process_shuts_down(
    following: StreamFollower, services: AppServices
) -> None:
    services[ShutdownFlag].is_running = lambda: False
    assert following.ended.wait(scaled(5))
    wait_until(lambda: len(services[OpenStreams]) == 0)


def test_all_followers_share_one_reader_and_each_gets_every_change(
    admin: FlaskClient, following: StreamFollower, fakes: Fakes, monkeypatch: pytest.MonkeyPatch
) -> None:
    fakes.changes.entries += [change(1), change(2)]
    following.wait_for("state", id="2-0")
    followers = [following, StreamFollower(admin, "1-0"), StreamFollower(admin)]
    for follower in followers:
        follower.wait_for("gpu_memory")
    readers: set[str] = set()
    read = fakes.changes.read

    def recorded(after: str, wait_s: float = 0.0) -> list[StateChange]:
        readers.add(threading.current_thread().name)
        return read(after, wait_s)

    monkeypatch.setattr(fakes.changes, "read", recorded)
    for number in range(3, 9):
        fakes.changes.entries.append(change(number))
        fakes.fleet.states["demo"] = (ModelState.LOADING, ModelState.LOADED)[number % 2]
    for follower in followers:
        follower.wait_for("state", id="8-0")
    states = [[id for id, name, _ in follower.received if name == "state"] for follower in followers]
    later = [f"{number}-0" for number in range(3, 9)]
    assert states == [["1-0", "2-0", *later], ["2-0", *later], later]
    assert all(name.startswith("model-events") for name in readers)


class SlowClient:
    """A connection that the test makes writable; fulfils the part of `ClientConnection` that is used."""

    def __init__(self) -> None:
        self.writable = True
        self.written: list[bytes] = []
        self.disconnect: Callable[[], None]
        self.become_writable: Callable[[], None]

    def on_disconnect(self, callback: Callable[[], None]) -> None:
        self.disconnect = callback

    def on_writable(self, callback: Callable[[], None]) -> None:
        self.become_writable = callback

    def begin(self, _status: int, _headers: object) -> None:
        pass

    def write(self, data: bytes) -> None:
        assert self.writable
        self.written.append(data)

    def states(self) -> list[str | None]:
        return [id for data in self.written for id, name, _ in parsed(data) if name == "state"]


def test_a_slow_client_gets_later_what_it_missed(services: AppServices, fakes: Fakes) -> None:
    client = SlowClient()
    follower = ModelFollower(client, 3600, lambda: True)  # type: ignore[arg-type]
    task = asyncio.run_coroutine_threadsafe(follower.follow(services[ModelFeed], None), services.loop)
    wait_until(lambda: client.written)
    client.writable = False
    fakes.changes.entries += [change(1), change(2)]
    wait_until(lambda: follower._is_behind)
    fakes.changes.entries.append(change(3))
    client.writable = True
    services.loop.call_soon_threadsafe(client.become_writable)
    wait_until(lambda: client.states() == ["1-0", "2-0", "3-0"])
    fakes.changes.entries.append(change(4))
    wait_until(lambda: client.states()[-1] == "4-0")
    services.loop.call_soon_threadsafe(client.disconnect)
    task.result(scaled(5))


def test_a_model_is_not_removed_by_a_snapshot_that_is_older_than_the_followers_own() -> None:
    def snapshot(last: str, began_at: float, *models: str) -> Snapshot:
        values = {f"{MODEL}{name}": CurrentValue(sse.encode_one("model", {}), b"") for name in models}
        return Snapshot(last, (), values, frozenset(), began_at)

    async def written() -> list[str]:
        client = SlowClient()
        follower = ModelFollower(client, 3600, lambda: True)  # type: ignore[arg-type]
        older = snapshot("1-0", time.monotonic(), "demo")
        follower.on_snapshot(older)
        follower._catch_up(snapshot("2-0", time.monotonic(), "demo", "dynamic"))
        follower.on_snapshot(older)
        follower.on_snapshot(snapshot("2-0", time.monotonic(), "demo"))
        return [name for data in client.written for name in names(parsed(data))]

    assert asyncio.run(written()) == ["model", "model", "model_removed"]
