"""What the files of a folder say about its weights: Hugging Face's safetensors, EXL3, and CTranslate2.

Only JSON and headers are read. Weights as pickle files, which can run code, are refused, and no code of a
folder is ever run.
"""

from __future__ import annotations

import json
import struct
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from backends.load_parameters import Weights
from fleet.artifacts.errors import UnusableArtifact

MAX_JSON_BYTES = 4 * 1024 * 1024
MAX_INDEX_BYTES = 64 * 1024 * 1024
MAX_HEADER_BYTES = 32 * 1024 * 1024
MAX_TEMPLATE_BYTES = 1024 * 1024
MAX_SHOWN = 255  # characters of a name
PICKLES = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt")
NUMBERS = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32", "half": "fp16", "float": "fp32"}
CT2_MODELS = ("TransformerSpec", "TransformerDecoderModelSpec")
"""The models of CTranslate2 that translate and generate text; it has others for vectors."""

WHISPER_MODEL, WHISPER_TOKENIZER = "WhisperSpec", "tokenizer.json"
"""A model of CTranslate2 for recordings, and the file without which its library would ask a hub for one."""


def read_checkpoint(folder: Path, files: Sequence[Path]) -> Weights:
    """What these files of a folder say. Raises `UnusableArtifact`, `OSError`."""
    names = {file.name for file in files}
    shards = [file for file in files if file.suffix == ".safetensors"]
    if not shards and (name := ct2_name(folder, names)) is not None:
        if name == WHISPER_MODEL:
            if WHISPER_TOKENIZER not in names:
                advice = f"convert the model again with --copy_files {WHISPER_TOKENIZER}"
                raise UnusableArtifact(f"{folder.name} has no {WHISPER_TOKENIZER}: {advice}")
            return Weights("whisper", (folder / "model.bin").stat().st_size, architecture=name)
        if name not in CT2_MODELS:
            raise UnusableArtifact(f"{folder.name} is a {name} of CTranslate2, which does not generate text")
        return Weights("ct2", (folder / "model.bin").stat().st_size, architecture=name)
    if not shards:
        if pickles := sorted(name for name in names if name.endswith(PICKLES)):
            raise UnusableArtifact(
                f"{pickles[0]} is a pickle file, which could run code: convert the weights to safetensors"
            )
        raise UnusableArtifact(f"{folder.name} has no weights: neither safetensors nor GGUF files")
    if "config.json" not in names:
        raise UnusableArtifact(f"{folder.name} has no config.json beside its weights")
    config = read_object(folder / "config.json", MAX_JSON_BYTES)
    _check_complete(folder, names)
    stored = [dtype for shard in shards for dtype in (_check_safetensors(shard),) if dtype]
    quantized = config.get("quantization_config")
    text = config.get("text_config")
    inner = {**config, **text} if isinstance(text, Mapping) else config
    return Weights(
        form="exl3" if isinstance(quantized, Mapping) and _method(quantized) == "exl3" else "safetensors",
        size_bytes=sum(shard.stat().st_size for shard in shards),
        quantization=_quantization(quantized, inner, stored),
        layers=number(inner, "num_hidden_layers"),
        cache_bytes=_cache_bytes(inner),
        context=number(inner, "max_position_embeddings"),
        vocabulary=number(inner, "vocab_size"),
    )


def read_template(folder: Path) -> str:
    """The chat template of a folder: of its own file, else of the tokenizer; "" without one."""
    own = folder / "chat_template.jinja"
    try:
        if own.is_file():
            with own.open("rb") as file:
                return file.read(MAX_TEMPLATE_BYTES).decode("utf-8", "replace")
        template = read_object(folder / "tokenizer_config.json", MAX_JSON_BYTES).get("chat_template")
    except (OSError, UnusableArtifact):
        return ""
    if isinstance(template, list):  # several, by name
        named = [each for each in template if isinstance(each, Mapping)]
        template = next((each.get("template") for each in named if each.get("name") == "default"), None)
    return template if isinstance(template, str) else ""


