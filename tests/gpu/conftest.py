"""Fixtures for a machine with an NVIDIA GPU: the GPU to use, and the models to load."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.load import load_settings
from config.settings import ModelDefinition
from engines.environments import manifest
from engines.nvml import DriverError, visible_devices
from tests.backends.conftest import DEMO_MODEL, shared, start  # noqa: F401 - fixtures
from tests.gpu.cards import Card, Cards

BACKENDS = ("llama_cpp", "exllamav3")
FIGURES: list[str] = []
"""Measured figures for docs/gpu.md, one line each."""


@pytest.fixture(scope="session")
def cards() -> Cards:
    """All GPUs. Skips the tests where there is none; `python -m tests.gpu` fails there."""
    cards = Cards()
    try:
        if not cards.all():
            pytest.skip("the NVIDIA driver here has no GPU")
    except DriverError as error:
        pytest.skip(f"no NVIDIA GPU can be read here: {error}")
    return cards


@pytest.fixture(scope="session", autouse=True)
def card(cards: Cards) -> Iterator[Card]:
    """The GPU that engines are pinned to: the last one that CUDA_VISIBLE_DEVICES allows."""
    all_cards = cards.all()
    allowed = os.environ.get("CUDA_VISIBLE_DEVICES")
    if allowed is not None:
        uuids = [device.uuid for device in visible_devices(allowed, cards.devices())]
        all_cards = [card for uuid in uuids for card in all_cards if card.uuid == uuid]
    if not all_cards:
        pytest.skip(f"CUDA_VISIBLE_DEVICES is {allowed!r}, which selects no GPU")
    one = all_cards[-1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CUDA_VISIBLE_DEVICES", one.uuid)
        yield one


def needs(backend: str) -> None:
    """Skip the test where a backend is not installed for GPUs."""
    installed = manifest.read(load_settings().runtimes_dir / backend)
    if installed is None or installed.variant != "cuda":
        pytest.skip(f"run `stoker runtimes install {backend} --variant cuda`")


def version_of(backend: str) -> str:
    """The installed version of a backend's library; empty when there is none."""
    installed = manifest.read(load_settings().runtimes_dir / backend)
    return "" if installed is None else installed.version


@pytest.fixture(params=BACKENDS)
def model(request: pytest.FixtureRequest, demo_checkpoint: Path) -> ModelDefinition:
    """The demo model, for each backend."""
    needs(request.param)
    if request.param == "llama_cpp":
        options = {"gguf_n_ctx": 2048, "gguf_n_gpu_layers": -1}
        return ModelDefinition("model", "llama_cpp", model_path=str(DEMO_MODEL), options=options)
    return ModelDefinition(
        "model", "exllamav3", model_path=str(demo_checkpoint), options={"exllama_cache_size": 4096}
    )


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show the measured figures."""
    if FIGURES:
        terminalreporter.section("figures for docs/gpu.md")
        for line in FIGURES:
            terminalreporter.write_line(line)
