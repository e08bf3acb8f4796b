"""A load whose files are on a hub: its operation while they are downloaded, and the engine afterwards."""

from __future__ import annotations

import random
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from backends.catalogue import BACKENDS
from config.settings import ROOT, HubSettings, ModelDefinition, Settings
from fleet.operation import Operation
from tests.support.hub_server import HubServer, Repository, serving_hub
from tests.support.worker_harness import WorkerHarness

CHUNK = 1024 * 1024
WEIGHTS = random.Random(1).randbytes(2 * CHUNK)
OPTIONS = {"llama_server_n_ctx": 512, "llama_server_n_threads": 1}
ON_HUB = ModelDefinition("alpha", "stub", model_path="hf://acme/tiny")


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    demo = (ROOT / "models/stoker-demo.gguf").read_bytes()
    repositories = {
        "acme/tiny": Repository({"model.safetensors": WEIGHTS}),
        "acme/demo": Repository({"demo.gguf": demo, "other.gguf": demo}),
    }
    with serving_hub(repositories, tmp_path / "hf", monkeypatch) as server:
        yield server


@pytest.fixture
def start_worker(settings: Settings) -> Iterator[Callable[[ModelDefinition], WorkerHarness]]:
    started = []

    def start(model: ModelDefinition) -> WorkerHarness:
        worker = WorkerHarness(replace(settings, models={"alpha": model}, hub=HubSettings(keep_free_mib=0)))
        started.append(worker)
        return worker

    yield start
    for worker in started:
        worker.close()


def operation(worker: WorkerHarness) -> Operation:
    found = worker.fleet.operation(worker.fleet.row("alpha").operation_id or "")
    assert found is not None
    return found


def test_an_operation_shows_the_download_and_an_unload_cancels_it(
    hub: HubServer, start_worker: Callable[[ModelDefinition], WorkerHarness]
) -> None:
    hub.hold, hub.hold_after = threading.Event(), CHUNK
    worker = start_worker(ON_HUB)
    load = worker.fleet.load("alpha").operation
    assert load is not None
    worker.until(lambda: operation(worker).progress > 0)
    worker.fleet.scripts.offset_us -= 3600 * 1_000_000  # the expected end lies ahead, however fast it was
    shown = operation(worker)
    worker.fleet.scripts.offset_us += 3600 * 1_000_000
    assert re.fullmatch(r"downloading: 1\.05 of 2\.10 MB, \d+\.\d MB/s", shown.stage)
    assert shown.progress == pytest.approx(0.4)
    assert shown.eta_s is not None
    worker.fleet.unload("alpha")
    worker.until(lambda: worker.fleet.row("alpha").state == "unloaded")
    cancelled = worker.fleet.operation(load.id)
    assert cancelled is not None
    assert cancelled.status == "cancelled"


def test_the_usual_duration_of_a_load_is_that_without_its_download(
    hub: HubServer, start_worker: Callable[[ModelDefinition], WorkerHarness]
) -> None:
    hub.hold, hub.hold_after = threading.Event(), CHUNK
    worker = start_worker(ON_HUB)
    worker.fleet.load("alpha")
    worker.until(lambda: operation(worker).progress > 0)
    worker.fleet.scripts.offset_us += 3600 * 1_000_000  # the download takes an hour
    hub.hold.set()
    worker.until(lambda: worker.fleet.row("alpha").state == "loaded")
    assert (worker.fleet.row("alpha").load_ms or 0) < 600_000


def test_a_failed_download_is_the_reason_of_the_failed_load(
    hub: HubServer, start_worker: Callable[[ModelDefinition], WorkerHarness]
) -> None:
    hub.corrupts = True
    worker = start_worker(ON_HUB)
    worker.fleet.load("alpha")
    worker.until(lambda: worker.fleet.row("alpha").state == "failed")
    assert operation(worker).code == "hash_mismatch"
    assert "model.safetensors" in (operation(worker).error or "")


def test_an_engine_answers_from_the_downloaded_file(
    hub: HubServer, start_worker: Callable[[ModelDefinition], WorkerHarness]
) -> None:
    model = ModelDefinition(
        "alpha",
        "llama_server",
        model_path="hf://acme/demo@main/demo.gguf",
        options=BACKENDS["llama_server"].with_defaults(OPTIONS),
    )
    worker = start_worker(model)
    worker.load("alpha")
    assert worker.end(worker.admit("Hi")).status in ("completed", "incomplete")
    assert {file for file, _ in hub.sent} == {"demo.gguf"}
