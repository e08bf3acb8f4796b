"""The LoRA adapters of a model, in PEFT's form: a folder with `adapter_config.json` and the weights."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from backends.base import LoadError
from config.settings import ROOT

RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""The values of vLLM's `max_lora_rank`."""

MAX_BATCHED = 8
"""Adapters of one step on a GPU. Each has its place in the GPU's memory; requests with others wait."""

CONFIG = "adapter_config.json"
MAX_CONFIG_BYTES = 1 << 20


def find_loras(given: Mapping[str, str] | None) -> dict[str, str]:
    """The folders of the adapters by name, in the order of the names. Raises `LoadError` (load_failed)."""
    loras = {name: ROOT / Path(path).expanduser() for name, path in sorted((given or {}).items())}
    for name, folder in loras.items():
        if not (folder / CONFIG).is_file():
            sentence = f"{folder} has no {CONFIG}: put the adapter there, or correct vllm_lora.{name}"
            raise LoadError("load_failed", sentence)
    return {name: str(folder) for name, folder in loras.items()}


def lora_arguments(loras: Mapping[str, str], *, on_cpu: bool) -> dict[str, Any]:
    """The arguments of vLLM for these adapters. Raises `LoadError` (load_failed).

    On the CPU there is a place for each adapter, and one that stays empty: vLLM gives requests without an
    adapter the index -1, which is the last place there (vLLM 0.32, `lora/ops/torch_ops`).
    """
    if not loras:
        return {}
    largest = max(_rank(name, Path(folder)) for name, folder in loras.items())
    places = len(loras) + 1 if on_cpu else min(len(loras), MAX_BATCHED)
    return {
        "enable_lora": True,
        "max_loras": places,
        "max_cpu_loras": max(len(loras), places),
        "max_lora_rank": next(rank for rank in RANKS if rank >= largest),
    }


def _rank(name: str, folder: Path) -> int:
    """The largest rank of an adapter's modules."""
    try:
        with (folder / CONFIG).open("rb") as file:
            config = json.loads(file.read(MAX_CONFIG_BYTES))
        rank = max(int(rank) for rank in (config["r"], *(config.get("rank_pattern") or {}).values()))
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        sentence = f"{folder / CONFIG} is not the configuration of a LoRA adapter: correct vllm_lora.{name}"
        raise LoadError("load_failed", sentence) from error
    if not 1 <= rank <= RANKS[-1]:
        raise LoadError(
            "load_failed", f"the LoRA adapter {name} has the rank {rank}: vLLM accepts 1 to {RANKS[-1]}"
        )
    return rank
