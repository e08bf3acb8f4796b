"""How long to wait before something that died is started again."""

from __future__ import annotations

FIRST_S = 0.5
LONGEST_S = 10.0
HEALTHY_S = 30.0


class Backoff:
    """Doubles from 0.5 s to 10 s; whoever lived for 30 s begins anew."""

    def __init__(self) -> None:
        """Nothing has died yet."""
        self._next_s = FIRST_S

    def after(self, life_s: float) -> float:
        """Seconds to wait after a death that followed `life_s` seconds of life."""
        if life_s >= HEALTHY_S:
            self._next_s = FIRST_S
        delay, self._next_s = self._next_s, min(2 * self._next_s, LONGEST_S)
        return delay
