"""The verdict on a model beside others, by the memory of the workers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from config.settings import ModelDefinition
from fleet.adding.fit import fit_of
from fleet.memory import DeviceMemory
from fleet.model_row import ModelRow, ReplicaRow
from fleet.states import ModelState
from fleet.worker_row import WorkerRow


def row(name: str, mib: int | None, worker: str = "", **fields: object) -> ModelRow:
    """A model that needs so much, loaded on a worker or not loaded."""
    hosted = (ReplicaRow(f"{name}-1", "up", worker, 1, 0, is_ready=True),) if worker else ()
    state = ModelState.LOADED if worker else ModelState.UNLOADED
    definition = ModelDefinition(name, "stub", **fields)  # type: ignore[arg-type]
    return ModelRow(name, definition, state, 1, len(hosted), 0, 0, artifact_mib=mib, hosted=hosted)


def worker(name: str, free: int, total: int = 1000) -> WorkerRow:
    return WorkerRow(name, "cpu", 0, 0.0, memory=DeviceMemory(name, total, free))


def test_the_best_worker_decides() -> None:
    fit = fit_of(row("new", 500), [], [worker("w1", 100), worker("w2", 600, 2000)])
    assert (fit.verdict, fit.need_mib, fit.free_mib, fit.total_mib) == ("fits", 500, 600, 2000)
    assert "w2 has 600 of 2000 MiB free" in fit.reason


def test_memory_that_a_load_was_promised_is_not_free() -> None:
    fit = fit_of(row("new", 500), [], [replace(worker("w1", 600), promised_mib=200)])
    assert (fit.verdict, fit.free_mib) == ("too_large", 400)


def test_as_few_models_as_possible_are_unloaded_for_it() -> None:
    loaded = [
        row("small", 100, "w1", on_demand="load"),
        row("large", 400, "w1", on_demand="load"),
        row("pinned", 300, "w1", on_demand="load", pin=True),
        row("configured", 700, "w2"),
    ]
    workers = [worker("w1", 200), worker("w2", 300)]
    fit = fit_of(row("new", 500), loaded, workers)
    assert (fit.verdict, fit.evicts, fit.free_mib) == ("fits_with_eviction", ("large",), 200)
    both = fit_of(row("new", 650), loaded, workers)
    assert (both.verdict, both.evicts) == ("fits_with_eviction", ("large", "small"))
    none = fit_of(row("new", 900), loaded, workers)
    assert (none.verdict, none.evicts, none.total_mib) == ("too_large", (), 1000)
    assert "unload a model first (pinned, configured)" in none.reason
    assert "nor more than 1000 in all" in fit_of(row("new", 5000), loaded, workers).reason


@pytest.mark.parametrize(
    ("need", "workers"), [(None, [worker("w1", 10)]), (5, []), (5, [WorkerRow("w1", "cpu", 0, 0.0)])]
)
def test_the_verdict_is_unknown_without_the_numbers(need: int | None, workers: list[WorkerRow]) -> None:
    fit = fit_of(row("new", need), [], workers)
    assert (fit.verdict, fit.need_mib, fit.evicts) == ("unknown", need, ())
    assert fit.reason


def test_a_worker_that_drains_holds_no_new_model() -> None:
    drained = replace(worker("w1", 900), draining=True)
    assert fit_of(row("new", 500), [], [drained]).verdict == "unknown"
    assert fit_of(row("new", 500), [], [drained, worker("w2", 100)]).verdict == "too_large"
