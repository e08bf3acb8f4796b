"""GGUF files with the header of a model and the size of one; their numbers are zeros."""

from __future__ import annotations

from typing import Any

from fleet.artifacts.gguf_writer import TensorPlan, gguf_head, padded

QWEN = "{% if enable_thinking %}<think>{% endif %}<tool_call>"


def gguf(*, mib: int = 1, tokens: int = 32, **settings: Any) -> bytes:
    """The bytes of a file, whose keys and values take 32 KiB for each token; names are below `llama.`."""
    head = {
        "general.architecture": "llama",
        "llama.block_count": 4,
        "llama.context_length": 32768,
        "llama.embedding_length": 2048,
        "llama.attention.head_count": 16,
        "llama.attention.head_count_kv": 16,
        "llama.feed_forward_length": 2048,
        "tokenizer.chat_template": QWEN,
        "tokenizer.ggml.tokens": [str(token) for token in range(tokens)],
        **{f"llama.{name}": value for name, value in settings.items()},
    }
    return with_zeros(head, TensorPlan("blk.0.ffn_up.weight", (mib * 512, 1024), "fp16"))


def projector(**settings: Any) -> bytes:
    """The bytes of a projector for images; `settings` are those below `clip.`."""
    head = {"general.architecture": "clip", "clip.vision.image_size": 32, "clip.vision.patch_size": 16}
    head |= {f"clip.{name}": value for name, value in settings.items()}
    return with_zeros(head, TensorPlan("v.patch", (32, 1024), "fp16"))


def with_zeros(head: dict[str, Any], tensor: TensorPlan) -> bytes:
    """A file with one tensor."""
    return gguf_head(head, [tensor]) + bytes(padded(tensor.bytes))
