"""How the parameters of a load in the Model Runner API become options of a backend.

`POST /v1/models/load` has three of them: `quantization`, `maxContextLength` and `gpuMemoryBudgetMB`. Each
backend declares in its `options.py` which rule (`backends.parameter_rules`) each of them follows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

QUANTIZATION, CONTEXT, MEMORY = "quantization", "maxContextLength", "gpuMemoryBudgetMB"
PARAMETERS = (QUANTIZATION, CONTEXT, MEMORY)


class Refused(Exception):
    """Raised when a backend cannot honour a parameter. The message says what it can."""

    def __init__(self, parameter: str, message: str) -> None:
        super().__init__(message)
        self.parameter = parameter
        self.message = message


@dataclass(frozen=True, slots=True)
class Weights:
    """What the headers of a model's files say; None where they do not.

    `form` is `gguf`, `safetensors`, `exl3`, `ct2` or `whisper`. `layers` are the repeating ones, of which one
    takes `layer_bytes`; `outer_bytes` are the weights outside of them that a GPU holds. `cache_bytes` is what
    one token takes of a cache in 16-bit numbers, in all layers. `context` is the most tokens that the model
    was made for. `architecture` is its name in the files, where options depend on it.
    """

    form: str
    size_bytes: int
    quantization: str | None = None
    layers: int | None = None
    layer_bytes: int | None = None
    outer_bytes: int = 0
    cache_bytes: int | None = None
    context: int | None = None
    vocabulary: int | None = None
    architecture: str = ""


@dataclass(frozen=True, slots=True)
class Situation:
    """What a rule may look at.

    The weights (None: the files are not on this host), the options in force before the parameter, the number
    of requests at once, the memory of the largest worker's GPUs (MiB; None without one), and the context that
    the same load asks for.
    """

    weights: Weights | None
    options: Mapping[str, Any]
    slots: int
    gpu_mib: int | None
    context: int | None = None


class Rule(Protocol):
    """How one parameter becomes options."""

    @property
    def about(self) -> str:
        """What the rule does, for people."""
        ...

    def options(self, value: Any, situation: Situation) -> Mapping[str, Any]:
        """The options for a value. Raises `Refused`."""
        ...


@runtime_checkable
class KnowsNeed(Protocol):
    """A rule for a budget of GPU memory by which the need of a replica follows from the budget."""

    def need_mib(self, value: int, situation: Situation) -> int:
        """The GPU memory that a replica takes with a budget that the rule has accepted, in MiB."""
        ...


@dataclass(frozen=True)
class LoadParameters:
    """The rules of a backend.

    `forms` are the forms of weights (see `Weights`) that a load may choose the backend for, without a
    configuration: among the backends of one form the one with the lowest `rank`. Such a model runs `slots`
    requests at once, with the options that `defaults` has for its architecture.
    """

    quantization: Rule
    context: Rule
    memory: Rule
    forms: tuple[str, ...] = ()
    rank: int = 0
    slots: int = 4
    defaults: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def rule(self, parameter: str) -> Rule:
        """The rule of one of PARAMETERS."""
        return {QUANTIZATION: self.quantization, CONTEXT: self.context, MEMORY: self.memory}[parameter]

    def options(self, given: Mapping[str, Any], situation: Situation) -> dict[str, Any]:
        """The options for the given parameters, in the order of PARAMETERS. Raises `Refused`."""
        changed: dict[str, Any] = {}
        for parameter in PARAMETERS:
            if parameter in given:
                options = {**situation.options, **changed}
                now = replace(situation, options=options, context=given.get(CONTEXT))
                changed |= self.rule(parameter).options(given[parameter], now)
        return changed

    def need_mib(self, given: Mapping[str, Any], situation: Situation) -> int | None:
        """The GPU memory of a replica, where it follows from a budget among the given parameters."""
        if MEMORY not in given or situation.gpu_mib is None or not isinstance(self.memory, KnowsNeed):
            return None
        return self.memory.need_mib(given[MEMORY], situation)
