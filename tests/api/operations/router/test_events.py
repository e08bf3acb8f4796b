"""/models/sse: llama-server's events of changes and operations, and who gets which."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from flask.testing import FlaskClient

from api.http.open_streams import OpenStreams
from api.operations.model_events import ModelFeed
from api.operations.router.events import EventSource, RouterEvent
from api.operations.router.feed import RouterFeed, RouterReader
from api.services import AppServices
from fleet.operation import begun_operation
from fleet.state_changes import CatalogueChange, Change, ProposalChange, StateChange
from fleet.states import ModelState, OperationStatus
from tests.support.simulated_platform import SimulatedPlatform
from tests.support.waiting import wait_until

pytestmark = pytest.mark.rule("llama-server/router-events")

URL = "/models/sse"
RUNNING = OperationStatus.RUNNING


def state(was: ModelState, now: ModelState) -> StateChange:
    return StateChange("1-0", "demo", was, now, 1.5, "load_1", None, None)


def catalogue(change: str, status: str = "") -> CatalogueChange:
    return CatalogueChange("1-0", "demo", change, status, 1.5, None, None, None)


def events_of(*changes: Change) -> list[Any]:
    return [parsed(event.data) for event in EventSource().events(changes, ())]


def parsed(data: bytes) -> Any:
    return json.loads(data.removeprefix(b"data: "))


@pytest.mark.parametrize(
    ("change", "event", "data"),
    [
        (state(ModelState.UNLOADED, ModelState.LOADING), "model_status", {"status": "loading"}),
        (state(ModelState.LOADING, ModelState.LOADED), "model_status", {"status": "loaded", "info": {}}),
        (
            state(ModelState.UNLOADING, ModelState.UNLOADED),
            "model_status",
            {"status": "unloaded", "exit_code": 0},
        ),
        (
            state(ModelState.LOADING, ModelState.FAILED),
            "model_status",
            {"status": "unloaded", "exit_code": 1},
        ),
        (catalogue("download", "completed"), "download_finished", None),
        (catalogue("download", "failed"), "download_failed", None),
        (catalogue("download", "cancelled"), "download_failed", None),
        (catalogue("removed"), "model_remove", None),
    ],
)
def test_a_change_is_an_event_of_its_model(change: Change, event: str, data: Any) -> None:
    expected = {"model": "demo", "event": event} | ({} if data is None else {"data": data})
    assert events_of(change) == [expected]


def test_a_new_model_is_a_new_list() -> None:
    assert events_of(catalogue("registered")) == [{"model": "*", "event": "models_reload"}]


def test_a_change_without_an_event_of_llama_server_has_none() -> None:
    proposal = ProposalChange("1-0", "p", "model-load", None, "open", 1.5, None, None, 0, 1)
    unloading = state(ModelState.LOADED, ModelState.UNLOADING)
    assert (
        events_of(proposal, unloading, catalogue("download", "pending"), catalogue("remove", "completed"))
        == []
    )


def test_progress_is_an_event_when_it_differs() -> None:
    source = EventSource()
    assert source.events((), (begun_operation("load_1", "demo"),)) == []  # no worker has begun
    load = replace(begun_operation("load_1", "demo"), status=RUNNING, progress=0.0)
    download = replace(
        begun_operation("download_1", "new"),
        status=RUNNING,
        progress=0.5,
        files_mib=2,
        source="hf://o/n@c/m.gguf hf://o/n@c/mmproj.gguf",
    )
    first = [parsed(event.data) for event in source.events((), (load, download))]
    assert first == [
        {
            "model": "demo",
            "event": "model_status",
            "data": {
                "status": "loading",
                "progress": {"stages": ["text_model"], "current": "text_model", "value": 0.0},
            },
        },
        {
            "model": "new",
            "event": "download_progress",
            "data": {"hf://o/n@c/m.gguf": {"done": 1 << 20, "total": 2 << 20}},
        },
    ]
    further = source.events((), (load, replace(download, progress=0.75)))
    assert [event.model for event in further] == ["new"]
    assert source.events((), (replace(load, status=OperationStatus.COMPLETED),)) == []


# ---- over HTTP


def events(answer: Any) -> Iterator[Any]:
    for piece in answer.iter_encoded():
        yield from (parsed(line) for line in piece.split(b"\n\n") if line.startswith(b"data: "))


def test_a_reader_gets_the_changes_from_its_begin_on(
    admin: FlaskClient, http: FlaskClient, platform: SimulatedPlatform, services: AppServices
) -> None:
    answers = [admin.get(URL), http.get(URL)]
    for answer in answers:
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        next(answer.iter_encoded())
    platform.load("demo")
    for answer in answers:
        found = events(answer)
        seen = [next(found)]
        while seen[-1]["data"]["status"] != "loaded":  # with progress, if a read falls into the load
            seen.append(next(found))
        assert seen[0]["data"] == {"status": "loading"}
        assert {(one["model"], one["event"]) for one in seen} == {("demo", "model_status")}
        answer.close()
    wait_until(lambda: not len(services[OpenStreams]))
    assert not services[RouterFeed]._readers
    wait_until(lambda: services[ModelFeed]._task is None)  # no reader costs nothing


def test_a_tenant_has_a_bounded_number_of_readers(http: FlaskClient, admin: FlaskClient) -> None:
    held = [http.get(URL), http.get(URL)]
    for answer in held:
        next(answer.iter_encoded())
    refused = http.get(URL)
    assert (refused.status_code, admin.get(URL).status_code) == (429, 200)
    for answer in held:
        answer.close()


class Client:
    """A client's connection that records what is written."""

    def __init__(self) -> None:
        self.writable, self.aborted, self.written = True, False, b""

    def write(self, data: bytes) -> None:
        self.written += data

    def abort(self) -> None:
        self.aborted = True


def test_a_reader_sees_its_models_alone_and_a_slow_one_is_disconnected() -> None:
    async def run() -> tuple[Client, Client, Client]:
        clients = Client(), Client(), Client()
        feed = RouterFeed(None)  # type: ignore[arg-type]
        sees = (lambda _: True, lambda model: model == "a", lambda model: model == "a")
        for client, seen in zip(clients, sees, strict=True):
            feed._readers.add(RouterReader(client, seen, 3600, lambda: True))  # type: ignore[arg-type]
        clients[2].writable = False
        feed.send([RouterEvent("b", b"b"), RouterEvent("*", b"*")])
        feed.send([RouterEvent("a", b"a"), RouterEvent("b", b"b")])
        return clients

    everything, own, slow = asyncio.run(run())
    assert (everything.written, own.written, slow.written) == (b"b*ab", b"*a", b"")
    assert (everything.aborted, own.aborted, slow.aborted) == (False, False, True)
