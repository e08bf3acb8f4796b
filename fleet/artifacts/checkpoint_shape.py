"""The sizes of a model in a folder that determine its memory: config.json and the headers of its weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from backends.model_shape import AttentionLayers, ModelShape
from fleet.artifacts.checkpoint import MAX_JSON_BYTES, ct2_name, number, read_object
from fleet.artifacts.errors import UnusableArtifact

BYTES_OF_DTYPE = {"float32": 4, "float": 4}
RECURRENT = ("linear_attention", "mamba", "recurrent", "conv")
"""The names in `layer_types` of layers that keep no keys and values."""


def read_checkpoint_shape(folder: Path) -> ModelShape:
    """The shape of a model in Hugging Face's form; of CTranslate2 and of voices only the size of the weights.

    Raises `UnusableArtifact`, `OSError`.
    """
    files = [file for file in folder.iterdir() if file.suffix == ".safetensors" and file.is_file()]
    if not files and ct2_name(folder, {file.name for file in folder.iterdir()}) is not None:
        return ModelShape(weights=(folder / "model.bin").stat().st_size)
    if not files and (voice := [file for file in folder.iterdir() if _is_voice_file(file)]):
        return ModelShape(weights=sum(file.stat().st_size for file in voice))
    if not files:
        raise UnusableArtifact(f"{folder.name} has no safetensors files")
    config = read_object(folder / "config.json", MAX_JSON_BYTES)
    text = config.get("text_config")
    inner = {**config, **text} if isinstance(text, Mapping) else config
    layers = min(10_000, number(inner, "num_hidden_layers") or 0)
    dtype = str(config.get("dtype") or config.get("torch_dtype"))
    hidden, experts = number(inner, "intermediate_size") or 0, number(inner, "num_experts_per_tok")
    return ModelShape(
        weights=sum(file.stat().st_size for file in files),
        attention=_attention(inner, layers),
        width=number(inner, "hidden_size") or 0,
        hidden=max(hidden, (experts or 0) * (number(inner, "moe_intermediate_size") or 0)),
        heads=number(inner, "num_attention_heads") or 0,
        vocabulary=number(inner, "vocab_size") or 0,
        context=number(inner, "max_position_embeddings") or 0,
        layers=layers,
        number_bytes=BYTES_OF_DTYPE.get(dtype, 2),
        stretches=bool(inner.get("rope_scaling")),
    ).bounded()


def _is_voice_file(file: Path) -> bool:
    """Whether a file has weights of a voice of sherpa-onnx: the model, or Kokoro's speakers."""
    return file.suffix == ".onnx" or file.name == "voices.bin"


def _attention(config: Mapping[str, Any], layers: int) -> tuple[AttentionLayers, ...]:
    """The layers with a cache: for multi-head latent attention one compressed vector of each token."""
    kinds = config.get("layer_types")
    kinds = kinds if isinstance(kinds, list) and len(kinds) == layers else ["full_attention"] * layers
    window = number(config, "sliding_window") or 0
    counts = Counter(window if kind == "sliding_attention" else 0 for kind in kinds if kind not in RECURRENT)
    heads = number(config, "num_attention_heads") or 0
    width = number(config, "head_dim") or (number(config, "hidden_size") or 0) // max(1, heads)
    size = (number(config, "num_key_value_heads") or heads) * width
    keys, values = size, size
    if rank := number(config, "kv_lora_rank"):
        keys, values = rank + (number(config, "qk_rope_head_dim") or 0), 0
    return tuple(AttentionLayers(count, keys, values, window) for window, count in counts.items())
