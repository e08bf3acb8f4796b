"""The worker agent, with the real ledger."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from config.settings import LeaseSettings, ModelDefinition, Settings
from fleet.fleet import Fleet
from fleet.load_request import LoadRequest
from tests.support.begin_load import begin_load
from tests.support.freezing import freeze
from tests.support.waiting import wait_until
from tests.support.worker_harness import WorkerHarness
from workers.agent import LOOP_SILENCE_S, WorkerAgent


def test_a_model_that_fits_no_worker_is_logged_once_and_does_not_prevent_another_load(
    settings: Settings, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    # without messages, the heartbeat finds the replica
    monkeypatch.setattr("workers.agent.notify_workers", lambda _outcome: None)
    monkeypatch.setattr("workers.agent.RECOVERY_INTERVAL_S", 0.02)
    models = {
        "big": ModelDefinition("big", "stub", device="cuda", enabled=True),
        "small": ModelDefinition("small", "stub", enabled=True),
    }
    worker = WorkerHarness(replace(settings, models=models))
    agent = WorkerAgent(worker.executor, worker.ledger, worker.fleet, worker.io)
    with caplog.at_level(logging.WARNING, "workers"):
        agent.start()
        worker.until(lambda: worker.fleet.row("small").state == "loaded")
        time.sleep(0.2)  # many rounds of the recovery loop
        agent.stop()
    row = worker.fleet.row("big")
    assert row.state == "unloaded"
    assert "no worker with a cuda device" in (row.last_error or ""), "operators see it too"
    messages = [record.getMessage() for record in caplog.records if "big" in record.getMessage()]
    assert len(messages) == 1
    assert messages[0].startswith("big should be loaded but is not: no worker with a cuda device is running")
    agent.end()
    worker.close()


# ---- progress


@pytest.mark.rule("runner/health-progress")
def test_a_hanging_event_loop_is_reported_within_the_lease(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LeaseSettings, "heartbeat_ms", 200)
    worker = WorkerHarness(replace(settings, lease=LeaseSettings(lease_ms=2000)))
    worker.load()
    agent = WorkerAgent(worker.executor, worker.ledger, worker.fleet, worker.io)
    go_on = threading.Event()
    agent.start()
    try:
        assert worker.fleet.serving_state().problem(1000) is None
        worker.io.loop.call_soon_threadsafe(go_on.wait, LOOP_SILENCE_S - 1)  # after it, this process ends
        silent_s = wait_until(lambda: worker.fleet.serving_state().problem(1000) == "no_progress", 3.5)
        assert silent_s > 1
        go_on.set()
        wait_until(lambda: worker.fleet.serving_state().problem(1000) is None)
    finally:
        go_on.set()
        agent.end()
        worker.close()


# ---- the recovery loop


@pytest.fixture
def start_worker(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., WorkerHarness]]:
    """Starts a worker with this interval of the recovery loop; it finds its work by heartbeats only."""
    monkeypatch.setattr("workers.agent.notify_workers", lambda _outcome: None)
    started = []

    def start(
        every_s: float = 0.02, models: Mapping[str, ModelDefinition] | None = None, **changes: object
    ) -> WorkerHarness:
        monkeypatch.setattr("workers.agent.RECOVERY_INTERVAL_S", every_s)
        worker = WorkerHarness(replace(settings, models=models or settings.models, **changes))  # type: ignore[arg-type]
        agent = WorkerAgent(worker.executor, worker.ledger, worker.fleet, worker.io)
        agent.start()
        started.append((worker, agent))
        return worker

    yield start
    for worker, agent in started:
        agent.end()
        worker.close()


def test_a_pending_load_resumes_as_soon_as_the_evicted_engine_has_ended(
    start_worker: Callable[..., WorkerHarness],
) -> None:
    worker = start_worker(every_s=3600)
    worker.load("beta")
    worker.fleet.load("alpha", LoadRequest(evict="beta"))
    worker.until(lambda: worker.fleet.row("alpha").state == "loaded")
    assert worker.fleet.row("beta").state == "unloaded"


def test_a_pending_load_of_a_dead_process_is_resumed(start_worker: Callable[..., WorkerHarness]) -> None:
    worker = start_worker()
    worker.load("beta")
    begin_load(worker.fleet, "alpha", "load_left", evicts="beta", evict_us=60_000_000)
    worker.until(lambda: worker.fleet.row("alpha").state == "loaded")
    assert worker.fleet.row("beta").state == "unloaded"


def test_a_replica_lost_with_another_worker_is_replaced_on_this_one(
    start_worker: Callable[..., WorkerHarness],
) -> None:
    worker = start_worker()
    other = worker.fleet.registry.register("w2", "cpu")
    (other_replica,) = (
        item for item in worker.fleet.load("alpha", LoadRequest(2)).assignments if item.worker == "w2"
    )
    worker.fleet.replica_starting(other_replica.replica, "w2", other)
    worker.fleet.replica_up(other_replica.replica, "w2", other, 2, 1)
    worker.until(lambda: worker.fleet.row("alpha").state == "loaded")
    worker.fleet.registry.deregister("w2", other, "shut down")
    worker.until(lambda: worker.fleet.row("alpha").loaded_replicas == 2)
    assert set(worker.fleet.row("alpha").workers) == {"w1"}


def test_a_crashed_engine_is_started_again_and_a_waiting_job_is_served(
    start_worker: Callable[..., WorkerHarness], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fleet.worker_reports.FIRST_RESTART_S", 0.1)
    model = ModelDefinition("alpha", "stub", options={"stub_tokens": 3})
    worker = start_worker(models={"alpha": model})
    worker.load("alpha")
    (replica,) = worker.executor.replicas.by_name.values()
    assert replica.engine
    assert replica.engine.pid
    freeze(replica.engine.pid)  # it answers nothing before its end
    id = worker.start_job("Hi")
    os.kill(replica.engine.pid, signal.SIGKILL)
    assert worker.end(id).status == "completed"
    row = worker.fleet.row("alpha")
    assert (row.state, row.crashes, row.restart_at) == ("loaded", 1, None)


def test_the_size_of_files_is_reported_when_it_changed(
    start_worker: Callable[..., WorkerHarness], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: list[dict[str, int]] = []
    report = Fleet.report_artifacts

    def record(fleet: Fleet, sizes: Mapping[str, int], shapes: Mapping[str, bytes]) -> None:
        reported.append(dict(sizes))
        report(fleet, sizes, shapes)

    monkeypatch.setattr(Fleet, "report_artifacts", record)
    monkeypatch.setattr("workers.agent.FILE_INTERVAL_S", 0.0)
    weights = tmp_path / "weights"
    weights.write_bytes(b"w")
    model = ModelDefinition("alpha", "stub", options={"stub_artifact": str(weights)})
    worker = start_worker(models={"alpha": model, "beta": ModelDefinition("beta", "stub")})
    worker.until(lambda: worker.fleet.row("alpha").artifact_mib == 1)
    worker.until(lambda: len(reported) > 5)
    weights.write_bytes(b"w" * 2 * 1024 * 1024)
    worker.until(lambda: worker.fleet.row("alpha").artifact_mib == 2)
    assert [sizes for sizes in reported if sizes] == [{"alpha": 1}, {"alpha": 2}]
    assert worker.fleet.row("beta").artifact_mib is None


def test_the_digest_of_files_is_reported_again_when_a_file_changed(
    start_worker: Callable[..., WorkerHarness], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.agent.FILE_INTERVAL_S", 0.0)
    weights = tmp_path / "weights"
    weights.write_bytes(b"weights")
    model = ModelDefinition("alpha", "stub", options={"stub_artifact": str(weights)})
    worker = start_worker(models={"alpha": model})
    first = worker.until(lambda: worker.fleet.file_digests("alpha"))
    assert list(first) == [socket.gethostname()]
    weights.write_bytes(b"changed")  # of the same size
    os.utime(weights, ns=(0, 1))
    worker.until(lambda: worker.fleet.file_digests("alpha") not in (first, {}))
    weights.unlink()
    worker.until(lambda: worker.fleet.file_digests("alpha") == {})


def test_the_device_memory_is_reported(start_worker: Callable[..., WorkerHarness]) -> None:
    worker = start_worker()
    (worker,) = worker.until(lambda: [one for one in worker.fleet.workers() if one.memory])
    assert 0 < worker.memory.free_mib <= worker.memory.total_mib
