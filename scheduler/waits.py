"""How long jobs waited lately, by model: the hashes `waits:<minute>`.

Bucket k of a model counts the waits of more than GROWTH^(k-1) and at most GROWTH^k ms; bucket 0 those of up
to 1 ms. So a percentile is at most a quarter too large.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from store.calls import Call

GROWTH = 1.25
"""Also in `lua/include/job_end.lua`."""

MINUTES = 5
"""The waits of this many minutes count, the current one included."""


@dataclass(frozen=True, slots=True)
class WaitTimes:
    """The average and the 95th percentile of the waits of the last minutes, in ms; None if no job ended."""

    average_ms: int | None = None
    p95_ms: int | None = None


def read_waits() -> Call[Mapping[str, WaitTimes]]:
    """Return, by model, how long the jobs waited that ended in the last minutes."""
    return Call("read_waits", {"minutes": MINUTES}, parse_waits)


def parse_waits(answer: Sequence[bytes]) -> Mapping[str, WaitTimes]:
    """Return the result of `read_waits`."""
    counts: defaultdict[str, Counter[int]] = defaultdict(Counter)
    sums_us: Counter[str] = Counter()
    for name, number in zip(answer[::2], answer[1::2], strict=True):
        kind, _, model = name.decode().partition(" ")
        if kind == "sum":
            sums_us[model] += int(number)
        else:
            counts[model][int(kind)] += int(number)
    return {model: _wait_times(buckets, sums_us[model]) for model, buckets in counts.items()}


def _wait_times(buckets: Counter[int], sum_us: int) -> WaitTimes:
    total, seen, bucket = buckets.total(), 0, 0
    for bucket in sorted(buckets):
        seen += buckets[bucket]
        if seen >= 0.95 * total:
            break
    return WaitTimes(round(sum_us / total / 1000), round(GROWTH**bucket) if bucket else 0)
