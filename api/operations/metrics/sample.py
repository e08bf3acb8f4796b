"""A sample of the platform's metrics: rates since the sample before, and what holds at the moment.

A sample has the growth of the counters within its interval. After a gap (no process ran, or Redis was away)
or a loss of counters, the rates of one sample are unknown: an average over the gap would hide it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import orjson

from api.operations.metrics.collector import PlatformState
from api.operations.metrics.totals import HALF_LIFE_S, Counted, Growth, Totals
from fleet.worker_row import WorkerRow
from scheduler.counters import Counters

QUANTILE = 0.95
MEDIAN = 0.5
OF_MOMENTS = {"running": 1, "waiting": 1, "memory_used_mib": None, "gpu_utilization": 4}
"""What holds at a moment, with the digits of its means (None: an integer)."""
Bounds = Mapping[str, Sequence[int]]
"""The upper bounds (us) of the buckets of each histogram."""


@dataclass(frozen=True, slots=True)
class Rates:
    """What grew within an interval: rates per second, and numbers of refusals and of errors by code.

    Tokens count while requests run: those that engines have computed of prompts, and those of answers.
    Requests count when they end. Waits and first outputs are None if none ended,
    `cache_hit_rate` if no prompt tokens were counted, refusals if the API processes report nothing
    (`metrics.enabled`). All are None, and `errors` is empty, after a gap.
    """

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
    errors: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Moment:
    """What holds at a time (unix seconds). `gpu_utilization`: the mean of the GPUs that report it."""

    at: float
    running: float
    waiting: float
    memory_used_mib: int
    memory_total_mib: int
    gpu_utilization: float | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample of the whole platform."""

    moment: Moment
    rates: Rates

    def to_json(self) -> bytes:
        """Encode for Redis and for clients: one object with the fields of both parts."""
        return orjson.dumps(asdict(self.moment) | asdict(self.rates))


def make_sample(
    state: PlatformState, at: float, grown: Growth | None, *, with_refusals: bool = True
) -> Sample:
    """The sample of a time (unix seconds). `grown`: since the one before; None after a gap."""
    used, total = _memory(state.workers)
    moment = Moment(
        at,
        running=sum(row.inflight for row in state.models),
        waiting=sum(row.queue_depth for row in state.models),
        memory_used_mib=used,
        memory_total_mib=total,
        gpu_utilization=utilization(state.workers),
    )
    if grown is None:
        return Sample(moment, Rates())
    rates = rates_of(grown.everything, grown.seconds, state.counters.bounds)
    if not with_refusals:
        rates = replace(rates, refusals_429=None, refusals_503=None)
    return Sample(moment, rates)


def rates_of(grown: Counted, seconds: float, bounds: Bounds) -> Rates:
    """The rates of what has grown within a time."""
    waits, firsts = bounds.get("queue_wait", ()), bounds.get("first_output", ())
    return Rates(
        input_tokens_per_s=_rate(grown.processed_input, seconds),
        output_tokens_per_s=_rate(grown.processed_output, seconds),
        requests_per_s=_rate(grown.ended, seconds),
        failures_per_s=_rate(grown.failed, seconds),
        queue_wait_p50_ms=quantile_ms(grown.waits, waits, MEDIAN),
        queue_wait_p95_ms=quantile_ms(grown.waits, waits),
        first_token_p50_ms=quantile_ms(grown.first_outputs, firsts, MEDIAN),
        first_token_p95_ms=quantile_ms(grown.first_outputs, firsts),
        refusals_429=grown.refused_429,
        refusals_503=grown.refused_503,
        cache_hit_rate=round(min(1.0, grown.cached / grown.input), 4) if grown.input else None,
        errors=grown.errors,
    )


def mean_sample(sample: Sample, covered: Sequence[Mapping[str, Any]]) -> Sample:
    """The sample with the means of what held at the samples of its interval, where there are some."""
    if not covered:
        return sample
    means: dict[str, Any] = {name: mean for name, mean in means_of(covered).items() if mean is not None}
    return replace(sample, moment=replace(sample.moment, **means))


def means_of(covered: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """The means of what holds at a moment, over the samples that have it; None where none has."""
    means: dict[str, float | None] = {}
    for name, digits in OF_MOMENTS.items():
        known = [float(one[name]) for one in covered if one.get(name) is not None]
        means[name] = round(sum(known) / len(known), digits) if known else None
    return means


def model_rates(state: PlatformState, now: Totals, grown: Growth | None) -> list[dict[str, Any]]:
    """The rates of each model at a sample; none after a gap."""
    if grown is None:
        return []
    seconds = grown.seconds
    bounds, hits = state.counters.bounds.get("first_output", ()), _cache_hits(state.counters, now.at)
    rates = []
    for name, one in sorted(grown.models.items()):
        rates.append(
            {
                "model": name,
                "input_tokens_per_s": _rate(one.processed_input, seconds),
                "output_tokens_per_s": _rate(one.processed_output, seconds),
                "requests_per_s": _rate(one.ended, seconds),
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


def utilization(workers: Sequence[WorkerRow]) -> float | None:
    """The mean utilization of the GPUs, each once, that report theirs."""
    gpus = {gpu.uuid: gpu for worker in workers if worker.memory for gpu in worker.memory.gpus}
    busy = [gpu.utilization for gpu in gpus.values() if gpu.utilization is not None]
    return round(sum(busy) / len(busy), 4) if busy else None
