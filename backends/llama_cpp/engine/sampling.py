"""Chooses the tokens of an output: the sampler, and the grammar that constrains its choice.

The sampler has llama-server's default chain: top_k, top_p, min_p, then temperature; biases and penalties come
before it (`logit_changes`). Python and numpy are used
instead of the library's samplers because those take a third of a millisecond per token with a large
vocabulary; this code scans the vocabulary once, to find the few candidates.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from random import Random
from typing import Any

from .vocabulary import Vocabulary

DEFAULTS: Mapping[str, float] = {"temp": 0.8, "top_k": 40, "top_p": 0.95, "min_p": 0.05}
REACHES = (3.0, 10.0)
"""How far below the highest logit candidates are searched. A token below the last value has less than a
20000th of the best token's probability and is ignored. Without top_k and min_p the last value grows with the
temperature, which makes rare tokens likelier.
"""
MIN_VALUE = 1e-6
"""A temperature or top_p below this is greedy: single precision has no inverse of it."""


class Sampler:
    """The sampler of one request. Equal seeds give equal choices; temperature or top_p 0 is greedy."""

    def __init__(self, numpy: Any, settings: Mapping[str, float], seed: int | None) -> None:
        self._numpy = numpy
        self._temperature = settings["temp"]
        self._top_k = int(settings["top_k"])
        self._top_p = settings["top_p"]
        self._min_p = settings["min_p"]
        self._random = Random(seed)  # noqa: S311 - reproducible, not cryptographic
        self.is_greedy = min(self._temperature, self._top_p) < MIN_VALUE
        widened = max(1.0, self._temperature) if self._top_k <= 0 and self._min_p <= 0 else 1.0
        self._reaches = (*REACHES[:-1], REACHES[-1] * widened)

    def pick(self, logits: Any) -> int:
        """Choose a token from the logits of the whole vocabulary (float32, one per token)."""
        if self.is_greedy:
            return int(logits.argmax())
        best = logits.max()
        for reach in self._reaches:
            near = (logits >= best - reach).nonzero()[0]
            if 0 < self._top_k <= len(near):
                break
        found = logits[near]
        if 0 < self._top_k < len(near):
            chosen = found.argpartition(-self._top_k)[-self._top_k :]
            near, found = near[chosen], found[chosen]
        order = found.argsort()[::-1]
        chances = self._numpy.exp(found[order] - best)
        if self._top_p < 1:
            sums = chances.cumsum()
            chances = chances[: int(sums.searchsorted(self._top_p * sums[-1])) + 1]
        chances = chances[chances >= self._min_p]
        if self._temperature != 1:
            chances = chances ** (1 / self._temperature)
        sums = chances.cumsum()
        at = int(sums.searchsorted(self._random.random() * sums[-1], side="right"))
        return int(near[order[min(at, len(sums) - 1)]])


class GrammarError(ValueError):
    """Raised when the library refuses a grammar."""


class Grammar:
    """A grammar of the library (GBNF text) and its state after the accepted tokens.

    Only allowed tokens may be accepted: the library aborts the process otherwise. Raises `GrammarError`.
    """

    def __init__(self, library: Any, vocabulary: Vocabulary, numpy: Any, text: str) -> None:
        self._library = library
        self._numpy = numpy
        self._vocabulary = vocabulary
        self._one = (library.llama_token_data * 1)()
        self._of_one = library.llama_token_data_array(self._one, 1, -1, False)
        self._sampler = library.llama_sampler_init_grammar(
            vocabulary.pointer, text.encode("utf-8", "replace"), b"root"
        )
        if not self._sampler:
            raise GrammarError("the library does not accept this grammar")

    def allows(self, token: int) -> bool:
        """Whether a token may come next."""
        self._one[0].id, self._one[0].logit = token, 0.0
        self._library.llama_sampler_apply(self._sampler, ctypes.byref(self._of_one))
        return bool(self._one[0].logit == 0.0)

    def restricted(self, logits: Any) -> Any | None:
        """The logits with those of disallowed tokens at -inf; None when no token is allowed."""
        numpy = self._numpy
        kind = [("id", numpy.int32), ("logit", numpy.float32), ("p", numpy.float32)]
        every = numpy.zeros(len(logits), kind)
        every["id"] = numpy.arange(len(logits))
        every["logit"] = logits
        pointer = every.ctypes.data_as(ctypes.POINTER(self._library.llama_token_data))
        array = self._library.llama_token_data_array(pointer, len(logits), -1, False)
        self._library.llama_sampler_apply(self._sampler, ctypes.byref(array))
        left = every["logit"]
        return left if numpy.isfinite(left.max()) else None

    def accept(self, token: int) -> None:
        """Advance the state by an allowed token that does not end the output."""
        self._library.llama_sampler_accept(self._sampler, token)

    def reset(self) -> None:
        """Return to the state before the first token."""
        self._library.llama_sampler_reset(self._sampler)

    def close(self) -> None:
        """Free the library's memory of the grammar."""
        if self._sampler:
            self._library.llama_sampler_free(self._sampler)
        self._sampler = None
