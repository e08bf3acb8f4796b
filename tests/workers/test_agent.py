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
from tests.workers.test_executor import Seat
from workers.agent import WorkerAgent


def test_a_model_that_fits_no_worker_is_named_once_and_keeps_no_other_from_loading(
    settings: Settings, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.agent.ring", lambda _change: None)  # the heartbeat hears it as well
    monkeypatch.setattr("workers.agent.LOOK_EVERY_S", 0.02)
    models = {
        "big": ModelDefinition("big", "stub", device="cuda", enabled=True),
        "small": ModelDefinition("small", "stub", enabled=True),
    }
    seat = Seat(replace(settings, models=models))
    agent = WorkerAgent(seat.host, seat.ledger, seat.fleet, redis.Redis.from_url(settings.redis.url))
    with caplog.at_level(logging.WARNING, "workers"):
        agent.start()
        seat.until(lambda: seat.fleet.row("small").state == "loaded")
        time.sleep(0.2)  # many looks later
        agent.stop()
    row = seat.fleet.row("big")
    assert row.state == "unloaded"
    assert "no worker with a cuda device" in (row.last_error or ""), "operators see it too"
    told = [record.getMessage() for record in caplog.records if "big" in record.getMessage()]
    assert len(told) == 1
    assert told[0].startswith("big should be loaded and is not: no worker with a cuda device is running")
    seat.host.kill()
    agent.end()


# ---- a look


@pytest.fixture
def look(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Seat]]:
    """Begins a seat whose heart looks so often, and hears no bells but the heartbeat's."""
    monkeypatch.setattr("workers.agent.ring", lambda _change: None)
    monkeypatch.setattr("workers.agent.EAR_S", 0.02)
    begun = []

    def begin(every_s: float = 0.02, models: Mapping[str, ModelDefinition] | None = None) -> Seat:
        monkeypatch.setattr("workers.agent.LOOK_EVERY_S", every_s)
        seat = Seat(replace(settings, models=models or settings.models))
        agent = WorkerAgent(seat.host, seat.ledger, seat.fleet, redis.Redis.from_url(settings.redis.url))
        agent.start()
        begun.append((seat, agent))
        return seat

    yield begin
    for seat, agent in begun:
        seat.host.kill()
        agent.end()


def test_a_load_that_waits_goes_on_as_soon_as_the_other_engine_has_ended(look: Callable[..., Seat]) -> None:
    seat = look(every_s=3600)
    seat.load("beta")
    seat.fleet.load("alpha", LoadRequest(evict="beta"))
    seat.until(lambda: seat.fleet.row("alpha").state == "loaded")
    assert seat.fleet.row("beta").state == "unloaded"


def test_what_a_dead_process_left_waiting_is_gone_on_with(look: Callable[..., Seat]) -> None:
    seat = look()
    seat.load("beta")
    arguments = ("alpha", "load_left", 1, 5_000_000, "{}", "", "", "beta", 60_000_000, "", 0)
    seat.fleet.scripts.run("begin_load", *arguments)
    seat.until(lambda: seat.fleet.row("alpha").state == "loaded")
    assert seat.fleet.row("beta").state == "unloaded"


def test_a_replica_that_another_worker_took_with_it_is_replaced_here(look: Callable[..., Seat]) -> None:
    seat = look()
    other = seat.ledger.register("w2", f"{seat.ledger.scripts.prefix}bells", "@ID@", "cpu")
    (elsewhere,) = (
        item for item in seat.fleet.load("alpha", LoadRequest(2)).assignments if item.worker == "w2"
    )
    seat.fleet.replica_starting(elsewhere.replica, "w2", other)
    seat.fleet.replica_up(elsewhere.replica, "w2", other, 2, 1)
    seat.until(lambda: seat.fleet.row("alpha").state == "loaded")
    seat.ledger.deregister("w2", other, "shut down")
    seat.until(lambda: seat.fleet.row("alpha").loaded_replicas == 2)
    assert set(seat.fleet.row("alpha").workers) == {"w1"}


def test_the_size_of_the_files_is_told_when_it_is_new(
    look: Callable[..., Seat], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[dict[str, int]] = []
    tell = Fleet.report_artifacts

    def remember(fleet: Fleet, sizes: Mapping[str, int]) -> None:
        told.append(dict(sizes))
        tell(fleet, sizes)

    monkeypatch.setattr(Fleet, "report_artifacts", remember)
    monkeypatch.setattr("workers.agent.FILES_EVERY_S", 0.0)
    weights = tmp_path / "weights"
    weights.write_bytes(b"w")
    model = ModelDefinition("alpha", "stub", options={"stub_artifact": str(weights)})
    seat = look(models={"alpha": model, "beta": ModelDefinition("beta", "stub")})
    seat.until(lambda: seat.fleet.row("alpha").artifact_mib == 1)
    seat.until(lambda: len(told) > 5)
    weights.write_bytes(b"w" * 2 * 1024 * 1024)
    seat.until(lambda: seat.fleet.row("alpha").artifact_mib == 2)
    assert [sizes for sizes in told if sizes] == [{"alpha": 1}, {"alpha": 2}]
    assert seat.fleet.row("beta").artifact_mib is None


def test_what_the_device_has_left_is_told(look: Callable[..., Seat]) -> None:
    seat = look()
    (worker,) = seat.until(lambda: [one for one in seat.fleet.workers() if one.memory])
    assert 0 < worker.memory.free_mib <= worker.memory.total_mib
