"""Chooses how many requests a model runs at once, and the context of each, by the memory that is free.

The cache of all slots takes at most half of what the weights leave free, so that another model fits beside
it; only where that is less than `USEFUL` tokens it takes more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from backends.declaration import Backend
from backends.load_parameters import Weights
from backends.memory_rules import BoundsContext
from backends.model_shape import ModelShape
from backends.parameter_rules import ContextOption

if TYPE_CHECKING:
    from fleet.adding.defaults import BestWorker

USEFUL = 8192
"""Tokens of a request with a conversation of some length."""

LEAST = 4096
"""Fewer slots are chosen where each would have less."""

STEP = 256


@dataclass(frozen=True, slots=True)
class ContextChoice:
    """Slots and context, and why: a reason is None where the choice was not open, or decides nothing."""

    slots: int
    slots_reason: str | None = None
    option: str | None = None
    context: int | None = None
    reason: str | None = None


def choose_context(
    backend: Backend,
    shape: ModelShape | None,
    weights: Weights,
    options: Mapping[str, Any],
    best: BestWorker | None,
) -> ContextChoice:
    """Choose what `options` leave open: the fields of a configuration, those of the backend among them."""
    rule = backend.parameters.context
    usual = backend.parameters.slots
    slots = options.get("target_inflight") or usual
    is_open = options.get("target_inflight") is None
    if not isinstance(rule, ContextOption):
        return ContextChoice(slots, _usual(backend, slots) if is_open else None)
    choice = _Chooser(backend, rule, shape, options, best)
    longest = (shape.context if shape else 0) or weights.context
    reason = _usual(backend, slots) if is_open else None
    while is_open and slots > 1 and longest and choice.lacks(min(longest, LEAST), slots):
        slots //= 2
        reason = f"{usual} requests at once would not leave {min(longest, LEAST)} tokens of context for each"
    if options.get(rule.option) is not None:
        return ContextChoice(slots, reason)
    context, words = choice.context(longest, slots)
    return ContextChoice(slots, reason, rule.option if words else None, context, words or None)


def _usual(backend: Backend, slots: int) -> str:
    return f"the usual number of requests at once of {backend.name} is {slots}"


class _Chooser:
    """Computes needs with one backend, shape and worker."""

    def __init__(
        self,
        backend: Backend,
        rule: ContextOption,
        shape: ModelShape | None,
        options: Mapping[str, Any],
        best: BestWorker | None,
    ) -> None:
        self._backend, self._rule, self._shape, self._best = backend, rule, shape, best
        self._options = {name: value for name, value in options.items() if backend.option(name)}
        self._step = max(STEP, rule.multiple)

    def lacks(self, tokens: int, slots: int) -> bool:
        """Whether the free memory lacks room for so many tokens a request, and has room for the weights."""
        if self._shape is None or self._best is None:
            return False
        free = self._best.free_mib
        return (self._need(self._step, 1) or 0) <= free < (self._need(self._total(tokens, slots), slots) or 0)

    def context(self, longest: int | None, slots: int) -> tuple[int | None, str]:
        """The value of the option and its reason; "" where the option's own default stays."""
        made_for = f"the model was made for {longest} tokens"
        if self._shape is None or not longest or self._need(self._step, slots) is None:
            return None, ""
        bound = self._bound()
        limit = self._total(min(longest, bound or longest), slots)
        if bound is not None and bound < longest:
            made_for += f", and the cache has room for {bound}"
        if self._best is None:
            tokens = self._rounded(min(limit, self._total(USEFUL, slots)))
            return tokens, f"{made_for}; no worker has reported its memory"
        free, least = self._best.free_mib, self._need(self._step, slots) or 0
        left = free - least
        if left < 0:
            return (
                self._rounded(min(limit, self._total(LEAST, slots))),
                f"{made_for}; it needs {least} MiB at least, and {self._best.name} has {free} MiB free",
            )
        tokens = self._largest(limit, slots, least + left // 2)
        share = "half of "
        if tokens < (useful := min(limit, self._total(USEFUL, slots))):
            tokens, share = min(useful, self._largest(limit, slots, free)), ""
        if tokens >= limit:
            return self._rounded(limit), f"{made_for}, and that fits into {self._words(slots, limit)}"
        return tokens, f"{made_for}; {tokens} of them fit into {share}{self._words(slots, tokens)}"

    def _words(self, slots: int, tokens: int) -> str:
        assert self._best is not None  # noqa: S101 - the caller has one
        requests = "one request takes" if slots == 1 else f"{slots} requests at once take"
        left = self._best.free_mib - (self._need(self._step, slots) or 0)
        took = (self._need(tokens, slots) or 0) - (self._need(self._step, slots) or 0)
        return (
            f"the {left} MiB that the model leaves free on {self._best.name}: {requests} about {took} MiB for"
            " the cache"
        )

    def _largest(self, limit: int, slots: int, budget_mib: int) -> int:
        """The most tokens, a multiple of the step, whose need is within the budget."""
        low, high = 1, max(1, limit // self._step)
        while low < high:
            middle = (low + high + 1) // 2
            if (self._need(middle * self._step, slots) or 0) <= budget_mib:
                low = middle
            else:
                high = middle - 1
        return min(limit, low * self._step)

    def _need(self, tokens: int, slots: int) -> int | None:
        memory = self._backend.memory
        if memory is None or self._shape is None:
            return None
        device = self._best.device if self._best else None
        if device is None:
            return 0
        options = self._backend.with_defaults({**self._options, self._rule.option: tokens})
        return memory.need(self._shape, options, slots, device).mib

    def _bound(self) -> int | None:
        memory = self._backend.memory
        if self._shape is None or self._best is None or not isinstance(memory, BoundsContext):
            return None
        return memory.longest_context(
            self._shape, self._backend.with_defaults(self._options), self._best.device
        )

    def _total(self, tokens: int, slots: int) -> int:
        """The option's value for so many tokens a request: of a shared cache that of all requests."""
        return tokens * slots if self._rule.shared else tokens

    def _rounded(self, tokens: int) -> int:
        """Down to a multiple of the option's own step."""
        return max(self._rule.multiple, tokens // self._rule.multiple * self._rule.multiple)
