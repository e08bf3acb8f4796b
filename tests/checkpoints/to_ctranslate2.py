"""Convert a Qwen3 checkpoint folder for CTranslate2, under a Python that has neither torch nor transformers.

    python -I to_ctranslate2.py CHECKPOINT FOLDER

The result is identical to that of `ct2-transformers-converter` (`Qwen3Loader` in CTranslate2's
converters/transformers.py) with the files of the tokenizer in `--copy_files`.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
from ctranslate2.converters.utils import fuse_linear
from ctranslate2.specs import common_spec, transformer_spec
from numpy.typing import NDArray

COPIED_FILES = ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "generation_config.json")
Weights = dict[str, NDArray[np.float32]]


def convert(checkpoint: Path, folder: Path) -> None:
    """Write the folder, which may exist."""
    config = json.loads((checkpoint / "config.json").read_text())
    tokenizer = json.loads((checkpoint / "tokenizer.json").read_text())
    special_tokens = json.loads((checkpoint / "tokenizer_config.json").read_text())
    weights = read_safetensors(checkpoint / "model.safetensors")
    spec = transformer_spec.TransformerDecoderModelSpec.from_config(
        config["num_hidden_layers"],
        config["num_attention_heads"],
        activation=common_spec.Activation.SWISH,
        pre_norm=True,
        ffn_glu=True,
        rms_norm=True,
        rotary_dim=config["head_dim"],
        rotary_interleave=False,
        rotary_base=config["rope_theta"],
        num_heads_kv=config["num_key_value_heads"],
        head_dim=config["head_dim"],
        qk_norm=True,
    )
    set_decoder(spec.decoder, weights)
    ids = tokenizer["model"]["vocab"] | {token["content"]: token["id"] for token in tokenizer["added_tokens"]}
    spec.register_vocabulary(sorted(ids, key=ids.__getitem__))
    spec.config.bos_token = special_tokens["bos_token"] or special_tokens["pad_token"]
    spec.config.eos_token = special_tokens["eos_token"]
    spec.config.unk_token = special_tokens["unk_token"] or ""
    spec.config.layer_norm_epsilon = config["rms_norm_eps"]
    spec.validate()
    spec.optimize()
    folder.mkdir(parents=True, exist_ok=True)
    spec.save(str(folder))
    for name in COPIED_FILES:
        shutil.copyfile(checkpoint / name, folder / name)


def set_decoder(decoder: Any, weights: Weights) -> None:
    """Set all weights; those of queries, keys and values are fused into one matrix."""
    decoder.scale_embeddings = False
    decoder.embeddings.weight = weights["model.embed_tokens.weight"]
    decoder.layer_norm.gamma = weights["model.norm.weight"]
    decoder.projection.weight = weights.get("lm_head.weight", decoder.embeddings.weight)
    for index, layer in enumerate(decoder.layer):
        inner = f"model.layers.{index}."
        attention = layer.self_attention
        attention.layer_norm.gamma = weights[inner + "input_layernorm.weight"]
        attention.q_norm.gamma = weights[inner + "self_attn.q_norm.weight"]
        attention.k_norm.gamma = weights[inner + "self_attn.k_norm.weight"]
        fuse_linear(attention.linear[0], [linear(weights, f"{inner}self_attn.{name}_proj") for name in "qkv"])
        attention.linear[1].weight = weights[inner + "self_attn.o_proj.weight"]
        layer.ffn.layer_norm.gamma = weights[inner + "post_attention_layernorm.weight"]
        layer.ffn.linear_0.weight = weights[inner + "mlp.gate_proj.weight"]
        layer.ffn.linear_0_noact.weight = weights[inner + "mlp.up_proj.weight"]
        layer.ffn.linear_1.weight = weights[inner + "mlp.down_proj.weight"]


def linear(weights: Weights, name: str) -> common_spec.LinearSpec:
    """One matrix without a bias."""
    spec = common_spec.LinearSpec()
    spec.weight = weights[name + ".weight"]
    return spec


def read_safetensors(path: Path) -> Weights:
    """Read a file of 32-bit floats."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    head = json.loads(data[8 : 8 + length])
    head.pop("__metadata__", None)
    numbers = np.frombuffer(data, np.float32, offset=8 + length)
    return {
        name: numbers[info["data_offsets"][0] // 4 : info["data_offsets"][1] // 4].reshape(info["shape"])
        for name, info in head.items()
    }


if __name__ == "__main__":
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
