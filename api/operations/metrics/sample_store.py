"""The samples of the last hour: one API process at a time writes them, into one bounded hash in Redis."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import redis

from api.operations.metrics.collector import PlatformState
from api.operations.metrics.sample import INTERVAL_S, Totals, make_sample, model_rates, read_totals
from config.settings import Settings
from store.errors import StokerError
from store.scripts import Scripts, redis_errors_translated

logger = logging.getLogger("api")

LUA = Path(__file__).parent / "lua"
MAX_SAMPLES = 360
ATTEMPT_S = 2.5
"""How often each process asks whether it is its turn: when one ends, the next sample is this late."""

INTERVAL_US = INTERVAL_S * 1_000_000


@dataclass(frozen=True, slots=True)
class Recent:
    """The samples of the last hour, the oldest first, and each model's rates at the last one.

    `now` is the time of the reading by Redis' clock (unix seconds). A missing sample is a gap.
    """

    now: float
    samples: list[dict[str, Any]]
    models: list[dict[str, Any]]


class MetricSamples:
    """Reads the samples, and takes them. Methods raise `StorageUnavailable`."""

    def __init__(self, client: redis.Redis, settings: Settings) -> None:
        self.scripts = Scripts(client, settings.redis.prefix, LUA)
        self._with_refusals = settings.metrics.enabled

    def read(self, after: float = 0.0) -> Recent:
        """The samples of the last hour that are later than `after` (unix seconds)."""
        with redis_errors_translated():
            fields: dict[bytes, bytes] = self.scripts.client.hgetall(f"{self.scripts.prefix}recent_metrics")
        now = self.scripts.now()
        since = max(after, now - MAX_SAMPLES * INTERVAL_S)
        samples = [orjson.loads(value) for name, value in fields.items() if name.isdigit()]
        found = sorted((one for one in samples if one["at"] > since), key=lambda one: one["at"])
        last = max((one["at"] for one in samples), default=0.0)
        fresh = now - last < 2 * INTERVAL_S
        return Recent(now, found, orjson.loads(fields.get(b"models", b"[]")) if fresh else [])

    def take(self, read_state: Callable[[], PlatformState]) -> bool:
        """Take a sample if it is this process's turn."""
        turn = self.scripts.run("begin_sample", interval_us=INTERVAL_US)
        if not turn:
            return False
        at_us, before = int(turn[0]), None
        with suppress(ValueError, TypeError):  # of another version
            before = Totals.from_json(turn[1]) if turn[1] else None
        state = read_state()
        totals = read_totals(state, at_us / 1e6, before)
        sample = make_sample(state, totals, before, with_refusals=self._with_refusals)
        rates = orjson.dumps(model_rates(state, totals, before))
        self.scripts.run(
            "write_sample",
            interval_us=INTERVAL_US,
            kept=MAX_SAMPLES,
            at_us=at_us,
            sample=sample.to_json(),
            totals=totals.to_json(),
            models=rates,
        )
        return True

    async def run(self, read_state: Callable[[], PlatformState]) -> None:
        """Take samples until cancelled, each in a thread."""
        while True:
            try:
                await asyncio.to_thread(self.take, read_state)
            except StokerError as error:
                logger.debug("%s", error.message)  # others warn of it; a gap stays
            except Exception:
                logger.exception("a sample of the metrics failed; sampling continues")
            await asyncio.sleep(ATTEMPT_S)
