"""What an added model would be: its files, its configuration with reasons, and whether it fits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from backends.catalogue import REDACTED
from config.hub_artifact import HubArtifact
from config.settings import ROOT, HubSettings, ModelDefinition, Settings
from fleet.adding.errors import InvalidAddition
from fleet.adding.plan import plan_addition
from fleet.artifacts.gguf_writer import TensorPlan, gguf_head, padded
from fleet.errors import HubRefused, NotDownloaded
from fleet.fleet import Fleet
from fleet.memory import DeviceMemory, Gpu
from store.redis_connections import command_client
from tests.support.hub_server import HubServer, Repository, serving_hub
from workers.downloads.program import fetch

DEMO = ROOT / "models" / "stoker-demo.gguf"
COMMIT = "c" * 40
QWEN = "{% if enable_thinking %}<think>{% endif %}<tool_call>"


def gguf(*, megabytes: int = 1, **settings: Any) -> bytes:
    """A GGUF file with a header as llama.cpp's converter writes it, and zeros for its numbers."""
    head = {
        "general.architecture": "llama",
        "llama.block_count": 4,
        "llama.context_length": 32768,
        "llama.embedding_length": 1024,
        "llama.attention.head_count": 8,
        "llama.attention.head_count_kv": 8,
        "llama.feed_forward_length": 2048,
        "tokenizer.chat_template": QWEN,
        **settings,
    }
    tensor = TensorPlan("blk.0.ffn_up.weight", (megabytes * 512, 1024), "fp16")
    return gguf_head(head, [tensor]) + bytes(padded(tensor.bytes))


def projector() -> bytes:
    head = {"general.architecture": "clip", "clip.vision.image_size": 32, "clip.vision.patch_size": 16}
    tensor = TensorPlan("v.patch", (32, 1024), "fp16")
    return gguf_head(head, [tensor]) + bytes(padded(tensor.bytes))


@pytest.fixture
def fleet(settings: Settings, tmp_path: Path) -> Fleet:
    (tmp_path / "models").mkdir()
    changed = replace(
        settings,
        data_dir=tmp_path / "data",
        model_base_path=tmp_path / "models",
        runtimes_dir=tmp_path / "runtimes",
        models={"taken": ModelDefinition("taken", "stub")},
    )
    return Fleet(command_client(changed), changed)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    files = {
        "README.md": b"x",
        "Tiny-Q2_K.gguf": gguf(megabytes=1),
        "Tiny-Q4_K_M.gguf": gguf(megabytes=2),
        "Tiny-Q8_0.gguf": gguf(megabytes=4),
        "Tiny-F16.gguf": gguf(megabytes=8),
        "mmproj-F16.gguf": projector(),
    }
    with serving_hub({"acme/Tiny-GGUF": Repository(files)}, tmp_path / "hf", monkeypatch) as server:
        yield server


def with_worker(fleet: Fleet, free_mib: int, total_mib: int = 100_000, name: str = "w1") -> None:
    incarnation = fleet.registry.register(name, "cuda")
    gpu = Gpu(0, f"GPU-{name}", "NVIDIA", total_mib - free_mib, total_mib)
    fleet.report_memory(name, incarnation, DeviceMemory(f"GPU-{name}", total_mib, free_mib, (gpu,)))


def reasons(plan: Any) -> dict[str, str]:
    return {default.field: default.reason for default in plan.defaults}


@pytest.mark.usefixtures("hub")
def test_a_repository_is_planned_with_its_quantization_companions_and_context(fleet: Fleet) -> None:
    with_worker(fleet, 80_000)
    plan = plan_addition(fleet, "acme/Tiny-GGUF")
    assert plan.model == "Tiny-Q4_K_M"
