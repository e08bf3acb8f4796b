"""Redis loses what a worker reported of its replicas: they end, and the model is loaded again."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from config.settings import LeaseSettings, Settings
from fleet.load_request import LoadRequest
from fleet.recovery import Recovery
from tests.support.waiting import wait_until
from tests.support.worker_harness import WorkerHarness


@pytest.fixture
def worker(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[WorkerHarness]:
    monkeypatch.setattr(LeaseSettings, "heartbeat_ms", 50)
    made = WorkerHarness(settings)
    yield made
    made.close()


class Kept:
    """What Redis has at one moment."""

    def __init__(self, worker: WorkerHarness) -> None:
        self.client, self.prefix = worker.client, worker.ledger.scripts.prefix
        self.values = {key: self.client.dump(key) for key in self.keys()}

    def keys(self) -> set[bytes]:
        return set(self.client.keys(f"{self.prefix}*"))  # type: ignore[arg-type]

    def restore(self) -> None:
        with self.client.pipeline(transaction=True) as pipe:
            for key in self.keys() - self.values.keys():
                pipe.delete(key)
            for key, value in self.values.items():
                pipe.restore(key, 0, value, replace=True)
            pipe.execute()


def loads_again(worker: WorkerHarness) -> None:
    """Send heartbeats until the model was lost and is loaded again, and check that it answers."""
    worker.until(lambda: worker.fleet.row("alpha").code == "load_interrupted")
    Recovery(worker.fleet).reload("alpha")
    worker.until(lambda: worker.fleet.row("alpha").state == "loaded")
    assert worker.end(worker.admit("/stub tokens=3")).status == "completed"
    assert worker.fleet.row("alpha").crashes == 0
    worker.until(lambda: len(worker.executor.replicas.by_name) == 1)


@pytest.mark.parametrize("state", ["assigned", "starting"])
def test_a_model_is_loaded_again_when_redis_lost_the_reports_of_its_load(
    worker: WorkerHarness, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    (item,) = worker.fleet.load("alpha", LoadRequest(1)).assignments
    kept = Kept(worker)
    report_up = worker.fleet.replica_up

    def keep_and_report(*arguments: Any, **options: Any) -> bool:
        nonlocal kept
        if state == "starting":
            kept = Kept(worker)
        return report_up(*arguments, **options)

    monkeypatch.setattr(worker.fleet, "replica_up", keep_and_report)
    worker.until(lambda: worker.fleet.row("alpha").state == "loaded")
    for thread in worker.threads:
        thread.join()
    kept.restore()
    assert worker.client.hget(f"{kept.prefix}replica:{item.replica}", "state") == state.encode()
    loads_again(worker)
    assert item.replica not in worker.executor.replicas.by_name


@pytest.mark.parametrize("asked", [False, True], ids=["idle", "asked"])
def test_a_model_is_loaded_again_when_redis_lost_the_report_of_its_crash(
    worker: WorkerHarness, asked: bool
) -> None:
    worker.load()
    kept = Kept(worker)
    (item,) = worker.executor.replicas.by_name.values()
    assert item.engine
    assert item.engine.pid
    os.kill(item.engine.pid, signal.SIGKILL)
    wait_until(lambda: not worker.executor.replicas.by_name)
    kept.restore()
    if asked:
        id = worker.admit("/stub tokens=3")
        worker.until(lambda: worker.fleet.row("alpha").code == "load_interrupted")
        Recovery(worker.fleet).reload("alpha")
        assert worker.end(id).status == "completed", "it waits for the next engine"
    else:
        loads_again(worker)
