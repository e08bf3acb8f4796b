"""The sizes of a GGUF model that determine its memory, from the headers of its parts.

The rules are llama.cpp's: which layers attend to a window only, which are recurrent, which share a cache
(llama-hparams.cpp, llama-model.cpp, src/models). Where an architecture is unknown, each layer counts as one
that attends to all tokens.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from backends.model_shape import AttentionLayers, ModelShape
from fleet.artifacts.gguf_header import GgufHeader, ListLength, read_gguf_header
from fleet.artifacts.gguf_weights import parts_of

MAX_LAYERS = 10_000
WINDOW_PERIODS = {
    **{"cohere2": 4, "exaone-moe": 4, "exaone4": 4, "gemma-embedding": 6, "gemma2": 2, "gemma3": 6},
    **{"gemma3n": 5, "gpt-oss": 2, "llama4": 4, "modern-bert": 3, "olmo2": 4, "smallthinker": 4},
}
"""Every nth layer of these attends to all tokens, the others to a window."""

CHUNK = 8192  # tokens to which layers of Llama 4 attend
ATTENTION_PERIODS = {"qwen3next": 4, "qwen35": 4, "qwen35moe": 4}
"""Every nth layer of these has attention, the others are recurrent."""

RECURRENT = ("mamba", "mamba2", "rwkv6", "rwkv7", "arwkv7", "rwkv6qwen2")
BOTH = ("falcon-h1", "hymba")
"""The architectures whose layers all are recurrent, and those whose layers have both."""

LAYERS_WITH_CACHE = {"gemma3n": 20}
"""How many layers have a cache of their own, if the file does not say how many share one."""


def read_gguf_shape(path: Path) -> ModelShape:
    """The shape of a model in one file or several parts. Raises `UnusableArtifact`, `OSError`."""
    headers = [read_gguf_header(part) for part in parts_of(path)]
    return gguf_shape(headers)


def gguf_shape(headers: Sequence[GgufHeader]) -> ModelShape:
    """The shape of a model by the headers of its parts, of which the first one has the settings."""
    header = headers[0]
    tensors = {tensor.name: tensor.bytes for part in headers for tensor in part.tensors}
    layers = min(MAX_LAYERS, header.number("block_count") or 0)
    cached = max(0, layers - (header.number("nextn_predict_layers") or 0))
    embeddings = tensors.get("token_embd.weight", 0) if "output.weight" in tensors else 0
    tokens = header.settings.get("tokenizer.ggml.tokens")
    count = tokens.length if isinstance(tokens, ListLength) else len(tokens or ())
    recurrent = [_is_recurrent(header, at) for at in range(cached)]
    groups = Counter(
        sizes for at in range(cached) if (sizes := _attention(header, at, cached, recurrent)) is not None
    )
    return ModelShape(
        weights=sum(tensors.values()),
        embeddings=embeddings,
        attention=tuple(AttentionLayers(number, *sizes) for sizes, number in groups.items()),
        state=sum(recurrent) * _state_bytes(header),
        width=header.number("embedding_length") or 0,
        hidden=_hidden(header),
        heads=max(_each(header, "attention.head_count", at) for at in range(max(1, layers))),
        vocabulary=header.number("vocab_size") or count,
        context=header.number("context_length") or 0,
        layers=layers,
        prediction_layers=header.number("nextn_predict_layers") or 0,
    ).bounded()


def _attention(
    header: GgufHeader, at: int, layers: int, recurrent: Sequence[bool]
) -> tuple[int, int, int] | None:
    """The keys, values and window of a layer's cache; None if the layer has none of its own."""
    architecture = header.architecture
    if recurrent[at] and architecture not in BOTH:
        return None
    shared = header.number("attention.shared_kv_layers")
    if at >= (LAYERS_WITH_CACHE.get(architecture, layers) if shared is None else layers - shared):
        return None
    heads = _each(header, "attention.head_count", at)
    own = header.of_architecture("attention.head_count_kv")
    heads_kv = heads if own is None else _each(header, "attention.head_count_kv", at)
    window = _window(header, at)
    width = (header.number("embedding_length") or 0) // max(1, heads)
    key, value = header.number("attention.key_length") or width, header.number("attention.value_length")
    value = width if value is None else value
    if window:
        key = header.number("attention.key_length_swa") or key
        value = header.number("attention.value_length_swa") or value
    if header.number("attention.key_length_mla"):
        value = 0  # the values are a part of the compressed keys
    sizes = heads_kv * key, heads_kv * value, window
    return sizes if heads_kv and key else None


def _window(header: GgufHeader, at: int) -> int:
    """The tokens to which a layer attends; 0 for all."""
    architecture = header.architecture
    window = header.number("attention.sliding_window") or 0
    if architecture == "llama4":
        window = header.number("attention.chunk_size") or CHUNK
    pattern = header.of_architecture("attention.sliding_window_pattern")
    if isinstance(pattern, tuple):
        return window if at < len(pattern) and pattern[at] else 0
    period = pattern if isinstance(pattern, int) else WINDOW_PERIODS.get(architecture, 0)
    return window if period and at % period < period - 1 else 0


def _is_recurrent(header: GgufHeader, at: int) -> bool:
    """Whether a layer keeps a state of fixed size."""
    architecture = header.architecture
    if architecture in RECURRENT or architecture in BOTH:
        return True
    if header.number("ssm.conv_kernel") is None and header.number("shortconv.l_cache") is None:
        return False
    period = header.number("full_attention_interval") or ATTENTION_PERIODS.get(architecture, 0)
    if period:
        return (at + 1) % period != 0
    hidden = header.of_architecture("feed_forward_length")
    feeds_only = isinstance(hidden, tuple) and architecture.startswith("nemotron") and _item(hidden, at) > 0
    return _each(header, "attention.head_count_kv", at) == 0 and not feeds_only


def _state_bytes(header: GgufHeader) -> int:
    """The state of one recurrent layer and sequence, in 32-bit numbers."""
    width = header.number("embedding_length") or 0
    if size := header.number("wkv.head_size"):
        return 4 * width * ((header.number("token_shift_count") or 2) + size)
    if (kernel := header.number("shortconv.l_cache")) is not None:
        return 4 * width * (kernel - 1)
    inner, state = header.number("ssm.inner_size") or 0, header.number("ssm.state_size") or 0
    mixed = inner + 2 * (header.number("ssm.group_count") or 0) * state
    return 4 * (max(0, (header.number("ssm.conv_kernel") or 1) - 1) * mixed + state * inner)


def _hidden(header: GgufHeader) -> int:
    """The hidden numbers of one token in a feed-forward step, of all experts that it uses."""
    dense = header.of_architecture("feed_forward_length")
    if isinstance(dense, tuple):
        dense = max((each for each in dense if isinstance(each, int)), default=0)
    dense = dense if isinstance(dense, int) else 0
    expert, used = header.number("expert_feed_forward_length"), header.number("expert_used_count")
    return max(dense, (expert or dense) * (used or 1)) if used else dense


def _each(header: GgufHeader, name: str, at: int) -> int:
    """A setting that is one number for all layers, or a list with a number for each."""
    value = header.of_architecture(name)
    return _item(value, at) if isinstance(value, tuple) else value if isinstance(value, int) else 0


def _item(values: tuple[object, ...], at: int) -> int:
    value = values[at] if at < len(values) else 0
    return value if isinstance(value, int) and value > 0 else 0
