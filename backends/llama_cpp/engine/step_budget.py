"""How many tokens a step may compute. Steps stay short because a cancelled request leaves between two steps,
and every generating request waits for each step.
"""

from __future__ import annotations

STEP_S = 0.8
LEAST = 64  # fewer tokens hardly take less time: attention on a CPU is slow for a few rows


class StepBudget:
    """The budget starts from the seconds that a single token took: in a large batch a token takes about an
    eighth.
    """

    def __init__(self, capacity: int, single_s: float) -> None:
        self._capacity = capacity
        self.tokens = self._within(int(8 * STEP_S / max(single_s, 1e-6)))

    def record(self, tokens: int, seconds: float) -> None:
        """Adapt to the measured duration of a step."""
        if tokens >= LEAST:
            self.tokens = self._within(min(int(tokens * STEP_S / max(seconds, 1e-6)), 2 * self.tokens))

    def _within(self, tokens: int) -> int:
        return min(self._capacity, max(tokens, LEAST))
