"""Writes models of Qwen3's architecture with random weights, as GGUF and as a Hugging Face checkpoint.

An engine takes as long for random weights as for trained ones. The rows of the output matrix are zero for
the bytes and the special tokens, so no answer ends early and each of its tokens is a text of its own.
"""

from __future__ import annotations

import json
import random
import struct
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

from fleet.artifacts.gguf_writer import TensorPlan, byte_tokens, gguf_head, padded
from tests.checkpoints import hugging_face
from tests.checkpoints.gguf_file import GgufFile, Tensor

SPECIALS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
NORMAL, CONTROL = 1, 3
FILE_TYPES = {"q4_0": 2, "q8_0": 7}
BLOCK = 32
STEPS = {"q4_0": 4.6, "q8_0": 73.3}
"""The standard deviation of a block's random numbers, in steps of its scale."""

POOL_BLOCKS = 1 << 16
TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + message.content }}"
    "{{ '<|im_end|>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


@dataclass(frozen=True)
class Shape:
    """The sizes of a model. `type` is that of its matrices in GGUF."""

    name: str
    type: str
    layers: int
    width: int
    feed_forward: int
    heads: int
    kv_heads: int
    head_size: int = 128
    vocabulary: int = 151_936


SHAPES = {
    shape.name: shape
    for shape in (
        Shape("8b", "q4_0", 36, 4096, 12_288, 32, 8),
        Shape("0.6b", "q8_0", 28, 1024, 3072, 16, 8),
        Shape("tiny", "q8_0", 2, 256, 512, 4, 2, head_size=64, vocabulary=4096),
    )
}
"""The shapes of Qwen3 8B and 0.6B, and one that a CPU computes quickly."""


def write_gguf(path: Path, shape: Shape) -> None:
    """Write the model as GGUF. The same shape makes the same bytes."""
    plans = tensors(shape)
    with path.open("wb") as file:
        file.write(gguf_head(settings(shape), plans))
        for plan in plans:
            for piece in _numbers(shape, plan):
                file.write(piece)
            file.write(bytes(padded(plan.bytes) - plan.bytes))


def write_checkpoint(folder: Path, shape: Shape) -> None:
    """Write a model of this shape as a Hugging Face checkpoint, in bfloat16. The weights are others."""
    folder.mkdir(parents=True)
    plans = [(hugging_face.tensor_name(plan.name), plan) for plan in tensors(shape)]
    nothing = Tensor((), array("f"))
    named = GgufFile(settings(shape), {plan.name: nothing for _, plan in plans})
    hugging_face.write_documents(folder, named, "bfloat16")
    with (folder / "model.safetensors").open("wb") as file:
        _write_safetensors(file, sorted(plans, key=lambda pair: pair[0]), shape)


def settings(shape: Shape) -> dict[str, Any]:
    """The metadata of the GGUF file."""
    tokens = [*byte_tokens(), "th", *SPECIALS]
    types = [CONTROL if token in SPECIALS else NORMAL for token in tokens]
    tokens += [f"\u0120w{number}" for number in range(len(tokens), shape.vocabulary)]
    return {
        "general.architecture": "qwen3",
        "general.name": f"random-{shape.name}",
        "general.file_type": FILE_TYPES[shape.type],
        "qwen3.context_length": 40_960,
        "qwen3.embedding_length": shape.width,
        "qwen3.block_count": shape.layers,
        "qwen3.feed_forward_length": shape.feed_forward,
        "qwen3.attention.head_count": shape.heads,
        "qwen3.attention.head_count_kv": shape.kv_heads,
        "qwen3.attention.key_length": shape.head_size,
        "qwen3.attention.value_length": shape.head_size,
        "qwen3.attention.layer_norm_rms_epsilon": 1e-6,
        "qwen3.rope.dimension_count": shape.head_size,
        "qwen3.rope.freq_base": 1e6,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "qwen2",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": types + [NORMAL] * (shape.vocabulary - len(types)),
        "tokenizer.ggml.merges": ["t h"],
        "tokenizer.ggml.bos_token_id": tokens.index("<|endoftext|>"),
        "tokenizer.ggml.eos_token_id": tokens.index("<|im_end|>"),
        "tokenizer.ggml.padding_token_id": tokens.index("<|endoftext|>"),
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.chat_template": TEMPLATE,
    }


