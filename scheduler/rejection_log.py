"""The requests of tenants that were answered with 429 or 503 lately, as the API processes have reported them.

They are counted by tenant and code in a hash for each minute, and in one for each five minutes, so that the
counts of an hour are a few hashes (`lua/report_api_process.lua`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import redis

from config.settings import Settings
from store.scripts import redis_errors_translated

MINUTE_S, PART_S = 60, 300
"""The times of the two kinds of hashes. Also in `lua/report_api_process.lua`."""

MINUTES, PARTS = 5, 12
"""So many hashes of each kind count, the current one included: five minutes and an hour, or a little less."""


@dataclass(frozen=True, slots=True)
class TenantRejections:
    """The counts of one tenant by error code."""

    last_5_minutes: Mapping[str, int] = field(default_factory=dict)
    last_hour: Mapping[str, int] = field(default_factory=dict)


class RejectionLog:
    """Reads the counts. Raises `StorageUnavailable`."""

    def __init__(self, client: redis.Redis, settings: Settings) -> None:
        self._client: Any = client
        self._prefix = "{" + settings.redis.prefix + "}:"

    def read(self, offset_us: int = 0) -> dict[str, TenantRejections]:
        """Return the counts of all tenants with refused requests. `offset_us` is added to Redis' clock."""
        with redis_errors_translated():
            seconds, microseconds = self._client.time()
        now = int(seconds + (microseconds + offset_us) / 1e6)
        minutes = [f"refusals:{now // MINUTE_S - before}" for before in range(MINUTES)]
        parts = [f"refusals_by_part:{now // PART_S - before}" for before in range(PARTS)]
        with redis_errors_translated(), self._client.pipeline(transaction=False) as pipeline:
            for key in (*minutes, *parts):
                pipeline.hgetall(self._prefix + key)
            answers = pipeline.execute()
        recent, hour = _sums(answers[:MINUTES]), _sums(answers[MINUTES:])
        return {
            tenant: TenantRejections(recent.get(tenant, {}), hour.get(tenant, {})) for tenant in recent | hour
        }


def _sums(hashes: list[dict[bytes, bytes]]) -> dict[str, Counter[str]]:
    """The sums by tenant and code."""
    sums: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for counts in hashes:
        for name, amount in counts.items():
            tenant, _, code = name.decode().partition(" ")
            sums[tenant][code] += int(amount)
    return dict(sums)
