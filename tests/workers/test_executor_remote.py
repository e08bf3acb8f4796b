"""The executor with a remote model, which has no process and takes no memory on this machine."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace

import pytest

from config.settings import LimitSettings, Settings
from streams.events import TextDelta
from tests.backends.openai_remote.scripted_server import (
    Handler,
    ScriptedServer,
    chat,
    chunk,
    events,
    remote_model,
    scripted_server,
    status,
)
from tests.support.waiting import scaled
from tests.support.worker_harness import WorkerHarness

UNFINISHED = events(chunk({"content": "a"}), then=Handler.wait_for_disconnect)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with scripted_server() as server:
        yield server


@pytest.fixture
def worker(settings: Settings, server: ScriptedServer) -> Iterator[WorkerHarness]:
    model = replace(remote_model(server.url), target_inflight=2, replica_max=2)
    limits = LimitSettings(unload_timeout_s=0.2)
    made = WorkerHarness(replace(settings, models={"model": model}, limits=limits))
    yield made
    made.close()


def test_a_remote_model_loads_and_answers_without_a_process_or_memory(
    worker: WorkerHarness, server: ScriptedServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.steps += [chat("at", " last")]
    with caplog.at_level(logging.INFO):
        outcome = worker.fleet.load("model")
        worker.until(lambda: worker.fleet.row("model").state == "loaded")
        worker.until(lambda: "is up: remote, 2 slots" in caplog.text)  # it is logged after the report
    assert outcome.operation
    load = worker.fleet.operation(outcome.operation.id)
    assert load
    assert (load.memory_mib, load.context_tokens) == (0, None)
    assert worker.fleet.row("model").observed_mib == 0
    id = worker.admit("Hi", "model")
    assert worker.end(id).status == "completed"
    assert "".join(event.text for event in worker.events(id) if isinstance(event, TextDelta)) == "at last"
    worker.fleet.unload("model")
    worker.until(lambda: worker.fleet.row("model").state == "unloaded")
    worker.until(lambda: worker.executor.replicas.by_name == {})  # removed after the report of its end


def test_a_failed_load_reports_the_reason(worker: WorkerHarness, server: ScriptedServer) -> None:
    server.list_models = status(401)
    worker.fleet.load("model")
    worker.until(lambda: worker.fleet.row("model").state == "failed")
    assert "requires a key" in (worker.fleet.row("model").last_error or "")


def test_an_answer_filtered_by_the_remote_server_is_incomplete(
    worker: WorkerHarness, server: ScriptedServer
) -> None:
    server.steps += [chat("a", finish="content_filter")]
    worker.load("model")
    end = worker.end(worker.admit("Hi", "model"))
    assert (end.status, end.finish_reason) == ("incomplete", "content_filter")


@pytest.mark.parametrize(
    ("http_status", "error_code"), [(429, "remote_rate_limited"), (400, "invalid_prompt")]
)
def test_a_failed_job_leaves_the_model_loaded(
    worker: WorkerHarness, server: ScriptedServer, http_status: int, error_code: str
) -> None:
    server.steps += [status(http_status, Retry_After="99"), chat("a")]
    worker.load("model")
    end = worker.end(worker.admit("Hi", "model"))
    assert (end.status, end.code) == ("failed", error_code)
    assert worker.end(worker.admit("Hi", "model")).status == "completed"


def test_a_cancelled_job_closes_its_connection_to_the_server(
    worker: WorkerHarness, server: ScriptedServer
) -> None:
    server.steps += [UNFINISHED]
    worker.load("model")
    id = worker.admit("Hi", "model")
    worker.until(lambda: worker.events(id))
    worker.ledger.cancel(id, "acme")
    assert worker.end(id).status == "cancelled"
    assert server.client_disconnected.wait(scaled(5))


def test_an_unload_ends_running_jobs_without_reporting_a_lost_engine(
    worker: WorkerHarness, server: ScriptedServer
) -> None:
    server.steps += [UNFINISHED]
    worker.load("model")
    id = worker.admit("Hi", "model")
    worker.until(lambda: worker.events(id))
    worker.fleet.unload("model")
    end = worker.end(id)
    assert (end.status, end.code) == ("failed", "unload_deadline")
    worker.until(lambda: worker.fleet.row("model").state == "unloaded")
    assert worker.fleet.row("model").last_error is None


def test_a_shut_down_ends_jobs_with_its_own_code(worker: WorkerHarness, server: ScriptedServer) -> None:
    server.steps += [UNFINISHED]
    worker.load("model")
    id = worker.admit("Hi", "model")
    worker.until(lambda: worker.events(id))
    worker.executor.shut_down(0)
    assert worker.events(id)[-1].code == "worker_shutdown"
    assert server.client_disconnected.wait(scaled(5))


def test_a_cancelled_load_closes_its_connection_to_the_server(
    worker: WorkerHarness, server: ScriptedServer
) -> None:
    server.list_models = Handler.wait_for_disconnect
    worker.fleet.load("model")
    (name,) = worker.until(lambda: list(worker.executor.replicas.by_name))
    assert server.waiting.wait(scaled(5))
    assert worker.executor.unload(name) == "cancelled"
    worker.until(lambda: worker.fleet.row("model").state == "failed")
    assert server.client_disconnected.wait(scaled(5))
