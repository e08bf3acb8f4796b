"""The limit of attempts at governed operations: per tenant, over all API processes.

A refused opToken costs a look at its signature and an audit record, so their number is bounded. Every attempt
counts, whatever becomes of it.
"""

from __future__ import annotations

import math
from pathlib import Path

import redis

from config.settings import Settings
from store.errors import RateLimited
from store.scripts import Scripts, call_id

LUA = Path(__file__).parent.parent / "lua"
WINDOW_S = 60


class AttemptLimit:
    """Counts the attempts of the last minute, in a sliding window."""

    def __init__(self, client: redis.Redis, settings: Settings) -> None:
        self.scripts = Scripts(client, settings.redis.prefix, LUA)
        self._most = settings.governance.max_attempts_per_minute

    def count(self, tenant: str) -> None:
        """Count an attempt.

        Raises `RateLimited` (details: limit, remaining, resetAt) and `StorageUnavailable`.
        """
        reply = self.scripts.run(
            "count_attempt",
            tenant=tenant,
            max_attempts=self._most,
            window_us=WINDOW_S * 1_000_000,
            attempt=call_id(),
        )
        wait_us = int(reply)
        if wait_us == 0:
            return
        wait_s = math.ceil(wait_us / 1e6)
        raise RateLimited(
            f"the tenant {tenant} has made {self._most} attempts at governed operations within a minute",
            retry_after_s=wait_s,
            details={
                "limit": self._most,
                "remaining": 0,
                "resetAt": math.ceil(self.scripts.now()) + wait_s,
            },
        )
