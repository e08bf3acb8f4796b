"""What the header of a GGUF model says about its weights, in all parts of the file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from backends.load_parameters import Weights
from fleet.artifacts.errors import UnusableArtifact
from fleet.artifacts.gguf_header import (
    FILE_TYPES,
    MAX_TENSORS,
    MAX_TEXTS,
    GgufHeader,
    ListLength,
    TensorSize,
    read_gguf_header,
)

PART = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf")
MAX_PARTS = 256
LAYER = re.compile(r"blk\.\d+\.")
BYTES_PER_NUMBER = 2  # of the cache, by default


def parts_of(path: Path) -> list[Path]:
    """All parts of a model, of which `path` is the first or only one. Raises `UnusableArtifact`."""
    if (match := PART.fullmatch(path.name)) is None:
        return [path]
    count = int(match["count"])
    if int(match["number"]) != 1:
        raise UnusableArtifact(f"{path.name} is not the first part: name the one with 00001")
    if not 1 <= count <= MAX_PARTS:
        raise UnusableArtifact(f"{path.name} is one of {count} parts; at most {MAX_PARTS} are read")
    parts = [path.with_name(f"{match['stem']}-{at:05}-of-{count:05}.gguf") for at in range(1, count + 1)]
    if missing := [part.name for part in parts if not part.is_file()]:
        raise UnusableArtifact(f"{missing[0]} is missing, a part of {path.name}")
    return parts


def read_gguf_weights(path: Path) -> Weights:
    """What the headers of a model's parts say. Raises `UnusableArtifact`, `OSError`."""
    parts = parts_of(path)
    return gguf_weights(parts, read_headers(parts))


def gguf_weights(parts: Sequence[Path], headers: Sequence[GgufHeader]) -> Weights:
    """What the headers of these parts say. Raises `UnusableArtifact`, `OSError`."""
    tensors = [tensor for header in headers for tensor in header.tensors]
    if not tensors:
        raise UnusableArtifact(f"{parts[0].name} has no tensors")
    first = headers[0]
    layers = first.number("block_count")
    in_layers = sum(tensor.bytes for tensor in tensors if LAYER.match(tensor.name))
    return Weights(
        form="gguf",
        size_bytes=sum(part.stat().st_size for part in parts),
        quantization=_type(first, tensors),
        layers=layers,
        layer_bytes=-(-in_layers // layers) if layers else None,
        outer_bytes=_output_bytes(tensors),
        cache_bytes=_cache_bytes(first, layers),
        context=first.number("context_length"),
        vocabulary=_length(first, "tokenizer.ggml.tokens"),
    )


def read_headers(parts: Sequence[Path], whole_text: str = "") -> list[GgufHeader]:
    """The headers of all parts, which together have no more than one may have.

    Of the setting `whole_text` the whole text is kept. Raises `UnusableArtifact`, `OSError`.
    """
    headers: list[GgufHeader] = []
    for part in parts:
        headers.append(read_gguf_header(part, whole_text))
        tensors, texts = sum(len(each.tensors) for each in headers), sum(each.texts for each in headers)
        if tensors > MAX_TENSORS or texts > MAX_TEXTS:
            raise UnusableArtifact(f"{part.name}: the parts together have too many tensors or texts")
    return headers


def _type(header: GgufHeader, tensors: Sequence[TensorSize]) -> str:
    """The type that the header names, else that of most of the bytes."""
    named = FILE_TYPES.get(header.settings.get("general.file_type", -1))
    if named is not None:
        return named
    sizes: Counter[str] = Counter()
    for tensor in tensors:
        sizes[tensor.type] += tensor.bytes
    return sizes.most_common(1)[0][0]


def _output_bytes(tensors: Sequence[TensorSize]) -> int:
    """The weights beside the layers that a GPU holds: the output, which may be that of the embeddings."""
    sizes = {tensor.name: tensor.bytes for tensor in tensors}
    return sizes.get("output.weight", sizes.get("token_embd.weight", 0))


def _cache_bytes(header: GgufHeader, layers: int | None) -> int | None:
    """Bytes of a token's keys and values in all layers; None if the header has a number for each layer."""
    heads = header.number("attention.head_count")
    own = f"{header.settings.get('general.architecture')}.attention.head_count_kv"
    heads_kv = header.number("attention.head_count_kv") if own in header.settings else heads
    width = header.number("embedding_length")
    if not (layers and heads and heads_kv and width):
        return None
    key = header.number("attention.key_length") or width // heads
    value = header.number("attention.value_length") or width // heads
    return layers * heads_kv * (key + value) * BYTES_PER_NUMBER


def _length(header: GgufHeader, name: str) -> int | None:
    value = header.settings.get(name)
    return value.length if isinstance(value, ListLength) else None
