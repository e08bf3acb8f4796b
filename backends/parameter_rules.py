"""The rules by which a parameter of a load becomes options of a backend; see `backends.load_parameters`.

A rule returns options, or raises `Refused` for what the backend cannot honour.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from backends.load_parameters import CONTEXT, MEMORY, QUANTIZATION, Refused, Situation, Weights

MIB = 1024 * 1024
SYNONYMS = {"f16": "fp16", "f32": "fp32", "float16": "fp16", "bfloat16": "bf16", "float32": "fp32"}
UNQUANTIZED_TYPES = ("fp16", "bf16", "fp32")
"""Weights that are not quantised."""


def canonical(quantization: str) -> str:
    """The name of a type of weights as this project writes it: `fp16` for `F16`."""
    name = quantization.strip().lower()
    return SYNONYMS.get(name, name)


@dataclass(frozen=True)
class Impossible:
    """The backend cannot honour the parameter at all."""

    parameter: str
    reason: str

    @property
    def about(self) -> str:
        """Why the parameter is refused."""
        return f"refused: {self.reason}"

    def options(self, value: Any, _: Situation) -> Mapping[str, Any]:  # noqa: ARG002 - of every rule
        """Raise `Refused`."""
        raise Refused(self.parameter, f"{self.reason}: leave {self.parameter} out")


@dataclass(frozen=True)
class FixedQuantization:
    """The files have one type of weights, and the backend runs that one."""

    about: str

    def options(self, value: str, situation: Situation) -> Mapping[str, Any]:
        """Return no options; raise `Refused` for a type that the files do not have."""
        _check_type(value, situation.weights)
        return {}


@dataclass(frozen=True)
class NumberType:
    """The backend converts any weights when it loads them: an option names the type."""

    option: str
    values: Mapping[str, str]

    @property
    def about(self) -> str:
        """The option, and the types that it accepts."""
        return f"`{self.option}`: {', '.join(f'`{name}`' for name in self.values)}"

    def options(self, value: str, _: Situation) -> Mapping[str, Any]:
        """Return the option for a type of weights. Raises `Refused` for an unknown type."""
        if (name := canonical(value)) not in self.values:
            raise Refused(QUANTIZATION, f"must be one of {', '.join(self.values)}, not {value}")
        return {self.option: self.values[name]}


@dataclass(frozen=True)
class PlainOrFixed:
    """Weights that are not quantised get the number type of an option, or are quantised during the load.

    Quantised ones stay as they are.
    """

    option: str
    values: Mapping[str, str]
    during_load_option: str
    during_load: Mapping[str, str] = field(default_factory=dict)

    @property
    def about(self) -> str:
        """The types for weights that are not quantised, and what happens to quantised ones."""
        types = ", ".join(f"`{name}`" for name in self.values)
        more = ", ".join(f"`{name}`" for name in self.during_load)
        return (
            f"weights that are not quantised: {types} (`{self.option}`) or {more}"
            f" (`{self.during_load_option}`); quantised ones (`awq-4bit`, `gptq-4bit`, ...): their own type"
        )

    def options(self, value: str, situation: Situation) -> Mapping[str, Any]:
        """Return the option for the type. Raises `Refused` for one that the weights cannot have."""
        name, stored = canonical(value), _stored_type(situation.weights)
        if stored not in UNQUANTIZED_TYPES:
            _check_type(value, situation.weights)
            return {}
        if name in self.values:
            return {self.option: self.values[name]}
        if name in self.during_load:
            return {self.during_load_option: self.during_load[name]}
        possible = ", ".join((*self.values, *self.during_load))
        raise Refused(
            QUANTIZATION,
            f"the files contain {stored} weights, which can be loaded as {possible}, not as {value}",
        )


@dataclass(frozen=True)
class ContextOption:
    """An option is the context of one request, in tokens, of which the engine rounds up to a multiple.

    `shared` says that it is the size of a cache for all requests together, which bounds each of them, too;
    `capped`, that the engine uses no more than the context that the model was made for, `bounded`, that it
    does not start with more, unless the option `stretched_by` is set: it may scale the positions.
    """

    option: str
    multiple: int = 1
    most: int = 100_000_000
    shared: bool = False
    capped: bool = False
    bounded: bool = False
    stretched_by: str | None = None

    @property
    def about(self) -> str:
        """The option, and how its value is rounded."""
        rounded = f", rounded up to a multiple of {self.multiple}" if self.multiple > 1 else ""
        return f"`{self.option}`{rounded}" + (", which all requests share" if self.shared else "")

    def options(self, value: int, situation: Situation) -> Mapping[str, Any]:
        """Return the rounded context. Raises `Refused` if it is longer than the model allows."""
        longest = situation.weights.context if situation.weights else None
        if longest is not None and value > longest:
            raise Refused(CONTEXT, f"must be at most {longest}, the context that the model was made for")
        if value > self.most:
            raise Refused(CONTEXT, f"must be at most {self.most}")
        return {self.option: -(-value // self.multiple) * self.multiple}


@dataclass(frozen=True)
class LayersOnGpu:
    """An option is how many layers the GPU holds, with their part of the cache; the CPU computes the others.

    `context` and `batch` are the options with the tokens of a request and of a step.
    """

    option: str
    context: str
    batch: str | None = None
    reserve_mib: int = 400  # what the driver's libraries and small buffers take

    @property
    def about(self) -> str:
        """The option, and how the number of layers is computed."""
        return (
            f"`{self.option}`: as many layers as fit by the sizes in the file's header, with the cache of all"
            f" slots in 16-bit numbers and {self.reserve_mib} MiB and more for buffers; refused if none fits"
        )

    def options(self, value: int, situation: Situation) -> Mapping[str, Any]:
        """Return how many layers fit into the budget. Raises `Refused` if none does."""
        weights = _read(MEMORY, situation.weights)
        if not (weights.layers and weights.layer_bytes and weights.cache_bytes):
            raise Refused(MEMORY, "the file's header does not say what a layer takes: leave it out")
        tokens = situation.options[self.context] * situation.slots
        layer = weights.layer_bytes + -(-weights.cache_bytes * tokens // weights.layers)
        batch = situation.options[self.batch] if self.batch else 512
        reserve = self.reserve_mib * MIB + 4 * batch * (weights.vocabulary or 0)
        left = value * MIB - reserve
        if left >= layer * weights.layers + weights.outer_bytes:
            return {self.option: weights.layers + 1}  # and the output
        if left < layer:
            least = -(-(reserve + layer) // MIB)
            raise Refused(
                MEMORY, f"must be at least {least}: less holds no layer with {tokens} tokens of cache"
            )
        return {self.option: left // layer}

    def need_mib(self, value: int, situation: Situation) -> int:
        """The budget, but at most the size of the weights; other layers stay in the machine's memory."""
        return min(value, -(-_read(MEMORY, situation.weights).size_bytes // MIB))


@dataclass(frozen=True)
class MemoryShare:
    """An option is the share of the GPU's memory that the engine takes, weights and cache together."""

    option: str
    most: float = 0.95

    @property
    def about(self) -> str:
        """The option, and how the share is computed."""
        return (
            f"`{self.option}`: the share that this is of the largest GPU, {self.most} at most, so that none"
            " takes more; refused if the weights alone take more. Without a GPU no option changes"
        )

    def options(self, value: int, situation: Situation) -> Mapping[str, Any]:
        """Return the budget as a share of the GPU's memory. Raises `Refused` if the weights do not fit."""
        if situation.weights is not None and situation.weights.size_bytes > value * MIB:
            size = -(-situation.weights.size_bytes // MIB)
            raise Refused(MEMORY, f"must be more than {size}, the size of the weights")
        if situation.gpu_mib is None:
            return {}
        share = min(self.most, int(1000 * value / situation.gpu_mib) / 1000)
        if share < 0.01:
            least = -(-situation.gpu_mib // 100)
            raise Refused(
                MEMORY, f"must be at least {least}, a hundredth of a GPU with {situation.gpu_mib} MiB"
            )
        return {self.option: share}

    def need_mib(self, value: int, situation: Situation) -> int:
        """The budget: the engine takes its whole share, for the cache what the weights leave."""
        return min(value, int(self.most * (situation.gpu_mib or value)))


@dataclass(frozen=True)
class CacheTokens:
    """An option is the tokens of the cache, a multiple of `step`: what the weights leave of the budget.

    `bits` are the options with the bits of a cached number.
    """

    option: str
    step: int
    bits: Sequence[str] = ()
    reserve_mib: int = 1024  # what the libraries and the buffers of a step take

    @property
    def about(self) -> str:
        """The option, and how the size of the cache is computed."""
        return (
            f"`{self.option}`: made smaller until weights, cache and {self.reserve_mib} MiB for buffers fit;"
            " refused if less than `maxContextLength` fits"
        )

    def options(self, value: int, situation: Situation) -> Mapping[str, Any]:
        """Return the tokens of cache that fit into the budget. Raises `Refused` if they are too few."""
        weights = _read(MEMORY, situation.weights)
        if not weights.cache_bytes:
            raise Refused(MEMORY, "config.json does not say what a token of cache takes: leave it out")
        bits = [situation.options.get(name) or 16 for name in self.bits] or [16]
        token = weights.cache_bytes * sum(bits) / (16 * len(bits))
        wanted = situation.options[self.option]
        left = value * MIB - self.reserve_mib * MIB - weights.size_bytes
        tokens = min(wanted, int(left / token) // self.step * self.step)
        least = situation.context or self.step
        if tokens < least:
            needed = -(-int(self.reserve_mib * MIB + weights.size_bytes + token * least) // MIB)
            raise Refused(MEMORY, f"must be at least {needed}: for the weights and {least} tokens of cache")
        return {self.option: tokens}


@dataclass(frozen=True)
class KnownNeed:
    """An option is the memory that a load takes, in MiB: a budget below it is refused."""

    option: str

    @property
    def about(self) -> str:
        """When a budget is refused."""
        return f"refused if it is less than `{self.option}`"

    def options(self, value: int, situation: Situation) -> Mapping[str, Any]:
        """Return no options. Raises `Refused` for a budget below the memory that a load takes."""
        if value < situation.options[self.option]:
            raise Refused(MEMORY, f"must be at least {situation.options[self.option]}, what the model takes")
        return {}


def _read(parameter: str, weights: Weights | None) -> Weights:
    if weights is None:
        raise Refused(
            parameter, "the model's files are not on this host, which cannot check it: leave it out"
        )
    return weights


def _stored_type(weights: Weights | None) -> str:
    stored = _read(QUANTIZATION, weights).quantization
    if stored is None:
        raise Refused(QUANTIZATION, "the files do not say the type of their weights: leave it out")
    return stored


def _check_type(asked: str, weights: Weights | None) -> None:
    """Refuse any type but that of the files. `exl3` stands for each number of bits."""
    stored, name = _stored_type(weights), canonical(asked)
    if name not in (stored, stored.partition("-")[0] if stored.startswith("exl3-") else stored):
        raise Refused(
            QUANTIZATION, f"the files contain {stored} weights, which are loaded as they are, not as {asked}"
        )
