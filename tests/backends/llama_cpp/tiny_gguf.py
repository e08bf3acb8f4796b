"""Tiny language models with random weights, one for each kind of memory. Their output is the same each time.

The tensors are those that llama.cpp requires for each architecture. Tokens are the bytes and a few special
ones.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path

from tests.checkpoints.gguf_file import GgufFile, Tensor, encode

NORMAL, CONTROL = 1, 3
DIM, HEADS, KEYS, HEAD, HIDDEN = 64, 4, 2, 16, 128
WINDOW = 64
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")

WORD_PIECES = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", *(f"\u2581{chr(c)}" for c in range(33, 127)))
WORD_PIECES += tuple(chr(c) for c in range(33, 127))

COMMON = {
    "context_length": 4096,
    "embedding_length": DIM,
    "feed_forward_length": HIDDEN,
    "block_count": 4,
    "attention.head_count": HEADS,
    "attention.head_count_kv": KEYS,
    "attention.key_length": HEAD,
    "attention.value_length": HEAD,
    "attention.layer_norm_rms_epsilon": 1e-6,
}

Value = bool | int | float | str | list[int] | list[str]
Shape = tuple[int, ...]


def write(path: Path, architecture: str, special: Sequence[str] = (), **more: Value) -> Path:
    """Write a model to `path`.

    `special` are further special tokens, `more` further settings of its tokenizer.

    `qwen3` attends to all tokens, `gemma3` to a window in half of its layers, and `qwen35` is recurrent in
    all layers but one. `bert` is an encoder, which makes vectors only, and `bert-reranker` scores
    documents.
    """
    architecture, _, classifier = architecture.partition("-")
    tokens = [*_byte_characters(), "th", *SPECIAL, *special] if architecture != "bert" else [*WORD_PIECES]
    settings, shapes = _RECIPES[architecture]()
    settings = {
        "general.architecture": architecture,
        **_with_prefix(architecture, {**COMMON, **settings}),
        **(_tokenizer(tokens, special) if architecture != "bert" else _word_pieces()),
        **{f"tokenizer.{key}": value for key, value in more.items()},
    }
    shapes = {"token_embd.weight": (len(tokens), DIM), **shapes}
    if classifier:
        shapes |= {"cls.output.weight": (1, DIM), "cls.output.bias": (1,)}
    if architecture != "bert":
        shapes["output_norm.weight"] = (DIM,)
    generator = random.Random(0)
    tensors = {name: Tensor(shape, _weights(name, shape, generator)) for name, shape in shapes.items()}
    path.write_bytes(encode(GgufFile(settings, tensors)))
    return path


def _tokenizer(tokens: list[str], special: Sequence[str]) -> Mapping[str, Value]:
    control = {*SPECIAL, *special}
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "qwen2",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [CONTROL if token in control else NORMAL for token in tokens],
        "tokenizer.ggml.merges": ["t h"],
        "tokenizer.ggml.bos_token_id": tokens.index("<|endoftext|>"),
        "tokenizer.ggml.eos_token_id": tokens.index("<|im_end|>"),
        "tokenizer.ggml.add_bos_token": False,
    }


def _qwen3() -> tuple[Mapping[str, Value], Mapping[str, Shape]]:
    layer = {**_attention(), **_feed_forward(), "attn_norm.weight": (DIM,), "ffn_norm.weight": (DIM,)}
    return {}, _layers([layer] * 4)


def _gemma3() -> tuple[Mapping[str, Value], Mapping[str, Shape]]:
    norms = ("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm")
    layer = {**_attention(), **_feed_forward(), **{f"{norm}.weight": (DIM,) for norm in norms}}
    settings = {"attention.sliding_window": WINDOW, "attention.sliding_window_pattern": 2}
    return settings, _layers([layer] * 4)


def _qwen35() -> tuple[Mapping[str, Value], Mapping[str, Shape]]:
    groups, heads, state, kernel = 2, 4, 16, 4
    inner, mixed = state * heads, 2 * state * groups + state * heads
    settings = {
        "rope.dimension_count": HEAD,
        "rope.dimension_sections": [3, 3, 2, 0],
        "ssm.conv_kernel": kernel,
        "ssm.inner_size": inner,
        "ssm.state_size": state,
        "ssm.time_step_rank": heads,
        "ssm.group_count": groups,
        "full_attention_interval": 4,
    }
    common = {**_feed_forward(), "attn_norm.weight": (DIM,), "post_attention_norm.weight": (DIM,)}
    recurrent: dict[str, Shape] = {
        "attn_qkv.weight": (mixed, DIM),
        "attn_gate.weight": (inner, DIM),
        "ssm_conv1d.weight": (mixed, kernel),
        "ssm_dt.bias": (heads,),
        "ssm_a": (heads,),
        "ssm_beta.weight": (heads, DIM),
        "ssm_alpha.weight": (heads, DIM),
        "ssm_norm.weight": (state,),
        "ssm_out.weight": (DIM, inner),
    }
    attention = {**_attention(), "attn_q.weight": (2 * HEADS * HEAD, DIM)}
    return settings, _layers([{**common, **recurrent}] * 3 + [{**common, **attention}])


def _bert() -> tuple[Mapping[str, Value], Mapping[str, Shape]]:
    settings = {"attention.layer_norm_epsilon": 1e-12, "attention.head_count_kv": HEADS}
    settings |= {"attention.causal": False, "pooling_type": 1}
    layer: dict[str, Shape] = {}
    for name, rows, columns in (
        *((f"attn_{part}", DIM, DIM) for part in ("q", "k", "v", "output")),
        ("ffn_up", HIDDEN, DIM),
        ("ffn_down", DIM, HIDDEN),
    ):
        layer |= {f"{name}.weight": (rows, columns), f"{name}.bias": (rows,)}
    for name in ("attn_output_norm", "layer_output_norm"):
        layer |= {f"{name}.weight": (DIM,), f"{name}.bias": (DIM,)}
    first: dict[str, Shape] = {
        "position_embd.weight": (4096, DIM),
        "token_types.weight": (2, DIM),
        "token_embd_norm.weight": (DIM,),
        "token_embd_norm.bias": (DIM,),
    }
    return settings, {**first, **_layers([layer] * 4)}


def _word_pieces() -> Mapping[str, Value]:
    return {
        "tokenizer.ggml.model": "bert",
        "tokenizer.ggml.tokens": [*WORD_PIECES],
        "tokenizer.ggml.token_type_count": 2,
        "tokenizer.ggml.padding_token_id": 0,
        "tokenizer.ggml.unknown_token_id": 1,
        "tokenizer.ggml.cls_token_id": 2,
        "tokenizer.ggml.bos_token_id": 2,
        "tokenizer.ggml.seperator_token_id": 3,  # as llama.cpp spells it
        "tokenizer.ggml.eos_token_id": 3,
    }


_RECIPES = {"qwen3": _qwen3, "gemma3": _gemma3, "qwen35": _qwen35, "bert": _bert}


def _attention() -> dict[str, Shape]:
    return {
        "attn_q.weight": (HEADS * HEAD, DIM),
        "attn_k.weight": (KEYS * HEAD, DIM),
        "attn_v.weight": (KEYS * HEAD, DIM),
        "attn_output.weight": (DIM, HEADS * HEAD),
        "attn_q_norm.weight": (HEAD,),
        "attn_k_norm.weight": (HEAD,),
    }


def _feed_forward() -> dict[str, Shape]:
    return {
        "ffn_gate.weight": (HIDDEN, DIM),
        "ffn_up.weight": (HIDDEN, DIM),
        "ffn_down.weight": (DIM, HIDDEN),
    }


def _layers(layers: list[dict[str, Shape]]) -> dict[str, Shape]:
    return {f"blk.{i}.{name}": shape for i, layer in enumerate(layers) for name, shape in layer.items()}


def _weights(name: str, shape: Shape, generator: random.Random) -> array[float]:
    if len(shape) == 1:
        return array("f", [-1.0 if name.endswith("ssm_a") else 1.0] * shape[0])
    deviation = 0.5 if name.startswith("token_embd") else shape[-1] ** -0.5
    return array("f", (generator.gauss(0.0, deviation) for _ in range(prod(shape))))


def _byte_characters() -> list[str]:
    """The character that stands for each byte in GPT-2's vocabularies, by byte."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(byte if byte in plain else next(others)) for byte in range(256)]


def _with_prefix(architecture: str, settings: Mapping[str, Value]) -> dict[str, Value]:
    return {f"{architecture}.{key}": value for key, value in settings.items()}
