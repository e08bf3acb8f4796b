"""A fleet with a folder of models, and a hub with one repository."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from config.settings import ModelDefinition, Settings
from fleet import hub_preview
from fleet.fleet import Fleet
from fleet.memory import DeviceMemory, Gpu
from store.redis_connections import command_client
from tests.fleet.adding.gguf_bytes import gguf, projector
from tests.support.hub_server import HubServer, Repository, serving_hub

WithWorker = Callable[..., None]


@pytest.fixture
def fleet(settings: Settings, tmp_path: Path) -> Fleet:
    (tmp_path / "models").mkdir()
    changed = replace(
        settings,
        data_dir=tmp_path / "data",
        model_base_path=tmp_path / "models",
        runtimes_dir=tmp_path / "runtimes",
        models={"Tiny-Q8_0": ModelDefinition("Tiny-Q8_0", "stub")},
    )
    return Fleet(command_client(changed), changed)


@pytest.fixture
def hub(hub_of_processes: HubServer, monkeypatch: pytest.MonkeyPatch) -> HubServer:
    """The same hub, asked in the test's process: the start of another one takes half a second."""
    monkeypatch.setattr(hub_preview, "ask", lambda _module, asked: hub_preview.answer(asked))
    return hub_of_processes


@pytest.fixture
def hub_of_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """A hub with a repository of GGUF files as people publish them, and an empty cache."""
    files = {
        "README.md": b"x",
        "Tiny-Q2_K.gguf": gguf(mib=1),
        "Tiny-Q4_K_M.gguf": gguf(mib=2),
        "Tiny-Q8_0.gguf": gguf(mib=4),
        "mmproj-F16.gguf": projector(),
    }
    with serving_hub({"acme/Tiny-GGUF": Repository(files)}, tmp_path / "hf", monkeypatch) as server:
        yield server


@pytest.fixture
def with_worker(fleet: Fleet) -> WithWorker:
    """Registers a worker with a GPU, of whose memory so much is free."""

    def register(free_mib: int, total_mib: int = 100_000, name: str = "w1") -> None:
        incarnation = fleet.registry.register(name, "cuda")
        gpu = Gpu(0, f"GPU-{name}", "NVIDIA", total_mib - free_mib, total_mib)
        fleet.report_memory(name, incarnation, DeviceMemory(f"GPU-{name}", total_mib, free_mib, (gpu,)))

    return register
