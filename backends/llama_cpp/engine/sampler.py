"""Picks a token as llama-server does unless told otherwise: of the `top_k` best the fewest that make up
`top_p`, of these none with less than `min_p` of the best one's chance, and only then the temperature.

It is done here and not in the library because that takes a third of a millisecond for each token of a large
vocabulary; this looks at all of them only to find the few that can be picked at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

DEFAULTS: Mapping[str, float] = {"temp": 0.8, "top_k": 40, "top_p": 0.95, "min_p": 0.05}
REACHES = (3.0, 10.0)
"""How far below the best logit the `top_k` best are looked for. What lies below the last one has less than a
20000th of the best one's chance, and is left out.
"""
LEAST = 1e-6
"""Of temperature and top_p: what is less takes the best token. Single precision has no inverse of it."""


class Sampler:
    """One generation's. The same seed makes the same choices; temperature or top_p 0 takes the best."""

    def __init__(self, numpy: Any, settings: Mapping[str, float], seed: int | None) -> None:
        self._numpy = numpy
        self._temperature = settings["temp"]
        self._top_k = int(settings["top_k"])
        self._top_p = settings["top_p"]
        self._min_p = settings["min_p"]
        self._random = Random(seed)  # noqa: S311 - a seed has to give the same again
        self.is_greedy = min(self._temperature, self._top_p) < LEAST

    def pick(self, logits: Any) -> int:
        """A token, from the logits of all (float32)."""
        if self.is_greedy:
            return int(logits.argmax())
        best = logits.max()
        for reach in REACHES:
            near = (logits >= best - reach).nonzero()[0]
            if 0 < self._top_k <= len(near):
                break
        found = logits[near]
        if 0 < self._top_k < len(near):
            kept = found.argpartition(-self._top_k)[-self._top_k :]
            near, found = near[kept], found[kept]
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
