"""The heart, with the real ledger."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import redis

from config.settings import ModelDefinition, Settings
from fleet.fleet import Fleet
from fleet.load_request import LoadRequest
from tests.support.worker_harness import WorkerHarness
from workers.agent import WorkerAgent


def test_a_model_that_fits_no_worker_is_named_once_and_keeps_no_other_from_loading(
    settings: Settings, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "workers.agent.notify_workers", lambda _change: None
    )  # the heartbeat hears it as well
    monkeypatch.setattr("workers.agent.RECOVERY_INTERVAL_S", 0.02)
    models = {
        "big": ModelDefinition("big", "stub", device="cuda", enabled=True),
        "small": ModelDefinition("small", "stub", enabled=True),
    }
    worker = WorkerHarness(replace(settings, models=models))
    agent = WorkerAgent(
        worker.executor, worker.ledger, worker.fleet, redis.Redis.from_url(settings.redis.url)
    )
    with caplog.at_level(logging.WARNING, "workers"):
        agent.start()
        worker.until(lambda: worker.fleet.row("small").state == "loaded")
        time.sleep(0.2)  # many looks later
        agent.stop()
    row = worker.fleet.row("big")
    assert row.state == "unloaded"
    assert "no worker with a cuda device" in (row.last_error or ""), "operators see it too"
    told = [record.getMessage() for record in caplog.records if "big" in record.getMessage()]
    assert len(told) == 1
    assert told[0].startswith("big should be loaded and is not: no worker with a cuda device is running")
    worker.executor.kill()
    agent.end()


# ---- a look


@pytest.fixture
def look(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., WorkerHarness]]:
    """Begins a worker whose heart looks so often, and hears no bells but the heartbeat's."""
    monkeypatch.setattr("workers.agent.notify_workers", lambda _change: None)
    monkeypatch.setattr("workers.agent.LISTEN_TIMEOUT_S", 0.02)
    begun = []

    def begin(every_s: float = 0.02, models: Mapping[str, ModelDefinition] | None = None) -> WorkerHarness:
        monkeypatch.setattr("workers.agent.RECOVERY_INTERVAL_S", every_s)
        worker = WorkerHarness(replace(settings, models=models or settings.models))
        agent = WorkerAgent(
            worker.executor, worker.ledger, worker.fleet, redis.Redis.from_url(settings.redis.url)
        )
        agent.start()
        begun.append((worker, agent))
        return worker

    yield begin
    for worker, agent in begun:
        worker.executor.kill()
        agent.end()


def test_a_load_that_waits_goes_on_as_soon_as_the_other_engine_has_ended(
    look: Callable[..., WorkerHarness],
) -> None:
    worker = look(every_s=3600)
    worker.load("beta")
    worker.fleet.load("alpha", LoadRequest(evict="beta"))
    worker.until(lambda: worker.fleet.row("alpha").state == "loaded")
    assert worker.fleet.row("beta").state == "unloaded"


def test_what_a_dead_process_left_waiting_is_gone_on_with(look: Callable[..., WorkerHarness]) -> None:
    worker = look()
    worker.load("beta")
    arguments = ("alpha", "load_left", 1, 5_000_000, "{}", "", "", "beta", 60_000_000, "", 0)
    worker.fleet.scripts.run("begin_load", *arguments)
    worker.until(lambda: worker.fleet.row("alpha").state == "loaded")
    assert worker.fleet.row("beta").state == "unloaded"


def test_a_replica_that_another_worker_took_with_it_is_replaced_here(
    look: Callable[..., WorkerHarness],
) -> None:
    worker = look()
    other = worker.ledger.register("w2", f"{worker.ledger.scripts.prefix}bells", "@ID@", "cpu")
    (elsewhere,) = (
        item for item in worker.fleet.load("alpha", LoadRequest(2)).assignments if item.worker == "w2"
    )
    worker.fleet.replica_starting(elsewhere.replica, "w2", other)
    worker.fleet.replica_up(elsewhere.replica, "w2", other, 2, 1)
    worker.until(lambda: worker.fleet.row("alpha").state == "loaded")
    worker.ledger.deregister("w2", other, "shut down")
    worker.until(lambda: worker.fleet.row("alpha").loaded_replicas == 2)
    assert set(worker.fleet.row("alpha").workers) == {"w1"}


def test_the_size_of_the_files_is_told_when_it_is_new(
    look: Callable[..., WorkerHarness], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[dict[str, int]] = []
    tell = Fleet.report_artifacts

    def remember(fleet: Fleet, sizes: Mapping[str, int]) -> None:
        told.append(dict(sizes))
        tell(fleet, sizes)

    monkeypatch.setattr(Fleet, "report_artifacts", remember)
    monkeypatch.setattr("workers.agent.FILE_SIZE_INTERVAL_S", 0.0)
    weights = tmp_path / "weights"
    weights.write_bytes(b"w")
    model = ModelDefinition("alpha", "stub", options={"stub_artifact": str(weights)})
    worker = look(models={"alpha": model, "beta": ModelDefinition("beta", "stub")})
    worker.until(lambda: worker.fleet.row("alpha").artifact_mib == 1)
    worker.until(lambda: len(told) > 5)
    weights.write_bytes(b"w" * 2 * 1024 * 1024)
    worker.until(lambda: worker.fleet.row("alpha").artifact_mib == 2)
    assert [sizes for sizes in told if sizes] == [{"alpha": 1}, {"alpha": 2}]
    assert worker.fleet.row("beta").artifact_mib is None


def test_what_the_device_has_left_is_told(look: Callable[..., WorkerHarness]) -> None:
    worker = look()
    (worker,) = worker.until(lambda: [one for one in worker.fleet.workers() if one.memory])
    assert 0 < worker.memory.free_mib <= worker.memory.total_mib
