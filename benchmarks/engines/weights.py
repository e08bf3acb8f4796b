"""The two models: the demo model as it is, and the same in a size that keeps an engine busy.

The large one says the same words, since all that is new in it is zero: more layers that add nothing, wider
matrices that the new columns leave as they were. A root mean square over four times the numbers is half of
what it was, which the weights of the norms (and their epsilon) make up for. Engines multiply zeros as slowly
as anything else, so it costs what its size costs, and what it answers can still be checked.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from config.settings import ROOT
from tests.checkpoints import hugging_face
from tests.checkpoints.gguf_file import ARRAY, F32, STRING, GgufFile, Tensor, read

DEMO = ROOT / "models" / "stoker-demo.gguf"
WIDER = 4
LAYERS = 16
ALIGNMENT = 32
INT, FLOAT, BOOL, SIGNED = 4, 6, 7, 5

WIDENED = (
    "qwen3.embedding_length",
    "qwen3.feed_forward_length",
    "qwen3.attention.head_count",
    "qwen3.attention.head_count_kv",
)
EPSILON = "qwen3.attention.layer_norm_rms_epsilon"


def write_demo(folder: Path) -> None:
    """Write the demo model as a checkpoint folder of Hugging Face."""
    hugging_face.write(folder, read(DEMO))


def write_large(gguf: Path, folder: Path) -> int:
    """Write the large model in both forms: the number of its parameters."""
    model = large(read(DEMO))
    gguf.write_bytes(gguf_bytes(model))
    hugging_face.write(folder, model)
    return sum(len(tensor.numbers) for tensor in model.tensors.values())


def large(model: GgufFile) -> GgufFile:
    """The model, padded with zeros."""
    said = dict(model.settings)
    for name in WIDENED:
        said[name] *= WIDER
    said[EPSILON] /= WIDER
    said["qwen3.block_count"] = LAYERS
    tensors = {name: tensor for name, tensor in model.tensors.items() if not name.startswith("blk.")}
    for layer in range(LAYERS):
        for name, tensor in model.tensors.items():
            if name.startswith("blk.0."):
                place = name.replace("blk.0.", f"blk.{layer}.")
                tensors[place] = model.tensors.get(place) or Tensor(tensor.shape, _zeros(len(tensor.numbers)))
    tensors = {name: _wider(name, tensor) for name, tensor in tensors.items()}
    return GgufFile(said, tensors)


def _wider(name: str, tensor: Tensor) -> Tensor:
    """The tensor in the large model; a head's norm keeps its size, for heads do."""
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


def gguf_bytes(model: GgufFile) -> bytes:
    """A GGUF file, version 3, of 32-bit floats (ggml's docs/gguf.md)."""
    head = [b"GGUF", struct.pack("<IQQ", 3, len(model.tensors), len(model.settings))]
    head += [_text(name) + _value(value) for name, value in model.settings.items()]
    offset = 0
    for name, tensor in model.tensors.items():
        sizes = struct.pack(f"<I{len(tensor.shape)}Q", len(tensor.shape), *reversed(tensor.shape))
        head.append(_text(name) + sizes + struct.pack("<IQ", F32, offset))
        offset += _aligned(4 * len(tensor.numbers))
    start = b"".join(head)
    parts = [start.ljust(_aligned(len(start)), b"\0")]
    for tensor in model.tensors.values():
        data = tensor.numbers.tobytes()
        parts += [data, bytes(_aligned(len(data)) - len(data))]
    return b"".join(parts)


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _value(value: Any) -> bytes:
    """A setting's type and value. The demo model has no lists but of texts and of small numbers."""
    if isinstance(value, str):
        return struct.pack("<I", STRING) + _text(value)
    if isinstance(value, bool):
        return struct.pack("<I?", BOOL, value)
    if isinstance(value, int):
        return struct.pack("<II", INT, value)
    if isinstance(value, float):
        return struct.pack("<If", FLOAT, value)
    return struct.pack("<I", ARRAY) + _list(value)


def _list(items: Sequence[Any]) -> bytes:
    if isinstance(items[0], str):
        return struct.pack("<IQ", STRING, len(items)) + b"".join(map(_text, items))
    return struct.pack(f"<IQ{len(items)}i", SIGNED, len(items), *items)
