"""Which worker takes a replica."""

from __future__ import annotations

from dataclasses import replace

import pytest
import redis

from config.settings import ModelDefinition, Settings
from fleet.errors import NoWorker
from fleet.placement import place
from fleet.worker import WorkerRow
from tests.scheduler.house import House

ANY = ModelDefinition("alpha", "stub")


def row(name: str, replicas: int = 0, device: str = "cpu", draining: bool = False) -> WorkerRow:
    return WorkerRow(name, device, replicas, 0.0, draining)


def test_replicas_go_to_the_emptiest_workers_in_turn() -> None:
    workers = [row("w1", 2), row("w2", 0), row("w3", 1)]
    assert place(ANY, 1, workers) == ["w2"]
    assert place(ANY, 5, workers) == ["w2", "w2", "w3", "w1", "w2"]


def test_equals_are_taken_by_name() -> None:
    assert place(ANY, 3, [row("b"), row("a"), row("c")]) == ["a", "b", "c"]


def test_a_model_goes_to_the_device_it_asks_for() -> None:
    workers = [row("c1", device="cpu"), row("g1", 3, device="cuda")]
    assert place(replace(ANY, device="cuda"), 1, workers) == ["g1"]
    assert place(replace(ANY, device="cpu"), 1, workers) == ["c1"]
    assert place(replace(ANY, device="auto"), 1, workers) == ["c1"]


def test_a_worker_that_drains_takes_nothing() -> None:
    assert place(ANY, 2, [row("w1", draining=True), row("w2", 7)]) == ["w2", "w2"]


@pytest.mark.parametrize(
    ("model", "workers"),
    [(ANY, []), (replace(ANY, device="cuda"), [row("w1")]), (ANY, [row("w1", draining=True)])],
    ids=["nobody", "no such device", "all drain"],
)
def test_without_a_fitting_worker_the_load_is_refused(
    model: ModelDefinition, workers: list[WorkerRow]
) -> None:
    with pytest.raises(NoWorker) as refusal:
        place(model, 1, workers)
    assert refusal.value.retry_after_s


def test_a_house_without_workers_loads_nothing_and_remembers_nothing(
    client: redis.Redis, settings: Settings
) -> None:
    house = House(client, settings)
    with pytest.raises(NoWorker):
        house.fleet.load("alpha")
    assert house.model() == "unloaded"
    assert client.keys(f"{house.prefix}*") == []


def test_a_worker_that_went_after_it_was_chosen_leaves_no_model_loading(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = house.fleet.workers()
    monkeypatch.setattr(house.fleet, "workers", lambda: seen)
    house.ledger.deregister("w1", house.incarnations["w1"], "shut down")
    with pytest.raises(NoWorker):
        house.fleet.load("alpha")
    assert house.model() == "unloaded"
    assert house.client.keys(f"{house.prefix}hosts:*") == []


def test_what_a_worker_hosts_counts_whatever_its_state(house: House) -> None:
    house.fleet.load("alpha")
    assert house.fleet.load("beta").assignments[0].worker == "w2"
    assert [(worker.name, worker.replicas, worker.device) for worker in house.fleet.workers()] == [
        ("w1", 1, "cpu"),
        ("w2", 1, "cpu"),
    ]
    assert not any(worker.draining for worker in house.fleet.workers())
    house.ledger.drain("w1", house.incarnations["w1"])
    assert [worker.draining for worker in house.fleet.workers()] == [True, False]
