"""The samples of the metrics: each 10 s for an hour, and each 10 minutes for a week.

One API process at a time writes them, into a bounded hash in Redis for each of the two resolutions.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import orjson
import redis

from api.operations.metrics.collector import PlatformState
from api.operations.metrics.parts import Kind, Parts, make_parts, mean_parts, part_of
from api.operations.metrics.sample import Moment, Rates, Sample, make_sample, mean_sample, model_rates
from api.operations.metrics.totals import Totals, read_totals
from config.settings import Settings
from scheduler.limit_use import LimitUseReader
from store.errors import StokerError
from store.scripts import Scripts, redis_errors_translated

logger = logging.getLogger("api")

LUA = Path(__file__).parent / "lua"
ATTEMPT_S = 2.5
"""How often each process asks whether it is its turn: when one ends, the next sample is this late."""

MAX_COUNTED_TENANTS = 200  # also in scheduler/lua/include/tenant_label.lua

LATER_FIELDS = asdict(Rates()) | dict.fromkeys(field.name for field in fields(Moment))
"""What a sample of an earlier version has in place of the fields that it lacks."""
OF_REFUSALS = dict.fromkeys(("refusals_429", "refusals_503"))


@dataclass(frozen=True, slots=True)
class Resolution:
    """Samples of one distance (seconds): the keys of the samples and their parts; how many are kept."""

    key: str
    parts_key: str
    interval_s: int
    kept: int

    @property
    def span_s(self) -> int:
        """The time that the samples cover."""
        return self.kept * self.interval_s


RECENT = Resolution("recent_metrics", "recent_parts", interval_s=10, kept=360)
PAST = Resolution("past_metrics", "past_parts", interval_s=600, kept=1008)
LONGEST_SPAN_S = PAST.span_s


@dataclass(frozen=True, slots=True)
class Taken:
    """What is stored of one time; `models` are the rates of the models at it."""

    sample: Sample
    parts: Parts
    totals: Totals
    models: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Recent:
    """The samples of a time, the oldest first, and each model's rates at the last one.

    `now` is the time of the reading by Redis' clock (unix seconds). A missing sample is a gap. Rates of
    models are known at `RECENT` only.
    """

    now: float
    interval_s: int
    samples: list[dict[str, Any]]
    models: list[dict[str, Any]]


class MetricSamples:
    """Reads the samples, and takes them. Methods raise `StorageUnavailable`."""

    def __init__(
        self, client: redis.Redis, settings: Settings, tenants: Callable[[], Iterable[str]] = tuple
    ) -> None:
        """`tenants` returns the names of those that this process knows."""
        self._tenants = tenants
        self.scripts = Scripts(client, settings.redis.prefix, LUA)
        self._limit_use = LimitUseReader(client, settings)
        self._with_refusals = settings.metrics.enabled

    def read(
        self, span_s: int = RECENT.span_s, after: float = 0.0, of: tuple[Kind, str] | None = None
    ) -> Recent:
        """The samples of the last `span_s` seconds that are later than `after` (unix seconds).

        A span that `RECENT` covers has its samples, a longer one those of `PAST`. With `of` the
        values are those of one model or tenant; `memory_total_mib` is that of the platform all the same.

        Samples of a time to come, from before the clock was set back, are left out; a caller whose last
        sample is one of them gets all of the span.
        """
        resolution = RECENT if span_s <= RECENT.span_s else PAST
        stored = self._stored(resolution.key)
        now = self.scripts.now()
        latest = now + resolution.interval_s
        kept = self._samples(stored, 0, latest)
        since = max(after if after <= latest else 0, now - span_s)
        found = {place: one for place, one in kept.items() if one["at"] > since}
        samples = list(found.values())
        if of is not None:
            samples = self._narrowed(samples, self._parts(resolution, found), *of)
        fresh = bool(kept) and now - max(one["at"] for one in kept.values()) < 2 * resolution.interval_s
        models = orjson.loads(stored.get(b"models", b"[]")) if fresh else []
        return Recent(now, resolution.interval_s, samples, models)

    def take(self, read_state: Callable[[], PlatformState]) -> bool:
        """Take a sample if it is this process's turn, and one of `PAST` if its time has come as well."""
        turn = self._begin(RECENT)
        if turn is None:
            return False
        at, before = turn
        state = read_state()
        totals = read_totals(state, at, before)
        grown = totals.growth(before, RECENT.interval_s)
        sample = make_sample(state, at, grown, with_refusals=self._with_refusals)
        rates = model_rates(state, totals, grown)
        busy = [row.name for row in state.models if row.inflight or row.queue_depth]
        jobs = self._limit_use.jobs({*self._tenants(), *totals.tenants}, busy) if busy else {}
        self._write(RECENT, at, Taken(sample, make_parts(state, jobs, at, grown), totals, rates))
        if turn := self._begin(PAST):
            begun, before = turn
            grown = totals.growth(before, PAST.interval_s)
            sample = make_sample(state, at, grown, with_refusals=self._with_refusals)
            since = max(before.at if before else 0.0, begun - PAST.interval_s)
            covered = self._samples(self._stored(RECENT.key), since, begun)
            means = mean_parts(make_parts(state, jobs, at, grown), self._parts(RECENT, covered))
            mean = mean_sample(sample, list(covered.values()))
            self._write(PAST, begun, Taken(mean, means, totals, []))
        return True

    def _begin(self, resolution: Resolution) -> tuple[float, Totals | None] | None:
        """The time of a sample (unix seconds) and the totals of the one before; None if it is no turn."""
        interval_us = resolution.interval_s * 1_000_000
        turn = self.scripts.run("begin_sample", is_past=int(resolution is PAST), interval_us=interval_us)
        if not turn:
            return None
        before = None
        with suppress(ValueError, TypeError):  # of another version
            before = Totals.from_json(turn[1]) if turn[1] else None
        return int(turn[0]) / 1e6, before

    def _write(
        self,
        resolution: Resolution,
        at: float,
        taken: Taken,
    ) -> None:
        self.scripts.run(
            "write_sample",
            is_past=int(resolution is PAST),
            interval_us=resolution.interval_s * 1_000_000,
            kept=resolution.kept,
            at_us=round(at * 1e6),
            sample=taken.sample.to_json(),
            parts=taken.parts.to_json(),
            totals=taken.totals.to_json(),
            models=orjson.dumps(taken.models),
        )

    def _stored(self, key: str) -> dict[bytes, bytes]:
        with redis_errors_translated():
            fields: dict[bytes, bytes] = self.scripts.client.hgetall(f"{self.scripts.prefix}{key}")
        return fields

    def _parts(
        self, resolution: Resolution, samples: Mapping[bytes, Mapping[str, Any]]
    ) -> list[dict[str, Any]]:
        """The parts of these samples, which are given by their places; empty where they are missing."""
        if not samples:
            return []
        key = f"{self.scripts.prefix}{resolution.parts_key}"
        with redis_errors_translated():
            stored = self.scripts.client.hmget(key, list(samples))
        parts = [orjson.loads(one) if one else {} for one in stored]
        # another time: a new sample has taken the place since its samples were read
        return [
            one if one.get("at") == sample["at"] else {}
            for one, sample in zip(parts, samples.values(), strict=True)
        ]

    def _narrowed(
        self, samples: list[dict[str, Any]], parts: list[dict[str, Any]], kind: Kind, name: str
    ) -> list[dict[str, Any]]:
        """The samples with the values of one model or tenant; null where its parts are missing."""
        unknown = {} if self._with_refusals else OF_REFUSALS
        is_counted = kind == "model" or not samples or self._has_counters(name)
        return [
            sample | part_of(one, kind, name, is_counted=is_counted) | unknown
            for sample, one in zip(samples, parts, strict=True)
        ]

    def _has_counters(self, tenant: str) -> bool:
        """Whether a tenant has counters of its own, or will have them with its next request."""
        key = f"{self.scripts.prefix}counted_tenants"
        with redis_errors_translated(), self.scripts.client.pipeline(transaction=False) as pipeline:
            is_counted, count = pipeline.sismember(key, tenant).scard(key).execute()
        return bool(is_counted) or count < MAX_COUNTED_TENANTS

    @staticmethod
    def _samples(stored: dict[bytes, bytes], since: float, until: float) -> dict[bytes, dict[str, Any]]:
        """The samples after a time, and not after another, by their places, the oldest first.

        What an earlier version has not written is null.
        """
        samples = {place: orjson.loads(value) for place, value in stored.items() if place.isdigit()}
        found = {place: LATER_FIELDS | one for place, one in samples.items() if since < one["at"] <= until}
        return dict(sorted(found.items(), key=lambda item: item[1]["at"]))

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
