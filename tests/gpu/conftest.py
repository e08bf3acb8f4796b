"""Fixtures for a machine with an NVIDIA GPU: which one is used, and what is loaded on it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.load import load_settings
from config.settings import ModelDefinition
from tests.backends.conftest import DEMO_MODEL, shared, start  # noqa: F401 - the fixtures of engines
from tests.gpu.cards import Card, Cards
from workers.environments import manifest
from workers.nvml import DriverError, visible_gpus

BACKENDS = ("llama_cpp", "exllamav3")
FIGURES: list[str] = []
"""What was measured, one line each, for docs/gpu.md."""


@pytest.fixture(scope="session")
def cards() -> Cards:
    """Skips where there is no GPU; `python -m tests.gpu` fails there."""
    cards = Cards()
    try:
        if not cards.all():
            pytest.skip("the NVIDIA driver here has no GPU")
    except DriverError as error:
        pytest.skip(f"no NVIDIA GPU can be read here: {error}")
    return cards


@pytest.fixture(scope="session", autouse=True)
def card(cards: Cards) -> Iterator[Card]:
    """The GPU that engines are pinned to, by its UUID: the last of those that CUDA_VISIBLE_DEVICES allows."""
    there = cards.all()
    allowed = os.environ.get("CUDA_VISIBLE_DEVICES")
    indices = range(len(there)) if allowed is None else visible_gpus(allowed, [card.uuid for card in there])
    if not indices:
        pytest.skip(f"CUDA_VISIBLE_DEVICES is {allowed!r}, which is no GPU")
    one = there[indices[-1]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CUDA_VISIBLE_DEVICES", one.uuid)
        yield one


def needs(backend: str) -> None:
    """Skip where a backend is not installed for GPUs."""
    made = manifest.read(load_settings().runtimes_dir / backend)
    if made is None or made.variant != "cuda":
        pytest.skip(f"run `stoker runtimes install {backend} --variant cuda`")


def version_of(backend: str) -> str:
    """The version of a backend's library that is installed."""
    made = manifest.read(load_settings().runtimes_dir / backend)
    return "" if made is None else made.version


@pytest.fixture(params=BACKENDS)
def model(request: pytest.FixtureRequest, demo_checkpoint: Path) -> ModelDefinition:
    """The demo model for each backend."""
    needs(request.param)
    if request.param == "llama_cpp":
        options = {"gguf_n_ctx": 2048, "gguf_n_gpu_layers": -1}
        return ModelDefinition("model", "llama_cpp", model_path=str(DEMO_MODEL), options=options)
    return ModelDefinition(
        "model", "exllamav3", model_path=str(demo_checkpoint), options={"exllama_cache_size": 4096}
    )


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show what was measured."""
    if FIGURES:
        terminalreporter.section("figures for docs/gpu.md")
        for line in FIGURES:
            terminalreporter.write_line(line)