def ct2_name(folder: Path, names: set[str]) -> str | None:
    """The kind of a model of CTranslate2, whose `model.bin` is a format of its own; None of other folders."""
    if not {"model.bin", "config.json"} <= names:
        return None
    with (folder / "model.bin").open("rb") as file:
        head = file.read(128)
    # a version, the length of a name, and the name, which ends with a zero (CTranslate2, src/models/model.cc)
    if len(head) < struct.calcsize("<IH"):
        return None
    version, length = struct.unpack_from("<IH", head)
    name = head[6 : 6 + length].decode("ascii", "replace")
    return name[:-1] if 1 <= version <= 100 and name.endswith("Spec\0") else None


def _check_complete(folder: Path, names: set[str]) -> None:
    """A missing part would make an engine look for other weights."""
    if "model.safetensors.index.json" not in names:
        return
    index = read_object(folder / "model.safetensors.index.json", MAX_INDEX_BYTES).get("weight_map")
    parts = {str(part) for part in index.values()} if isinstance(index, Mapping) else {"each file"}
    if missing := sorted(parts - names):
        raise UnusableArtifact(f"{missing[0][:MAX_SHOWN]} is missing, a part of the weights of {folder.name}")


def _check_safetensors(path: Path) -> str | None:
    """The type of most tensors of a file, whose header is valid; None without tensors."""
    with path.open("rb") as file:
        head = file.read(8)
        size = int.from_bytes(head, "little")
        if len(head) < 8 or not 2 <= size <= MAX_HEADER_BYTES or size + 8 > path.stat().st_size:
            raise UnusableArtifact(f"{path.name} is damaged: it is not a safetensors file")
        data = file.read(size)
    tensors = _parsed(path, data)
    types = [entry.get("dtype") for entry in tensors.values() if isinstance(entry, Mapping)]
    known = Counter(str(each) for each in types if each)
    return known.most_common(1)[0][0] if known else None


def _quantization(quantized: Any, config: Mapping[str, Any], stored: Sequence[str]) -> str | None:
    if isinstance(quantized, Mapping):
        method, bits = _method(quantized), quantized.get("bits", quantized.get("w_bit"))
        if method == "exl3":
            return f"exl3-{bits}bpw" if isinstance(bits, (int, float)) else "exl3"
        if method in ("awq", "gptq"):
            return f"{method}-{bits if isinstance(bits, int) else 4}bit"
        if method == "bitsandbytes":
            return "bitsandbytes-4bit" if quantized.get("load_in_4bit") else "bitsandbytes-8bit"
        return method or "unknown"
    dtype = config.get("torch_dtype") or config.get("dtype")
    if isinstance(dtype, str) and dtype in NUMBERS:
        return NUMBERS[dtype]
    return {"BF16": "bf16", "F16": "fp16", "F32": "fp32"}.get(stored[0]) if stored else None


def _method(quantized: Mapping[str, Any]) -> str:
    return str(quantized.get("quant_method", ""))[:40].lower()


def _cache_bytes(config: Mapping[str, Any]) -> int | None:
    layers, heads = number(config, "num_hidden_layers"), number(config, "num_attention_heads")
    width = number(config, "head_dim")
    if width is None and heads and (hidden := number(config, "hidden_size")):
        width = hidden // heads
    heads_kv = number(config, "num_key_value_heads") or heads
    return layers * heads_kv * width * 2 * 2 if layers and heads_kv and width else None


def number(config: Mapping[str, Any], name: str) -> int | None:
    """A member of a configuration that is a positive integer; None if it is none."""
    value = config.get(name)
    return value if type(value) is int and 0 < value < 2**40 else None


def read_object(path: Path, most: int) -> dict[str, Any]:
    """The JSON object in a file of at most `most` bytes. Raises `UnusableArtifact`, `OSError`."""
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise UnusableArtifact(f"{path.name} has more than {most >> 20} MiB")
    return _parsed(path, data)


def _parsed(path: Path, data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise UnusableArtifact(f"{path.name} is damaged: it is not valid JSON") from None
    if not isinstance(value, dict):
        raise UnusableArtifact(f"{path.name} is damaged: it is not a JSON object")
    return value
