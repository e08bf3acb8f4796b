"""A projector for audio that fits the demo model. Its weights are random, and so are answers to recordings.

With it the real engine accepts recordings. The tensors are those of llama.cpp's "ultravox" projector:
Whisper's encoder with one layer, whose 50 positions a second become 12.5 tokens.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Mapping
from pathlib import Path

from tests.backends.llama_server.tiny_mmproj import Shape, Value, numbers
from tests.checkpoints.gguf_file import GgufFile, Tensor, encode

MELS, WIDTH, HIDDEN, HEADS, STACK, POSITIONS, INNER = 80, 32, 64, 2, 4, 1500, 64


def write(path: Path, dim: int) -> None:
    """Write a projector for a text model whose embeddings have `dim` numbers."""
    generator = random.Random(0)
    tensors = {
        name: Tensor(shape, array("f", numbers(name, shape, generator)), _is_convolution(name))
        for name, shape in _shapes(dim).items()
    }
    path.write_bytes(encode(GgufFile(_settings(dim), tensors)))


def _is_convolution(name: str) -> bool:
    """Whether ggml needs the weights in half precision."""
    return "conv" in name and name.endswith("weight")


def _settings(dim: int) -> dict[str, Value]:
    return {
        "general.architecture": "clip",
        "general.type": "mmproj",
        "clip.has_audio_encoder": True,
        "clip.projector_type": "ultravox",
        "clip.audio.num_mel_bins": MELS,
        "clip.audio.embedding_length": WIDTH,
        "clip.audio.feed_forward_length": HIDDEN,
        "clip.audio.projection_dim": dim,
        "clip.audio.block_count": 1,
        "clip.audio.attention.head_count": HEADS,
        "clip.audio.attention.layer_norm_epsilon": 1e-5,
        "clip.audio.projector.stack_factor": STACK,
    }


def _shapes(dim: int) -> Mapping[str, Shape]:
    shapes: dict[str, Shape] = {
        "a.conv1d.1.weight": (WIDTH, MELS, 3),
        "a.conv1d.1.bias": (WIDTH, 1),
        "a.conv1d.2.weight": (WIDTH, WIDTH, 3),
        "a.conv1d.2.bias": (WIDTH, 1),
        "a.position_embd.weight": (POSITIONS, WIDTH),
        "a.post_ln.weight": (WIDTH,),
        "a.post_ln.bias": (WIDTH,),
        "mm.a.norm_pre.weight": (WIDTH * STACK,),
        "mm.a.mlp.1.weight": (2 * INNER, WIDTH * STACK),
        "mm.a.norm_mid.weight": (INNER,),
        "mm.a.mlp.2.weight": (dim, INNER),
    }
    layer: dict[str, Shape] = {
        **{f"ln{n}.{kind}": (WIDTH,) for n in (1, 2) for kind in ("weight", "bias")},
        **{f"attn_{name}.weight": (WIDTH, WIDTH) for name in ("q", "k", "v", "out")},
        **{f"attn_{name}.bias": (WIDTH,) for name in ("q", "v", "out")},
        "ffn_up.weight": (HIDDEN, WIDTH),
        "ffn_up.bias": (HIDDEN,),
        "ffn_down.weight": (WIDTH, HIDDEN),
        "ffn_down.bias": (WIDTH,),
    }
    return {**shapes, **{f"a.blk.0.{name}": shape for name, shape in layer.items()}}
