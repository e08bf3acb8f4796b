"""How many tokens a step may compute, so that it is over soon: whoever is cancelled leaves between two steps,
and whoever answers waits for each.
"""

from __future__ import annotations

STEP_S = 0.8
LEAST = 64  # fewer at once take hardly less time: on a processor attention is slow for a few rows


class Pace:
    """Starts from the seconds that a single token took: many at once take less each, an eighth or so."""

    def __init__(self, capacity: int, single_s: float) -> None:
        self._capacity = capacity
        self.tokens = self._within(int(8 * STEP_S / max(single_s, 1e-6)))

    def took(self, tokens: int, seconds: float) -> None:
        """Learn from a step."""
        if tokens >= LEAST:
            self.tokens = self._within(min(int(tokens * STEP_S / max(seconds, 1e-6)), 2 * self.tokens))

    def _within(self, tokens: int) -> int:
        return min(self._capacity, max(tokens, LEAST))
