"""A multimodal projector that fits the demo model. Its weights are random, so the answers to images are too.

With it the real engine accepts images. The tensors are those of llama.cpp's "pixtral" projector: one layer,
patches of 16 x 16 pixels, each of which becomes a token.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Iterator, Mapping
from math import prod
from pathlib import Path

from tests.checkpoints.gguf_file import GgufFile, Tensor, encode

WIDTH, HIDDEN, HEADS, PATCH, LARGEST = 32, 64, 2, 16, 512

Value = bool | int | float | str | list[float]
Shape = tuple[int, ...]


def write(path: Path, dim: int) -> None:
    """Write a projector for a text model whose embeddings have `dim` numbers."""
    generator = random.Random(0)
    tensors = {
        name: Tensor(shape, array("f", numbers(name, shape, generator)))
        for name, shape in _shapes(dim).items()
    }
    path.write_bytes(encode(GgufFile(_settings(dim), tensors)))


def _settings(dim: int) -> dict[str, Value]:
    return {
        "general.architecture": "clip",
        "general.type": "mmproj",
        "clip.has_vision_encoder": True,
        "clip.projector_type": "pixtral",
        "clip.use_silu": True,
        "clip.vision.image_size": LARGEST,
        "clip.vision.patch_size": PATCH,
        "clip.vision.embedding_length": WIDTH,
        "clip.vision.feed_forward_length": HIDDEN,
        "clip.vision.projection_dim": dim,
        "clip.vision.block_count": 1,
        "clip.vision.attention.head_count": HEADS,
        "clip.vision.attention.layer_norm_epsilon": 1e-5,
        "clip.vision.image_mean": [0.5, 0.5, 0.5],
        "clip.vision.image_std": [0.5, 0.5, 0.5],
    }


def _shapes(dim: int) -> Mapping[str, Shape]:
    shapes: dict[str, Shape] = {
        "v.patch_embd.weight": (WIDTH, 3, PATCH, PATCH),
        "v.pre_ln.weight": (WIDTH,),
        "v.token_embd.img_break": (dim,),
        "mm.1.weight": (dim, WIDTH),
        "mm.1.bias": (dim,),
        "mm.2.weight": (dim, dim),
        "mm.2.bias": (dim,),
    }
    layer: dict[str, Shape] = {
        **{f"ln{n}.weight": (WIDTH,) for n in (1, 2)},
        **{f"attn_{name}.weight": (WIDTH, WIDTH) for name in ("q", "k", "v", "out")},
        **{f"ffn_{name}.weight": (HIDDEN, WIDTH) for name in ("gate", "up")},
        "ffn_down.weight": (WIDTH, HIDDEN),
    }
    return {**shapes, **{f"v.blk.0.{name}": shape for name, shape in layer.items()}}


def numbers(name: str, shape: Shape, generator: random.Random) -> Iterator[float]:
    """Weights of a tensor: those of a norm are 1, biases 0."""
    for _ in range(prod(shape)):
        if name.endswith("bias"):
            yield 0.0
        elif "ln" in name or "norm" in name:
            yield 1.0
        else:
            yield generator.gauss(0.0, shape[-1] ** -0.5)
