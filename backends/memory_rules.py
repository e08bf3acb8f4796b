"""How much memory a replica takes, by the arithmetic of its runtime: backends declare one of these rules.

A rule needs the shape of the model (`backends.model_shape`), the options in force, the number of slots and
the device. It returns the parts of the need in bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any, Protocol, runtime_checkable

from backends.model_shape import MAX_NUMBER, Device, ModelShape

MIB = 1024 * 1024
BITS = {
    **{"f32": 32, "f16": 16, "bf16": 16, "q8_0": 8.5, "q4_0": 4.5, "q4_1": 5, "iq4_nl": 4.5},
    **{"q5_0": 5.5, "q5_1": 6},
}
"""Bits of a cached number in llama.cpp's types, scales included (ggml/src/ggml.c)."""

MAX_SEQUENCES = 256
"""Sequences of one context of llama.cpp (LLAMA_MAX_SEQ)."""

SLOTS_PER_SPARE = 4

CELLS = 256
"""llama.cpp rounds the context of a sequence, and a window, up to a multiple of this."""


@dataclass(frozen=True, slots=True)
class MemoryNeed:
    """The memory of one replica, in bytes.

    `cache` are cached keys and values, and recurrent states; `buffers` what a step takes; `process` what the
    libraries take before a model is loaded.
    """

    weights: int
    cache: int = 0
    buffers: int = 0
    process: int = 0

    @property
    def mib(self) -> int:
        """The sum, in MiB, rounded up; no more than JSON can have."""
        return min(MAX_NUMBER, -(-(self.weights + self.cache + self.buffers + self.process) // MIB))


class MemoryRule(Protocol):
    """The memory of one replica."""

    def need(self, shape: ModelShape, options: Mapping[str, Any], slots: int, device: Device) -> MemoryNeed:
        """The need with these options; those that are absent or null have their defaults."""
        ...


@runtime_checkable
class BoundsContext(Protocol):
    """A rule for a runtime whose cache has a fixed size on some devices, however much memory there is."""

    def longest_context(self, shape: ModelShape, options: Mapping[str, Any], device: Device) -> int | None:
        """The most tokens of one request for which the cache has room; None without such a bound."""
        ...


@dataclass(frozen=True)
class LlamaMemory:
    """The arithmetic of llama.cpp (llama-kv-cache.cpp, llama-kv-cache-iswa.cpp, llama-memory-recurrent.cpp).

    The names are those of the options: context, layers on the GPU, flash attention, pooling, and, where there
    are such options, the types of keys and values, the tokens of a step, the spare sequences and whether
    prompts are reused, which the spare ones are for. `process_mib` is the engine's
    memory without a model on the CPU; on a GPU it is that of the driver's context.
    """

    context: str
    gpu_layers: str
    flash_attention: str
    pooling: str
    keys: str | None = None
    values: str | None = None
    batch: str | None = None
    spare: str | None = None
    reuse: str | None = None
    process_mib: int = 30
    driver_mib: int = 400

    def need(self, shape: ModelShape, options: Mapping[str, Any], slots: int, device: Device) -> MemoryNeed:
        """The need of a context with `slots` sequences and spare ones, each with a cache of its own."""
        context = min(options[self.context], shape.context or options[self.context])
        cells = _padded(context)
        pooled = options.get(self.pooling) is not None
        asked = slots
        if self.spare is not None and not (self.reuse and options.get(self.reuse) is False):
            on_gpu = device.is_gpu and options.get(self.gpu_layers) != 0
            slots += spare_sequences(options.get(self.spare), slots, on_gpu=on_gpu)
        sequences = 1 if pooled else slots
        step = cells if pooled else max(options[self.batch] if self.batch else 512, slots)
        bits = [BITS[options.get(name or "") or "f16"] for name in (self.keys, self.values)]
        offloaded = self._offloaded(shape, options, device)
        cache = int(sequences * offloaded * (_cache_bits(shape, cells, step, bits) / 8 + shape.state))
        weights = shape.weights - (shape.embeddings if device.is_gpu and offloaded else 0)
        need = MemoryNeed(
            int(weights * offloaded) + shape.further,
            cache,
            _step_bytes(shape, cells, step, sequences, flash=options.get(self.flash_attention) != "off"),
            (self.driver_mib if device.is_gpu else self.process_mib) * MIB,
        )
        if shape.draft is None:
            return need
        draft = self.need(shape.draft, options, asked, device)
        return MemoryNeed(
            need.weights + draft.weights, need.cache + draft.cache, need.buffers + draft.buffers, need.process
        )

    def _offloaded(self, shape: ModelShape, options: Mapping[str, Any], device: Device) -> float:
        """The share of the layers that the device holds."""
        layers = options.get(self.gpu_layers)
        if not device.is_gpu or layers is None or layers < 0 or not shape.layers:
            return 1.0
        return min(1.0, int(layers) / shape.layers)


def spare_sequences(wanted: int | None, slots: int, *, on_gpu: bool) -> int:
    """How many sequences a context has beyond its slots: `wanted`, as many as fit into it.

    By default one for `SLOTS_PER_SPARE` slots on the CPU, and none on a GPU.
    """
    if wanted is None:
        wanted = 0 if on_gpu else slots // SLOTS_PER_SPARE
    return max(0, min(wanted, MAX_SEQUENCES - slots))


def _padded(cells: int) -> int:
    return -(-cells // CELLS) * CELLS


def _cache_bits(shape: ModelShape, cells: int, step: int, bits: list[float]) -> float:
    """Bits of the cache of one sequence. Layers with a window keep it and the tokens of a step."""
    total = 0.0
    for group in shape.attention:
        kept = _kept(group.window, cells, step)
        total += group.count * kept * (group.keys * bits[0] + group.values * bits[1])
    return total


def _kept(window: int, cells: int, step: int) -> int:
    """How many tokens of a sequence a layer keeps."""
    return min(cells, _padded(window + step)) if window else cells


def _step_bytes(shape: ModelShape, cells: int, step: int, sequences: int, *, flash: bool) -> int:
    """The buffers of a step: the larger one of its attention, feed-forward and output parts, and its masks.

    Measured with llama.cpp's log on models of several shapes: four times the hidden numbers and once the
    width for each token in 32 bits; without flash attention a score for each head and cached token.
    """
    masks = {group.window: _kept(group.window, cells, step) for group in shape.attention}
    mask = step * sum(masks.values()) * (2 if flash else 4)
    scores = 0 if flash else step * (4 * cells * shape.heads + 24 * shape.width)
    feed_forward = 4 * step * (4 * shape.hidden + shape.width)
    output = 4 * sequences * (shape.vocabulary + shape.width)
    return mask + max(scores, feed_forward, output) + output


@dataclass(frozen=True)
class VllmMemory:
    """vLLM takes a share of the GPU, and gives to its cache what weights and buffers leave of it.

    On the CPU the cache has the size of an option, `cpu_cache` by default.
    """

    context: str
    share: str
    cache_bytes: str
    cache_type: str
    default_share: float = 0.92
    cpu_cache: int = 1 << 30
    reserve_mib: int = 1500  # of CUDA, the libraries and the buffers of a step
    process_mib: int = 900

    def need(
        self,
        shape: ModelShape,
        options: Mapping[str, Any],
        slots: int,  # noqa: ARG002 - of every rule
        device: Device,
    ) -> MemoryNeed:
        """The share of the GPU; more if weights and one request of the whole context do not fit into it."""
        cache = options.get(self.cache_bytes)
        if not device.is_gpu:
            weights = shape.weights * max(1, 4 // shape.number_bytes)  # in float32
            return MemoryNeed(weights + shape.further, cache or self.cpu_cache, 0, self.process_mib * MIB)
        context = options.get(self.context) or shape.context
        weights = shape.weights + shape.further
        number_bytes = 1 if str(options.get(self.cache_type)).startswith("fp8") else 2
        least = cache or number_bytes * shape.cache_numbers() * context
        process = self.reserve_mib * MIB
        if cache or not device.total_mib:
            return MemoryNeed(weights, least, 0, process)
        share = options.get(self.share) or self.default_share
        return MemoryNeed(
            weights, max(least, int(share * device.total_mib * MIB) - weights - process), 0, process
        )

    def longest_context(self, shape: ModelShape, options: Mapping[str, Any], device: Device) -> int | None:
        """On the CPU the cache has the size of its option; its numbers have 32 bits there."""
        if device.is_gpu or not shape.cache_numbers():
            return None
        return int((options.get(self.cache_bytes) or self.cpu_cache) // (4 * shape.cache_numbers()))


@dataclass(frozen=True)
class ExllamaMemory:
    """The arithmetic of ExLlamaV3 (cache/fp16.py, cache/quant.py): a cache of a fixed number of tokens.

    A quantized number takes its bits, and 32 of them share a scale of 16 bits.
    """

    cache: str
    key_bits: str
    value_bits: str
    both_bits: str
    process_mib: int = 860  # CUDA, PyTorch, and the buffers of a step

    def need(
        self,
        shape: ModelShape,
        options: Mapping[str, Any],
        slots: int,
        device: Device,  # noqa: ARG002 - it runs on GPUs only
    ) -> MemoryNeed:
        """The need with a cache that all requests share."""
        tokens = options[self.cache]
        both = str(options.get(self.both_bits) or "").split(",") if options.get(self.both_bits) else ()
        named = [options.get(self.key_bits), options.get(self.value_bits)]
        named = [int(both[0]), int(both[-1])] if both else named
        keys, values = map(_exllama_bits, named)
        bits = sum(group.count * (group.keys * keys + group.values * values) for group in shape.attention)
        cache = ceil(tokens * bits / 8) + slots * shape.state
        output = 4 * slots * shape.vocabulary
        return MemoryNeed(shape.weights + shape.further, cache, output, self.process_mib * MIB)


def _exllama_bits(bits: int | None) -> float:
    return 16 if bits is None else bits + 0.5


@dataclass(frozen=True)
class FolderMemory:
    """`factor` times the files of the model: for a runtime whose buffers grow with the weights."""

    factor: float

    def need(
        self,
        shape: ModelShape,
        options: Mapping[str, Any],  # noqa: ARG002 - of every rule
        slots: int,  # noqa: ARG002
        device: Device,  # noqa: ARG002
    ) -> MemoryNeed:
        """The weights, and the rest of the factor as buffers."""
        return MemoryNeed(shape.weights, buffers=ceil(shape.weights * (self.factor - 1)))


@dataclass(frozen=True)
class VoiceMemory:
    """What sherpa-onnx takes: its libraries, `factor` times the files of a voice, and buffers of requests.

    `request` (bytes) is what the longest sentence takes while it is spoken: each slot may speak one.
    """

    factor: float
    process: int
    request: int

    def need(
        self,
        shape: ModelShape,
        options: Mapping[str, Any],  # noqa: ARG002 - of every rule
        slots: int,
        device: Device,  # noqa: ARG002
    ) -> MemoryNeed:
        """The files, with their copies and the sentences as buffers."""
        copies = ceil(shape.weights * (self.factor - 1))
        return MemoryNeed(shape.weights, buffers=copies + slots * self.request, process=self.process)
