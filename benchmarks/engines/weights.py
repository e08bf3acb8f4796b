"""Writes the two models: the demo model, and a larger one with the same output that keeps an engine busy.

All new weights of the large model are zero: additional layers that add nothing, and matrices with additional
rows and columns. The root mean square over four times as many numbers is half of the original, for which the
weights of the norms (and their epsilon) compensate. Engines multiply zeros as slowly as other numbers, so the
large model has the speed of its size, and its output can still be checked.
"""

from __future__ import annotations

from array import array
from pathlib import Path

from config.settings import ROOT
from tests.checkpoints import hugging_face
from tests.checkpoints.gguf_file import GgufFile, Tensor, encode, read

DEMO = ROOT / "models" / "stoker-demo.gguf"
WIDER = 4
LAYERS = 16

WIDENED = (
    "qwen3.embedding_length",
    "qwen3.feed_forward_length",
    "qwen3.attention.head_count",
    "qwen3.attention.head_count_kv",
)
EPSILON = "qwen3.attention.layer_norm_rms_epsilon"


def write_demo(folder: Path) -> None:
    """Write the demo model as a Hugging Face checkpoint folder."""
    hugging_face.write(folder, read(DEMO))


def write_large(gguf: Path, folder: Path) -> int:
    """Write the large model in both formats. Returns the number of its parameters."""
    model = large(read(DEMO))
    gguf.write_bytes(encode(model))
    hugging_face.write(folder, model)
    return sum(len(tensor.numbers) for tensor in model.tensors.values())


def large(model: GgufFile) -> GgufFile:
    """The model, padded with zeros."""
    settings = dict(model.settings)
    for name in WIDENED:
        settings[name] *= WIDER
    settings[EPSILON] /= WIDER
    settings["qwen3.block_count"] = LAYERS
    tensors = {name: tensor for name, tensor in model.tensors.items() if not name.startswith("blk.")}
    for layer in range(LAYERS):
        for name, tensor in model.tensors.items():
            if name.startswith("blk.0."):
                copy = name.replace("blk.0.", f"blk.{layer}.")
                tensors[copy] = model.tensors.get(copy) or Tensor(tensor.shape, _zeros(len(tensor.numbers)))
    tensors = {name: _wider(name, tensor) for name, tensor in tensors.items()}
    return GgufFile(settings, tensors)


def _wider(name: str, tensor: Tensor) -> Tensor:
    """The tensor in the large model. The norm of a head is unchanged, since heads have the same size."""
    if name.endswith(("attn_q_norm.weight", "attn_k_norm.weight")):
        return tensor
    if len(tensor.shape) == 1:
        scaled = array("f", [weight / WIDER**0.5 for weight in tensor.numbers])
        return Tensor((WIDER * len(scaled),), scaled + _zeros((WIDER - 1) * len(scaled)))
    rows, columns = tensor.shape
    taller = rows if name == "token_embd.weight" else WIDER * rows
    numbers = array("f")
    for start in range(0, rows * columns, columns):
        numbers += tensor.numbers[start : start + columns]
        numbers += _zeros((WIDER - 1) * columns)
    numbers += _zeros((taller - rows) * WIDER * columns)
    return Tensor((taller, WIDER * columns), numbers)


def _zeros(count: int) -> array[float]:
    return array("f", bytes(4 * count))
