"""The cool-down: the pause after a load or unload of a model before a caller may load it again.

Off unless `governance.cooldown_s` is set. A load within twice the pause doubles it, up to `MAX_COOLDOWN_S`;
without a load for that long it is forgotten. Unloads are never refused, and what
the platform does by itself (restarts, loads at its start) neither.

The check and the record are calls of their own, around the script that begins the load: of two loads at once
only one begins, so nothing can come between them.
"""

from __future__ import annotations

from config.settings import GovernanceSettings
from fleet.errors import CoolingDown
from store.scripts import Scripts, redis_errors_translated

MAX_COOLDOWN_S = 3_600.0
"""The longest pause, unless the configured one is longer: enough for a program in a loop."""


class Cooldown:
    """Checks and records the loads and unloads by callers. Methods raise `StorageUnavailable`."""

    def __init__(self, scripts: Scripts, settings: GovernanceSettings) -> None:
        self._scripts = scripts
        self._first_us = int(settings.cooldown_s * 1e6)
        self._longest_us = max(self._first_us, int(MAX_COOLDOWN_S * 1e6))

    def check(self, model: str) -> None:
        """Raise `CoolingDown` if the model may not be loaded yet."""
        if not self._first_us:
            return
        with redis_errors_translated():
            key = f"{self._scripts.prefix}cooldown:{model}"
            last_us, pause_us = self._scripts.client.hmget(key, "last_us", "pause_us")
        if last_us is None:
            return
        left_s = (int(last_us) + int(pause_us)) / 1e6 - self._scripts.now()
        if left_s > 0:
            raise CoolingDown(
                f"{model} was loaded or unloaded a moment ago: it may be loaded again in {left_s:.0f} s"
                " (governance.cooldown_s)",
                retry_after_s=max(1, round(left_s + 0.5)),
                param="model",
            )

    def record(self, model: str, kind: str) -> None:
        """Record a load or unload (`kind`) that has begun."""
        if self._first_us:
            self._scripts.run(
                "record_change",
                model=model,
                kind=kind,
                first_pause_us=self._first_us,
                max_pause_us=self._longest_us,
            )
