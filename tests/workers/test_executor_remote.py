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
from tests.support.worker_harness import WorkerHarness

SPEAKS = events(chunk({"content": "a"}), then=Handler.wait_until_left)


@pytest.fixture
def server() -> Iterator[Scripted]:
    with scripted() as server:
        yield server


@pytest.fixture
def worker(settings: Settings, server: Scripted) -> Iterator[WorkerHarness]:
    model = replace(far(server.url), target_inflight=2, replica_max=2)
    limits = LimitSettings(unload_timeout_s=0.2)
    made = WorkerHarness(replace(settings, models={"model": model}, limits=limits))
    yield made
    made.executor.kill()


def begin(worker: WorkerHarness) -> str:
    """A request in the engine's hands."""
    id = worker.admit("Hi", "model")
    worker.spawn(lambda: worker.executor.generate(id))
    return id


def test_it_loads_and_answers_without_a_process_or_memory(
    worker: WorkerHarness, server: Scripted, caplog: pytest.LogCaptureFixture
) -> None:
    server.steps += [chat("at", " last")]
    with caplog.at_level(logging.INFO):
        change = worker.fleet.load("model")
        worker.until(lambda: worker.fleet.row("model").state == "loaded")
    assert change.operation
    load = worker.fleet.operation(change.operation.id)
    assert load
    assert (load.memory_mib, load.context_tokens) == (0, None)
    assert worker.fleet.row("model").observed_mib == 0
    assert "is up: remote, 2 slots" in caplog.text
    id = begin(worker)
    assert worker.end(id).status == "completed"
    assert "".join(event.text for event in worker.events(id) if isinstance(event, TextDelta)) == "at last"
    worker.fleet.unload("model")
    worker.until(lambda: worker.fleet.row("model").state == "unloaded")
    assert worker.executor.replicas.table == {}


def test_a_load_that_fails_says_why(worker: WorkerHarness, server: Scripted) -> None:
    server.list_models = status(401)
    worker.fleet.load("model")
    worker.until(lambda: worker.fleet.row("model").state == "failed")
    assert "asks for a key" in (worker.fleet.row("model").last_error or "")


def test_an_answer_that_was_filtered_there_is_incomplete(worker: WorkerHarness, server: Scripted) -> None:
    server.steps += [chat("a", finish="content_filter")]
    worker.load("model")
    end = worker.end(begin(worker))
    assert (end.status, end.finish_reason) == ("incomplete", "content_filter")


@pytest.mark.parametrize(("code", "said"), [(429, "remote_rate_limited"), (400, "invalid_prompt")])
def test_a_failure_leaves_the_model_loaded(
    worker: WorkerHarness, server: Scripted, code: int, said: str
) -> None:
    server.steps += [status(code, Retry_After="99"), chat("a")]
    worker.load("model")
    end = worker.end(begin(worker))
    assert (end.status, end.code) == ("failed", said)
    assert worker.end(begin(worker)).status == "completed"


def test_a_cancelled_request_leaves_the_server(worker: WorkerHarness, server: Scripted) -> None:
    server.steps += [SPEAKS]
    worker.load("model")
    id = begin(worker)
    worker.until(lambda: worker.events(id))
    worker.ledger.cancel(id, "acme")
    assert worker.end(id).status == "cancelled"
    assert server.left.wait(5)


def test_an_unload_ends_what_still_runs_and_no_engine_is_called_lost(
    worker: WorkerHarness, server: Scripted
) -> None:
    server.steps += [SPEAKS]
    worker.load("model")
    id = begin(worker)
    worker.until(lambda: worker.events(id))
    worker.fleet.unload("model")
    end = worker.end(id)
    assert (end.status, end.code) == ("failed", "unload_deadline")
    worker.until(lambda: worker.fleet.row("model").state == "unloaded")
    assert worker.fleet.row("model").last_error is None


def test_a_worker_that_shuts_down_says_so_to_the_client(worker: WorkerHarness, server: Scripted) -> None:
    server.steps += [SPEAKS]
    worker.load("model")
    id = begin(worker)
    worker.until(lambda: worker.events(id))
    worker.executor.shut_down(0)
    assert worker.events(id)[-1].code == "worker_shutdown"
    assert server.left.wait(5)


def test_a_load_that_is_given_up_lets_the_server_go(worker: WorkerHarness, server: Scripted) -> None:
    server.list_models = Handler.wait_until_left
    worker.fleet.load("model")
    (name,) = worker.until(lambda: list(worker.executor.replicas.table))
    assert server.silent.wait(5)
    assert worker.executor.unload(name) == "cancelled"
    worker.until(lambda: worker.fleet.row("model").state == "failed")
    assert server.left.wait(5)
