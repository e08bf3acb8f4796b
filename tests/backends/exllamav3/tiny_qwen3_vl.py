"""A vision model: a checkpoint of Qwen3-VL whose language model is the demo model.

Its vision part is tiny and has random weights, so it processes images without understanding them; its answers
to texts are those of the demo model. The names are those of a published checkpoint, as ExLlamaV3 reads them.
"""

from __future__ import annotations

import json
import random
import shutil
import struct
from array import array
from math import prod
from pathlib import Path

from tests.checkpoints import gguf_file, hugging_face
from tests.checkpoints.gguf_file import Tensor

HIDDEN, HEADS, INNER, PATCH, MERGE, POSITIONS = 64, 2, 128, 16, 2, 16
PIXELS_OF_A_TOKEN = PATCH * MERGE
BEFORE, BEHIND = "<tools>", "</tools>"
"""The tokens before and after an image, in place of Qwen's."""


def write(folder: Path, text: Path, model: Path) -> None:
    """Write the folder from the demo model's checkpoint `text` and its GGUF file `model`."""
    shutil.copytree(text, folder)
    config = json.loads((text / "config.json").read_text())
    names = json.loads((text / "tokenizer_config.json").read_text())["added_tokens_decoder"]
    ids = {token["content"]: int(id) for id, token in names.items()}
    (folder / "config.json").write_text(json.dumps(_config(config, ids)))
    (folder / "preprocessor_config.json").write_text(json.dumps(_preprocessor()))
    tensors = {_renamed(name): tensor for name, tensor in gguf_file.read(model).tensors.items()}
    rng = random.Random(0)
    for name, shape in _shapes(config["hidden_size"]).items():
        tensors[f"model.visual.{name}"] = Tensor(shape, _weights(name, shape, rng))
    (folder / "model.safetensors").write_bytes(_safetensors(tensors))


def _safetensors(tensors: dict[str, Tensor]) -> bytes:
    """A safetensors file of 16-bit floats: for fused layers the library accepts no other type."""
    head: dict[str, object] = {}
    parts: list[bytes] = []
    end = 0
    for name, tensor in tensors.items():
        begin, end = end, end + 2 * len(tensor.numbers)
        head[name] = {"dtype": "F16", "shape": list(tensor.shape), "data_offsets": [begin, end]}
        parts.append(struct.pack(f"<{len(tensor.numbers)}e", *tensor.numbers))
    text = json.dumps(head).encode()
    return struct.pack("<Q", len(text)) + text + b"".join(parts)


def _renamed(name: str) -> str:
    return hugging_face.tensor_name(name).replace("model.", "model.language_model.", 1)


def _config(text: dict[str, object], ids: dict[str, int]) -> dict[str, object]:
    positions = {"rope_type": "default", "mrope_section": [6, 5, 5], "mrope_interleaved": True}
    return {
        "architectures": ["Qwen3VLForConditionalGeneration"],
        "model_type": "qwen3_vl",
        "tie_word_embeddings": True,
        "eos_token_id": text["eos_token_id"],
        "text_config": {**text, "model_type": "qwen3_vl_text", "rope_scaling": positions},
        "vision_start_token_id": ids[BEFORE],
        "vision_end_token_id": ids[BEHIND],
        "vision_config": {
            "model_type": "qwen3_vl",
            "depth": 1,
            "hidden_act": "gelu_pytorch_tanh",
            "hidden_size": HIDDEN,
            "intermediate_size": INNER,
            "num_heads": HEADS,
            "num_position_embeddings": POSITIONS,
            "out_hidden_size": text["hidden_size"],
            "patch_size": PATCH,
            "spatial_merge_size": MERGE,
            "temporal_patch_size": 2,
            "deepstack_visual_indexes": [0],
        },
    }


def _preprocessor() -> dict[str, object]:
    return {
        "image_processor_type": "Qwen2VLImageProcessorFast",
        "size": {"shortest_edge": PIXELS_OF_A_TOKEN**2, "longest_edge": 512 * 512},
        "patch_size": PATCH,
        "temporal_patch_size": 2,
        "merge_size": MERGE,
        "image_mean": [0.5, 0.5, 0.5],
        "image_std": [0.5, 0.5, 0.5],
    }


def _shapes(dim: int) -> dict[str, tuple[int, ...]]:
    merged = HIDDEN * MERGE**2
    shapes: dict[str, tuple[int, ...]] = {
        "patch_embed.proj.weight": (HIDDEN, 3, 2, PATCH, PATCH),
        "patch_embed.proj.bias": (HIDDEN,),
        "pos_embed.weight": (POSITIONS, HIDDEN),
    }
    block = {"attn.qkv": (3 * HIDDEN, HIDDEN), "attn.proj": (HIDDEN, HIDDEN)}
    block |= {"mlp.linear_fc1": (INNER, HIDDEN), "mlp.linear_fc2": (HIDDEN, INNER)}
    layers = {f"blocks.0.{name}": shape for name, shape in block.items()}
    for merger in ("merger", "deepstack_merger_list.0"):
        layers |= {f"{merger}.linear_fc1": (merged, merged), f"{merger}.linear_fc2": (dim, merged)}
    for name, shape in layers.items():
        shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    norms = {"blocks.0.norm1": HIDDEN, "blocks.0.norm2": HIDDEN}
    norms |= {"merger.norm": HIDDEN, "deepstack_merger_list.0.norm": merged}
    for name, size in norms.items():
        shapes |= {f"{name}.weight": (size,), f"{name}.bias": (size,)}
    return shapes


def _weights(name: str, shape: tuple[int, ...], rng: random.Random) -> array[float]:
    if len(shape) == 1:
        return array("f", [float("norm" in name and name.endswith("weight"))]) * prod(shape)
    return array("f", (rng.gauss(0, 0.05) for _ in range(prod(shape))))
