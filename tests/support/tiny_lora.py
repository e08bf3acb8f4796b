"""LoRA adapters of random weights for the tiny models, as GGUF files (llama.cpp, convert_lora_to_gguf.py)."""

from __future__ import annotations

import random
from array import array
from pathlib import Path

from tests.checkpoints.gguf_file import GgufFile, Tensor, encode, read

RANK = 4
ADAPTED = ("attn_q.weight", "attn_v.weight")


def write(path: Path, base: Path, seed: int = 0, deviation: float = 0.3) -> Path:
    """Write an adapter of the model in `base` to `path`. Each seed makes another one.

    Of a tensor of (outputs, inputs) it has the factors A (rank, inputs) and B (outputs, rank).
    """
    model = read(base)
    generator = random.Random(seed)
    tensors = {}
    for name, tensor in model.tensors.items():
        if name.endswith(ADAPTED):
            outputs, inputs = tensor.shape
            for factor, shape in (("lora_a", (RANK, inputs)), ("lora_b", (outputs, RANK))):
                numbers = array("f", (generator.gauss(0.0, deviation) for _ in range(shape[0] * shape[1])))
                tensors[f"{name}.{factor}"] = Tensor(shape, numbers)
    settings = {
        "general.architecture": model.settings["general.architecture"],
        "general.type": "adapter",
        "adapter.type": "lora",
        "adapter.lora.alpha": float(RANK),
    }
    path.write_bytes(encode(GgufFile(settings, tensors)))
    return path
