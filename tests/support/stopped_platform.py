"""A simulated platform whose time passes with its calls alone, however slow the machine is."""

from __future__ import annotations

import time
from collections.abc import Sequence

import redis

from config.settings import Settings
from scheduler.job import AppendRequest, Claim, Release, StepReply
from tests.support.simulated_platform import SimulatedPlatform


class StoppedPlatform(SimulatedPlatform):
    """For tests in which it decides how long a job has waited, or which take longer than a lease."""

    def __init__(self, client: redis.Redis, settings: Settings) -> None:
        super().__init__(client, settings)
        self.moment = time.time()

    def stop_clock(self) -> None:
        """Let the next call have the time `moment` (s)."""
        super().advance_time(self.moment - time.time() - self.ledger.scripts.offset_us / 1e6)

    def advance_time(self, seconds: float) -> None:
        self.moment += seconds
        self.stop_clock()

    def real_time(self) -> float:
        return 0.0  # none passes

    def admit(
        self, tenant: str = "acme", priority: str = "normal", model: str = "alpha", **more: object
    ) -> str:
        self.stop_clock()
        id = super().admit(tenant, priority, model, **more)
        # the next one is later
        self.moment = max(self.moment, int(self.field(id, "admitted_us")) / 1e6 + 0.001)
        return id

    def step(self, claim: Claim, appends: Sequence[AppendRequest], releases: Sequence[Release]) -> StepReply:
        self.stop_clock()
        return super().step(claim, appends, releases)

    def expire(self) -> int:
        self.stop_clock()
        return super().expire()
