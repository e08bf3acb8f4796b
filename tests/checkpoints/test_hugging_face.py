"""The demo model as a checkpoint folder."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

from tests.checkpoints import gguf_file, hugging_face
from tests.checkpoints.fixtures import DEMO_MODEL

LAYER_TENSORS = {
    "input_layernorm": [128],
    "self_attn.q_proj": [128, 128],
    "self_attn.k_proj": [64, 128],
    "self_attn.v_proj": [64, 128],
    "self_attn.o_proj": [128, 128],
    "self_attn.q_norm": [32],
    "self_attn.k_norm": [32],
    "post_attention_layernorm": [128],
    "mlp.gate_proj": [384, 128],
    "mlp.up_proj": [384, 128],
    "mlp.down_proj": [128, 384],
}


def read_json(folder: Path, name: str) -> dict[str, Any]:
    return json.loads((folder / name).read_text())


def test_every_weight_has_its_name_and_its_shape(demo_checkpoint: Path) -> None:
    data = (demo_checkpoint / "model.safetensors").read_bytes()
    [length] = struct.unpack_from("<Q", data)
    head = json.loads(data[8 : 8 + length])
    assert head.pop("__metadata__") == {"format": "pt"}
    expected = {"model.embed_tokens.weight": [1024, 128], "model.norm.weight": [128]}
    for layer in range(3):
        expected |= {f"model.layers.{layer}.{name}.weight": shape for name, shape in LAYER_TENSORS.items()}
    assert {name: tensor["shape"] for name, tensor in head.items()} == expected
    ends = [0]
    for tensor in head.values():
        assert tensor["dtype"] == "F32"
        assert tensor["data_offsets"][0] == ends[-1]
        ends.append(tensor["data_offsets"][1])
    assert 8 + length + ends[-1] == len(data)
    assert (8 + length) % 8 == 0


def test_the_config_matches_the_weights(demo_checkpoint: Path) -> None:
    config = read_json(demo_checkpoint, "config.json")
    assert config["architectures"] == ["Qwen3ForCausalLM"]
    assert config["tie_word_embeddings"] is True
    heads = (config["num_attention_heads"], config["num_key_value_heads"], config["head_dim"])
    assert heads == (4, 2, 32)
    assert (config["rope_theta"], config["rms_norm_eps"]) == (10_000, 1e-6)
    assert config["eos_token_id"] in read_json(demo_checkpoint, "generation_config.json")["eos_token_id"]


def test_every_token_has_an_id_and_control_tokens_are_special(demo_checkpoint: Path) -> None:
    tokenizer = read_json(demo_checkpoint, "tokenizer.json")
    added = {token["content"]: token for token in tokenizer["added_tokens"]}
    ids = [*tokenizer["model"]["vocab"].values(), *(token["id"] for token in added.values())]
    assert sorted(ids) == list(range(1024))
    hidden = {name for name, token in added.items() if token["special"]}
    assert hidden == {"<|endoftext|>", "<|im_start|>", "<|im_end|>"}
    assert {"<think>", "</think>", "<tool_call>", "</tool_call>"} < set(added) - hidden
    assert read_json(demo_checkpoint, "tokenizer_config.json")["eos_token"] == "<|im_end|>"


def test_the_chat_template_is_in_the_checkpoint(demo_checkpoint: Path) -> None:
    source = (DEMO_MODEL.parent / "demo" / "chat_template.jinja").read_text().rstrip("\n")
    assert (demo_checkpoint / "chat_template.jinja").read_text() == source
    assert read_json(demo_checkpoint, "tokenizer_config.json")["chat_template"] == source


def test_the_same_model_makes_the_same_bytes(demo_checkpoint: Path, tmp_path: Path) -> None:
    hugging_face.write(tmp_path, gguf_file.read(DEMO_MODEL))
    again = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert again == {path.name: path.read_bytes() for path in demo_checkpoint.iterdir()}
