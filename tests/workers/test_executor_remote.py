"""A host whose model runs on somebody else's machine: it has no process and takes no memory here."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace

import pytest

from config.settings import LimitSettings, Settings
from streams.events import TextDelta
from tests.backends.openai_remote.scripted import (
    Handler,
    Scripted,
    chat,
    chunk,
    events,
    far,
    scripted,
    status,
)
from tests.workers.test_executor import Seat

SPEAKS = events(chunk({"content": "a"}), then=Handler.wait_until_left)


@pytest.fixture
def server() -> Iterator[Scripted]:
    with scripted() as server:
        yield server


@pytest.fixture
def seat(settings: Settings, server: Scripted) -> Iterator[Seat]:
    model = replace(far(server.url), target_inflight=2, replica_max=2)
    limits = LimitSettings(unload_timeout_s=0.2)
    made = Seat(replace(settings, models={"model": model}, limits=limits))
    yield made
    made.host.kill()


def begin(seat: Seat) -> str:
    """A request in the engine's hands."""
    id = seat.admit("Hi", "model")
    seat.spawn(lambda: seat.host.generate(id))
    return id


def test_it_loads_and_answers_without_a_process_or_memory(
    seat: Seat, server: Scripted, caplog: pytest.LogCaptureFixture
) -> None:
    server.steps += [chat("at", " last")]
    with caplog.at_level(logging.INFO):
        change = seat.fleet.load("model")
        seat.until(lambda: seat.fleet.row("model").state == "loaded")
    assert change.operation
    load = seat.fleet.operation(change.operation.id)
    assert load
    assert (load.memory_mib, load.context_tokens) == (0, None)
    assert seat.fleet.row("model").observed_mib == 0
    assert "is up: elsewhere, 2 slots" in caplog.text
    id = begin(seat)
    assert seat.end(id).status == "completed"
    assert "".join(event.text for event in seat.said(id) if isinstance(event, TextDelta)) == "at last"
    seat.fleet.unload("model")
    seat.until(lambda: seat.fleet.row("model").state == "unloaded")
    assert seat.host.replicas.table == {}


def test_a_load_that_fails_says_why(seat: Seat, server: Scripted) -> None:
    server.list_models = status(401)
    seat.fleet.load("model")
    seat.until(lambda: seat.fleet.row("model").state == "failed")
    assert "asks for a key" in (seat.fleet.row("model").last_error or "")


def test_an_answer_that_was_filtered_there_is_incomplete(seat: Seat, server: Scripted) -> None:
    server.steps += [chat("a", finish="content_filter")]
    seat.load("model")
    end = seat.end(begin(seat))
    assert (end.status, end.finish_reason) == ("incomplete", "content_filter")


@pytest.mark.parametrize(("code", "said"), [(429, "remote_rate_limited"), (400, "invalid_prompt")])
def test_a_failure_leaves_the_model_loaded(seat: Seat, server: Scripted, code: int, said: str) -> None:
    server.steps += [status(code, Retry_After="99"), chat("a")]
    seat.load("model")
    end = seat.end(begin(seat))
    assert (end.status, end.code) == ("failed", said)
    assert seat.end(begin(seat)).status == "completed"


def test_a_cancelled_request_leaves_the_server(seat: Seat, server: Scripted) -> None:
    server.steps += [SPEAKS]
    seat.load("model")
    id = begin(seat)
    seat.until(lambda: seat.said(id))
    seat.ledger.cancel(id, "acme")
    assert seat.end(id).status == "cancelled"
    assert server.left.wait(5)


def test_an_unload_ends_what_still_runs_and_no_engine_is_called_lost(seat: Seat, server: Scripted) -> None:
    server.steps += [SPEAKS]
    seat.load("model")
    id = begin(seat)
    seat.until(lambda: seat.said(id))
    seat.fleet.unload("model")
    end = seat.end(id)
    assert (end.status, end.code) == ("failed", "unload_deadline")
    seat.until(lambda: seat.fleet.row("model").state == "unloaded")
    assert seat.fleet.row("model").last_error is None


def test_a_worker_that_shuts_down_says_so_to_the_client(seat: Seat, server: Scripted) -> None:
    server.steps += [SPEAKS]
    seat.load("model")
    id = begin(seat)
    seat.until(lambda: seat.said(id))
    seat.host.shut_down(0)
    assert seat.said(id)[-1].code == "worker_shutdown"
    assert server.left.wait(5)


def test_a_load_that_is_given_up_lets_the_server_go(seat: Seat, server: Scripted) -> None:
    server.list_models = Handler.wait_until_left
    seat.fleet.load("model")
    (name,) = seat.until(lambda: list(seat.host.replicas.table))
    assert server.silent.wait(5)
    assert seat.host.unload(name) == "given up"
    seat.until(lambda: seat.fleet.row("model").state == "failed")
    assert server.left.wait(5)
