"""LoRA adapters of random weights for the tiny models, in the forms of llama.cpp and of PEFT.

The sources are llama.cpp's convert_lora_to_gguf.py, and a folder that PEFT's `save_pretrained` has written.
"""

from __future__ import annotations

import json
import random
from array import array
from pathlib import Path

from tests.checkpoints.gguf_file import GgufFile, Tensor, encode, read
from tests.checkpoints.hugging_face import safetensors, tensor_name

RANK = 4
ADAPTED = {"attn_q.weight": "q_proj", "attn_v.weight": "v_proj"}
"""The tensors that an adapter changes: the end of their name in GGUF, and their module in PEFT."""

Factors = dict[str, tuple[Tensor, Tensor]]


def write(path: Path, base: Path, seed: int = 0, deviation: float = 0.3) -> Path:
    """Write an adapter of the model in the GGUF file `base` to `path`. Each seed makes another one."""
    model = read(base)
    tensors = {
        f"{name}.lora_{letter}": tensor
        for name, factors in _factors(model, seed, deviation).items()
        for letter, tensor in zip("ab", factors, strict=True)
    }
    settings = {
        "general.architecture": model.settings["general.architecture"],
        "general.type": "adapter",
        "adapter.type": "lora",
        "adapter.lora.alpha": float(RANK),
    }
    path.write_bytes(encode(GgufFile(settings, tensors)))
    return path


def write_peft(folder: Path, base: Path, seed: int = 0, deviation: float = 0.3) -> Path:
    """Write the same adapter as a folder in PEFT's form."""
    folder.mkdir()
    tensors = {
        f"base_model.model.{tensor_name(name).removesuffix('weight')}lora_{letter}.weight": tensor
        for name, factors in _factors(read(base), seed, deviation).items()
        for letter, tensor in zip("AB", factors, strict=True)
    }
    (folder / "adapter_model.safetensors").write_bytes(safetensors(tensors))
    config = {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": None,
        "r": RANK,
        "lora_alpha": RANK,
        "target_modules": list(ADAPTED.values()),
        "bias": "none",
    }
    (folder / "adapter_config.json").write_text(json.dumps(config))
    return folder


def _factors(model: GgufFile, seed: int, deviation: float) -> Factors:
    """The factors A (rank, inputs) and B (outputs, rank) of each adapted tensor (outputs, inputs)."""
    generator = random.Random(seed)

    def tensor(rows: int, columns: int) -> Tensor:
        numbers = array("f", (generator.gauss(0.0, deviation) for _ in range(rows * columns)))
        return Tensor((rows, columns), numbers)

    return {
        name: (tensor(RANK, weights.shape[1]), tensor(weights.shape[0], RANK))
        for name, weights in model.tensors.items()
        if name.endswith(tuple(ADAPTED))
    }
