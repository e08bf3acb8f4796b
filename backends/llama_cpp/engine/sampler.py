"""Samples a token with llama-server's default chain: top_k, top_p, min_p, then temperature.

Python and numpy are used instead of the library's samplers because those take a third of a millisecond per
token with a large vocabulary; this code scans the vocabulary once, to find the few candidates.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

DEFAULTS: Mapping[str, float] = {"temp": 0.8, "top_k": 40, "top_p": 0.95, "min_p": 0.05}
REACHES = (3.0, 10.0)
"""How far below the highest logit candidates are searched. A token below the last value has less than a
20000th of the best token's probability and is ignored.
"""
LEAST = 1e-6
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
        self.is_greedy = min(self._temperature, self._top_p) < LEAST

    def pick(self, logits: Any) -> int:
        """A token, from the logits of the whole vocabulary (float32)."""
        if self.is_greedy:
            return int(logits.argmax())
        best = logits.max()
        for reach in REACHES:
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
