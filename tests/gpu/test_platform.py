"""The whole platform on a GPU: the memory of a load is measured, shown and freed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from config.load import load_settings
from tests.gpu.cards import Card, Cards
from tests.gpu.conftest import BACKENDS, FIGURES, needs
from tests.support.gateway import Gateway
from tests.support.platform import Platform, running_platform

pytestmark = [pytest.mark.gpu, pytest.mark.journey, pytest.mark.timeout(900)]

LOAD_S = 300.0
NEAR_MIB = 16
LEAST_MIB = 64


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Gateway:
    return Gateway(tmp_path_factory.mktemp("gateway"))


@pytest.fixture(scope="module")
def platform(
    tmp_path_factory: pytest.TempPathFactory, demo_checkpoint: Path, card: Card, gateway: Gateway
) -> Iterator[Platform]:
    shared = {"target_inflight": 4, "prompt_format": "qwen3_template"}
    models = {
        "stoker-demo": {"enabled": False},
        "llama_cpp": {
            "backend": "llama_cpp",
            "model_path": "models/stoker-demo.gguf",
            "gguf_n_ctx": 1024,
            **shared,
        },
        "exllamav3": {
            "backend": "exllamav3",
            "model_path": str(demo_checkpoint),
            "exllama_cache_size": 4096,
            **shared,
        },
    }
    environment = {
        "CUDA_VISIBLE_DEVICES": card.uuid,
        "STOKER_RUNTIMES_DIR": str(load_settings().runtimes_dir),
        "VERIFIED_OP_TOKEN_KEY_PATH": str(gateway.path),
    }
    folder = tmp_path_factory.mktemp("up")
    with running_platform(
        folder, {"models": models}, "--port", "0", "--no-flower", environment=environment
    ) as up:
        up.wait_for(lambda: shown(up, card), 30, "the GPU's memory")
        yield up


def shown(platform: Platform, card: Card) -> dict[str, object] | None:
    """The GPU in the Runtime Admin API."""
    _, memory = platform.admin("GET", "/v1/admin/gpu-memory")
    return next((gpu for gpu in memory["gpus"] if gpu["total_mib"] == card.total_mib), None)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_memory_of_a_load_is_measured_and_freed_by_the_unload(
    platform: Platform, gateway: Gateway, cards: Cards, card: Card, backend: str
) -> None:
    needs(backend)
    before = cards.used_mib()
    status, answer = platform.admin("POST", f"/v1/admin/models/{backend}/load", {})
    assert status == 202, answer
    row = platform.wait_state(backend, "loaded", LOAD_S)
    taken = cards.used_mib()[card.uuid] - before[card.uuid]
    FIGURES.append(f"{backend}: observed {row['vram_estimate_mib']} MiB, the driver {taken} MiB")
    assert row["vram_estimate_source"] == "observed_load_delta"
    assert row["vram_estimate_mib"] == pytest.approx(taken, abs=NEAR_MIB)
    assert row["vram_estimate_mib"] >= LEAST_MIB
    status, answer = platform.respond(backend, "What is the capital of Norway?", temperature=0)
    assert status == 200, answer
    assert answer["output"][0]["content"][0]["text"] == "The capital of Norway is Oslo."
    status, unloaded, _ = platform.request(
        "POST", "/v1/models/unload", gateway.unload(backend), platform.keys["admin_key"], Prefer="wait=60"
    )
    assert (status, unloaded["status"]) == (200, "completed")
    assert unloaded["gpuMemoryFreedMB"] == pytest.approx(taken, abs=NEAR_MIB)
    after = cards.wait_used_mib(before, NEAR_MIB)
    assert abs(after[card.uuid] - before[card.uuid]) <= NEAR_MIB
