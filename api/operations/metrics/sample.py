"""A sample of the platform's metrics: rates since the sample before, and what holds at the moment.

The counters grow; a sample has their growth within its interval. After a gap (no process ran, or Redis was
away) or a loss of counters, the rates of one sample are unknown: an average over the gap would hide it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import zip_longest
from typing import Any

import orjson

from api.http.errors import CODES
from api.operations.metrics.collector import PlatformState
from fleet.worker_row import WorkerRow
from scheduler.counters import Counters

LONGEST_INTERVAL = 1.6
"""Samples that are more of their intervals apart have a gap between them."""

MAX_MODELS = 500
"""The most models whose rates are kept: those with the most output of all time."""

QUANTILE = 0.95
MEDIAN = 0.5
HALF_LIFE_S = 300.0
"""After this time a first output counts half in a model's quantile, as its tokens do in its cache hits."""
LEAST = 0.05
"""Smaller numbers of first outputs are dropped."""
TOKENS = ("input", "output", "cached")


@dataclass(frozen=True, slots=True)
class Totals:
    """What was counted until a time (unix seconds); `waits` by bucket of the histogram of waits in the queue.

    `models` has the input tokens, the output tokens and the ended requests of each model, `first_outputs` its
    times to the first output by bucket of their histogram, `recent_outputs` the same with less weight for
    what is older.
    """

    at: float
    input: int = 0
    output: int = 0
    cached: int = 0
    ended: int = 0
    failed: int = 0
    refused_429: int = 0
    refused_503: int = 0
    waits: Sequence[int] = ()
    models: Mapping[str, Sequence[int]] = field(default_factory=dict)
    first_outputs: Mapping[str, Sequence[int]] | None = None
    recent_outputs: Mapping[str, Sequence[float]] = field(default_factory=dict)

    def to_json(self) -> bytes:
        """Encode for Redis."""
        return orjson.dumps(self)

    @classmethod
    def from_json(cls, data: bytes) -> Totals:
        """Decode the result of `to_json`. Raises `ValueError` or `TypeError` for anything else."""
        return cls(**orjson.loads(data))


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample. Rates are per second and None after a gap; refusals are numbers of requests.

    Tokens and requests count when a request ends. Waits and first outputs are None if none ended,
    `cache_hit_rate` if no prompt tokens were counted, refusals if the API processes report nothing
    (`metrics.enabled`).
    """

    at: float
    running: float
    waiting: float
    memory_used_mib: int
    memory_total_mib: int
    input_tokens_per_s: float | None = None
    output_tokens_per_s: float | None = None
    requests_per_s: float | None = None
    failures_per_s: float | None = None
    queue_wait_p50_ms: int | None = None
    queue_wait_p95_ms: int | None = None
    first_token_p50_ms: int | None = None
    first_token_p95_ms: int | None = None
    refusals_429: int | None = None
    refusals_503: int | None = None
    cache_hit_rate: float | None = None

    def to_json(self) -> bytes:
        """Encode for Redis."""
        return orjson.dumps(asdict(self))


def read_totals(state: PlatformState, at: float, before: Totals | None = None) -> Totals:
    """What the platform has counted until now; `before` are the totals of the last sample."""
    counters = state.counters
    models: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    sums: Counter[str] = Counter()
    for kind in TOKENS:
        for (model, _), count in counters.of_kind(f"{kind}_tokens"):
            sums[kind] += count
            if kind != "cached":
                models[model][TOKENS.index(kind)] += count
    for (model, _, status), count in counters.of_kind("requests"):
        sums["ended"] += count
        models[model][2] += count
        if status == "failed":
            sums["failed"] += count
    for (code,), count in counters.of_kind("refusals"):
        answered = CODES[code].status if code in CODES else 0
        if answered in (429, 503):
            sums[f"refused_{answered}"] += count
    most = sorted(models, key=lambda name: (-models[name][1], name))[:MAX_MODELS]
    firsts = _first_outputs(counters, set(most))
    return Totals(
        at,
        waits=_waits(counters),
        models={name: models[name] for name in most},
        first_outputs=firsts,
        recent_outputs=_recent_outputs(firsts, at, before),
        **sums,
    )


def _first_outputs(counters: Counters, models: Collection[str]) -> dict[str, list[int]]:
    """The number of first outputs in each bucket, by model."""
    size = len(counters.bounds.get("first_output", ())) + 1
    found: dict[str, list[int]] = {}
    for (model, bucket), count in counters.of_kind("first_output"):
        if model in models and bucket.isdecimal() and int(bucket) <= size:
            found.setdefault(model, [0] * size)[int(bucket) - 1] += count
    return found


def _recent_outputs(
    firsts: Mapping[str, Sequence[int]], at: float, before: Totals | None
) -> dict[str, list[float]]:
    """The first outputs of each model, of which what is older counts less; none before two samples."""
    if (
        before is None or before.first_outputs is None
    ):  # none are known to be recent; an earlier version has none
        return {}
    rest = 0.5 ** (max(0.0, at - before.at) / HALF_LIFE_S)
    found = {}
    for model, counts in firsts.items():
        earlier = before.first_outputs.get(model, [0] * len(counts))
        recent = before.recent_outputs.get(model, [0.0] * len(counts))
        grown = (max(0, now - was) for now, was in zip(counts, earlier, strict=False))
        weighed = [round(old * rest + more, 3) for old, more in zip(recent, grown, strict=False)]
        if len(weighed) == len(counts) and sum(weighed) >= LEAST:
            found[model] = weighed
    return found


def _waits(counters: Counters) -> list[int]:
    """The number of waits in each bucket of the histogram, over all models and priorities."""
    numbers = [0] * (len(counters.bounds.get("queue_wait", ())) + 1)
    for labels, count in counters.of_kind("queue_wait"):
        if labels[-1].isdecimal() and int(labels[-1]) <= len(numbers):
            numbers[int(labels[-1]) - 1] += count
    return numbers


def make_sample(
    state: PlatformState,
    now: Totals,
    before: Totals | None,
    interval_s: int,
    *,
    with_refusals: bool = True,
) -> Sample:
    """The sample at `now`, one interval after the one before."""
    used, total = _memory(state.workers)
    running = sum(row.inflight for row in state.models)
    waiting = sum(row.queue_depth for row in state.models)
    if before is None or not _follows(before, now, interval_s):
        return Sample(now.at, running, waiting, used, total)
    seconds = now.at - before.at
    prompt = now.input - before.input
    waits = [after - earlier for after, earlier in zip(now.waits, before.waits, strict=True)]
    wait_bounds = state.counters.bounds.get("queue_wait", ())
    firsts = _grown_outputs(now, before)
    first_bounds = state.counters.bounds.get("first_output", ())
    return Sample(
        now.at,
        running,
        waiting,
        used,
        total,
        input_tokens_per_s=_rate(prompt, seconds),
        output_tokens_per_s=_rate(now.output - before.output, seconds),
        requests_per_s=_rate(now.ended - before.ended, seconds),
        failures_per_s=_rate(now.failed - before.failed, seconds),
        queue_wait_p50_ms=quantile_ms(waits, wait_bounds, MEDIAN),
        queue_wait_p95_ms=quantile_ms(waits, wait_bounds),
        first_token_p50_ms=quantile_ms(firsts, first_bounds, MEDIAN),
        first_token_p95_ms=quantile_ms(firsts, first_bounds),
        refusals_429=now.refused_429 - before.refused_429 if with_refusals else None,
        refusals_503=now.refused_503 - before.refused_503 if with_refusals else None,
        cache_hit_rate=round(min(1.0, (now.cached - before.cached) / prompt), 4) if prompt else None,
    )


def mean_sample(sample: Sample, covered: Sequence[Mapping[str, Any]]) -> Sample:
    """The sample with the means of what held at the samples of its interval, where there are some."""
    if not covered:
        return sample

    def mean(name: str) -> float:
        return sum(float(one[name]) for one in covered) / len(covered)

    return replace(
        sample,
        running=round(mean("running"), 1),
        waiting=round(mean("waiting"), 1),
        memory_used_mib=round(mean("memory_used_mib")),
    )


def model_rates(
    state: PlatformState, now: Totals, before: Totals | None, interval_s: int
) -> list[dict[str, Any]]:
    """The rates of each model at a sample; none after a gap."""
    if before is None or not _follows(before, now, interval_s):
        return []
    seconds = now.at - before.at
    bounds, hits = state.counters.bounds.get("first_output", ()), _cache_hits(state.counters, now.at)
    rates = []
    for name, totals in sorted(now.models.items()):
        earlier = before.models.get(name, (0, 0, 0))
        grown = [max(0, after - was) for after, was in zip(totals, earlier, strict=True)]
        rates.append(
            {
                "model": name,
                "input_tokens_per_s": _rate(grown[0], seconds),
                "output_tokens_per_s": _rate(grown[1], seconds),
                "requests_per_s": _rate(grown[2], seconds),
                "first_token_p95_ms": quantile_ms(now.recent_outputs.get(name, ()), bounds),
                "cache_hit_rate": hits.get(name),
            }
        )
    return rates


def _cache_hits(counters: Counters, at: float) -> dict[str, float]:
    """The share of prompt tokens that came from a prefix cache, by model, over about the last 5 minutes.

    A model without prompts has none: what is left of its tokens is less than one.
    """
    shares = {}
    for (model, *_), value in counters.by_kind.get("cache_hits", ()):
        cached, prompt, at_us = map(float, value.split(" "))
        if prompt * 0.5 ** (max(0.0, at - at_us / 1e6) / HALF_LIFE_S) >= 1:
            shares[model] = round(min(1.0, cached / prompt), 4)
    return shares


def quantile_ms(counts: Sequence[float], bounds_us: Sequence[int], quantile: float = QUANTILE) -> int | None:
    """The quantile of a histogram, interpolated within its bucket as Prometheus' `histogram_quantile` does.

    `counts` has one number more than `bounds_us`: of a value above the last bound, that bound is returned.
    """
    total, seen, lower = sum(counts), 0.0, 0
    if not total:
        return None
    for count, upper in zip(counts, bounds_us, strict=False):
        if count and seen + count >= quantile * total:
            return round((lower + (upper - lower) * (quantile * total - seen) / count) / 1000)
        seen, lower = seen + count, upper
    return round(bounds_us[-1] / 1000)


def _grown_outputs(now: Totals, before: Totals) -> list[int]:
    """The new first outputs, by bucket; none where an earlier version has not counted them.

    A model that was beyond the `MAX_MODELS` before is left out: its earlier ones are not known.
    """
    if now.first_outputs is None or before.first_outputs is None:
        return []
    grown: Counter[int] = Counter()
    for model, counts in now.first_outputs.items():
        if model not in before.models and len(before.models) >= MAX_MODELS:
            continue
        earlier = before.first_outputs.get(model, ())
        for bucket, (after, was) in enumerate(zip_longest(counts, earlier, fillvalue=0)):
            grown[bucket] += max(0, after - was)
    return [grown[bucket] for bucket in range(len(grown))]


def _follows(before: Totals, now: Totals, interval_s: int) -> bool:
    """Whether no gap lies between two samples, and no counter was lost."""
    names = ("input", "output", "cached", "ended", "failed", "refused_429", "refused_503")
    grown = all(getattr(now, name) >= getattr(before, name) for name in names)
    same = len(now.waits) == len(before.waits)
    waited = same and all(after >= was for after, was in zip(now.waits, before.waits, strict=True))
    return grown and waited and 0 < now.at - before.at <= LONGEST_INTERVAL * interval_s


def _rate(amount: int, seconds: float) -> float:
    return round(amount / seconds, 3)


def _memory(workers: Sequence[WorkerRow]) -> tuple[int, int]:
    """The memory (MiB) in use and in all, of each device once: of the GPUs, or of machines without one."""
    devices = {worker.memory.id: worker.memory for worker in workers if worker.memory}
    gpus = {gpu.uuid: gpu for memory in devices.values() for gpu in memory.gpus}
    if gpus:
        return sum(gpu.used_mib for gpu in gpus.values()), sum(gpu.total_mib for gpu in gpus.values())
    total = sum(memory.total_mib for memory in devices.values())
    return total - sum(memory.free_mib for memory in devices.values()), total
