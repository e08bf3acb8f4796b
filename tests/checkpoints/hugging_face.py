"""Converts a Qwen3 model from GGUF to a Hugging Face checkpoint folder, which vLLM and ExLlamaV3 read.

The files are those of a published Qwen3 checkpoint on Hugging Face. Weights are unchanged: GGUF has the
half-split rotary embedding of Qwen, too, and the values of q8_0 are exact in 32-bit floats.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.checkpoints.gguf_file import GgufFile, Tensor
from tests.checkpoints.tokenizer_file import tokenizer_config, tokenizer_json

MODEL_TENSORS = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
LAYER_TENSORS = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def write(folder: Path, model: GgufFile) -> None:
    """Write the folder, which may exist. The same model makes the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    write_documents(folder, model, "float32")
    tensors = {tensor_name(name): tensor for name, tensor in model.tensors.items()}
    (folder / "model.safetensors").write_bytes(safetensors(tensors))


def write_documents(folder: Path, model: GgufFile, dtype: str) -> None:
    """Write all files but the weights, whose type is `dtype`. Of the tensors only the names are read."""
    documents = {
        "config.json": {**config(model), "torch_dtype": dtype},
        "generation_config.json": generation_config(model),
        "tokenizer.json": tokenizer_json(model),
        "tokenizer_config.json": tokenizer_config(model),
    }
    for name, document in documents.items():
        (folder / name).write_text(json.dumps(document, ensure_ascii=False, indent=2) + "\n")
    (folder / "chat_template.jinja").write_text(model.settings["tokenizer.chat_template"])


def tensor_name(name: str) -> str:
    """The name of a tensor in a checkpoint, by its name in GGUF."""
    inner = re.fullmatch(r"blk\.(\d+)\.(\w+)\.weight", name)
    return f"model.layers.{inner[1]}.{LAYER_TENSORS[inner[2]]}.weight" if inner else MODEL_TENSORS[name]


def config(model: GgufFile) -> dict[str, Any]:
    """The file `config.json`: transformers' `Qwen3Config`, with the fields of a published checkpoint."""
    settings = model.settings
    return {
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        "vocab_size": len(settings["tokenizer.ggml.tokens"]),
        "hidden_size": settings["qwen3.embedding_length"],
        "intermediate_size": settings["qwen3.feed_forward_length"],
        "num_hidden_layers": settings["qwen3.block_count"],
        "num_attention_heads": settings["qwen3.attention.head_count"],
        "num_key_value_heads": settings["qwen3.attention.head_count_kv"],
        "head_dim": settings["qwen3.attention.key_length"],
        "max_position_embeddings": settings["qwen3.context_length"],
        "rms_norm_eps": float(f"{settings['qwen3.attention.layer_norm_rms_epsilon']:.6g}"),
        "rope_theta": settings["qwen3.rope.freq_base"],
        "rope_scaling": None,
        "hidden_act": "silu",
        "attention_bias": False,
        "attention_dropout": 0.0,
        "initializer_range": 0.02,
        "sliding_window": None,
        "use_sliding_window": False,
        "max_window_layers": settings["qwen3.block_count"],
        "tie_word_embeddings": "output.weight" not in model.tensors,
        "use_cache": True,
        "bos_token_id": settings["tokenizer.ggml.bos_token_id"],
        "eos_token_id": settings["tokenizer.ggml.eos_token_id"],
    }


def generation_config(model: GgufFile) -> dict[str, Any]:
    """The end tokens. Sampling parameters are left to the requests."""
    settings = model.settings
    return {
        "bos_token_id": settings["tokenizer.ggml.bos_token_id"],
        "eos_token_id": [
            settings["tokenizer.ggml.eos_token_id"],
            settings["tokenizer.ggml.padding_token_id"],
        ],
        "pad_token_id": settings["tokenizer.ggml.padding_token_id"],
    }


def safetensors(tensors: Mapping[str, Tensor]) -> bytes:
    """A safetensors file: the length of its header (8 bytes), the header as JSON, then all numbers."""
    head: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    parts: list[bytes] = []
    end = 0
    for name, tensor in sorted(tensors.items()):
        begin, end = end, end + 4 * len(tensor.numbers)
        head[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [begin, end]}
        parts.append(tensor.numbers.tobytes())
    text = json.dumps(head, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # numbers begin at a multiple of 8
    return struct.pack("<Q", len(text)) + text + b"".join(parts)
