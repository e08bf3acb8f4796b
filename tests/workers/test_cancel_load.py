"""A worker ends the start of an engine whose load is cancelled, whatever it is doing at that moment."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from config.settings import ModelDefinition, Settings
from engines.engine_process.process import EngineProcess
from fleet.load_request import LoadRequest
from tests.support.process_groups import group_is_gone
from tests.support.waiting import scaled, wait_until
from tests.support.worker_harness import WorkerHarness

pytestmark = pytest.mark.rule("beyond/a-load-is-cancelled")


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> list[EngineProcess]:
    """The engine processes that were started."""
    started: list[EngineProcess] = []
    start = EngineProcess.start

    def record(*arguments: Any, **named: Any) -> EngineProcess:
        started.append(start(*arguments, **named))
        return started[-1]

    monkeypatch.setattr(EngineProcess, "start", record)
    return started


@pytest.fixture
def worker(settings: Settings) -> Iterator[WorkerHarness]:
    """A worker whose engines never finish loading."""
    models = {
        "alpha": ModelDefinition(
            "alpha", "stub", replica_max=2, options={"stub_load_hang": True, "stub_memory_mib": 32}
        )
    }
    made = WorkerHarness(replace(settings, models=models))
    yield made
    made.close()


def begin(worker: WorkerHarness, replicas: int = 1) -> list[str]:
    """Begin a load, as the worker's messages would. Returns the names of the replicas."""
    outcome = worker.fleet.load("alpha", LoadRequest(replicas))
    for item in outcome.assignments:
        worker.spawn(lambda name=item.replica: worker.executor.load(name))  # type: ignore[misc]
    return [item.replica for item in outcome.assignments]


def check_that_nothing_is_left(worker: WorkerHarness, engines: list[EngineProcess]) -> None:
    wait_until(lambda: worker.fleet.row("alpha").state == "unloaded")
    assert all(group_is_gone(engine.pid) for engine in engines), "its memory is free when it is unloaded"
    assert worker.executor.replicas.by_name == {}
    row = worker.fleet.row("alpha")
    assert (row.workers, row.last_error, row.code) == ((), None, None)


def test_the_message_of_the_unload_kills_the_engines_that_load(
    worker: WorkerHarness, engines: list[EngineProcess]
) -> None:
    begin(worker, replicas=2)
    wait_until(lambda: len(engines) == 2)
    for item in worker.fleet.unload("alpha").assignments:
        assert worker.executor.unload(item.replica) == "cancelled"
    check_that_nothing_is_left(worker, engines)


def test_a_progress_report_finds_that_the_load_was_cancelled(
    settings: Settings, engines: list[EngineProcess]
) -> None:
    models = {"alpha": ModelDefinition("alpha", "stub", options={"stub_load_s": 20.0})}
    worker = WorkerHarness(replace(settings, models=models))
    begin(worker)
    wait_until(lambda: engines)
    worker.fleet.unload("alpha")  # its message is lost
    check_that_nothing_is_left(worker, engines)
    worker.close()


def test_a_heartbeat_finds_that_the_load_was_cancelled(
    worker: WorkerHarness, engines: list[EngineProcess]
) -> None:
    begin(worker)
    wait_until(lambda: engines)
    worker.fleet.unload("alpha")  # its message is lost, and the engine reports nothing
    worker.heartbeat()
    check_that_nothing_is_left(worker, engines)


@pytest.mark.parametrize("by", ["message", "heartbeat"])
def test_a_start_that_has_no_process_yet_is_cancelled(
    worker: WorkerHarness, engines: list[EngineProcess], monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    granted, go_on = threading.Event(), threading.Event()
    replica_starting = worker.fleet.replica_starting

    def grant_slowly(*arguments: Any) -> Any:
        start = replica_starting(*arguments)
        granted.set()
        assert go_on.wait(scaled(10))
        return start

    monkeypatch.setattr(worker.fleet, "replica_starting", grant_slowly)
    (name,) = begin(worker)
    assert granted.wait(scaled(10))
    worker.fleet.unload("alpha")
    if by == "message":
        assert worker.executor.unload(name) == "cancelled"
    else:
        worker.heartbeat()
        wait_until(lambda: not worker.threads[-1].is_alive())
    assert worker.fleet.row("alpha").state == "unloading", "the thread that starts it has not ended"
    go_on.set()
    check_that_nothing_is_left(worker, engines)
    assert engines == []


def test_a_cancelled_model_can_be_loaded_again(settings: Settings, engines: list[EngineProcess]) -> None:
    models = {"alpha": ModelDefinition("alpha", "stub", options={"stub_load_s": 0.2})}
    worker = WorkerHarness(replace(settings, models=models))
    (name,) = begin(worker)
    wait_until(lambda: engines)
    worker.fleet.unload("alpha")
    worker.executor.unload(name)
    check_that_nothing_is_left(worker, engines)
    worker.load()
    worker.close()