def tensors(shape: Shape) -> list[TensorPlan]:
    """The tensors, in the order of the file."""
    query, keys = shape.heads * shape.head_size, shape.kv_heads * shape.head_size
    matrices = {
        "attn_q": (query, shape.width),
        "attn_k": (keys, shape.width),
        "attn_v": (keys, shape.width),
        "attn_output": (shape.width, query),
        "ffn_gate": (shape.feed_forward, shape.width),
        "ffn_up": (shape.feed_forward, shape.width),
        "ffn_down": (shape.width, shape.feed_forward),
    }
    norms = {"attn_norm": shape.width, "ffn_norm": shape.width}
    norms |= {"attn_q_norm": shape.head_size, "attn_k_norm": shape.head_size}
    ends = (shape.vocabulary, shape.width)
    plans = [TensorPlan("token_embd.weight", ends, shape.type), TensorPlan("output.weight", ends, shape.type)]
    plans.append(TensorPlan("output_norm.weight", (shape.width,)))
    for layer in range(shape.layers):
        plans += [TensorPlan(f"blk.{layer}.{name}.weight", (size,)) for name, size in norms.items()]
        plans += [
            TensorPlan(f"blk.{layer}.{name}.weight", size, shape.type) for name, size in matrices.items()
        ]
    return plans


def _silent_rows(plan: TensorPlan) -> int:
    """How many of the first rows are zero."""
    return 256 + 1 + len(SPECIALS) if plan.name == "output.weight" else 0


def _numbers(shape: Shape, plan: TensorPlan) -> Iterator[bytes]:
    """The numbers of a tensor, in pieces: 1.0 in a norm, random blocks in a matrix."""
    if len(plan.shape) == 1:
        yield array("f", [1.0] * plan.shape[0]).tobytes()
        return
    size = plan.bytes * BLOCK // prod(plan.shape)
    scale = struct.pack("<e", plan.shape[1] ** -0.5 / STEPS[shape.type])
    source = random.Random(plan.name)  # noqa: S311 - the weights are no secrets
    pool = b"".join(scale + source.randbytes(size - 2) for _ in range(POOL_BLOCKS))
    silent = _silent_rows(plan) * plan.shape[1] // BLOCK * size
    yield bytes(silent)
    yield from _repeated(pool, plan.bytes - silent)


def _repeated(pool: bytes, size: int) -> Iterator[bytes]:
    while size:
        piece = pool[:size]
        yield piece
        size -= len(piece)


def _write_safetensors(file: BinaryIO, plans: Sequence[tuple[str, TensorPlan]], shape: Shape) -> None:
    head: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, plan in plans:
        begin, end = end, end + 2 * prod(plan.shape)
        head[name] = {"dtype": "BF16", "shape": list(plan.shape), "data_offsets": [begin, end]}
    text = json.dumps(head, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    file.write(struct.pack("<Q", len(text)) + text)
    for name, plan in plans:
        silent = _silent_rows(plan) * shape.width * 2
        file.write(bytes(silent))
        for piece in _repeated(_bfloats(name, plan), 2 * prod(plan.shape) - silent):
            file.write(piece)


def _bfloats(name: str, plan: TensorPlan) -> bytes:
    """A pool of bfloat16 numbers: the upper halves of floats."""
    if len(plan.shape) == 1:
        return b"\x80\x3f" * plan.shape[0]
    source, deviation = random.Random(name), plan.shape[1] ** -0.5  # noqa: S311 - the weights are no secrets
    floats = array("f", (source.gauss(0.0, deviation) for _ in range(POOL_BLOCKS)))
    halves = array("H")
    halves.frombytes(floats.tobytes())
    return halves[1::2].tobytes()
