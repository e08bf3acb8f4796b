"""How long jobs waited in the queues lately: the hashes `waits:<minute>`.

Bucket k of a hash counts the waits of more than GROWTH^(k-1) and at most GROWTH^k ms; bucket 0 those of up to
1 ms. So a percentile is at most a quarter too large.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from store.calls import Call

GROWTH = 1.25
"""Also in `lua/include/job_end.lua`."""

MINUTES = 5
"""The waits of this many minutes count, the current one included."""


@dataclass(frozen=True, slots=True)
class WaitTimes:
    """The average and the 95th percentile of the waits of the last minutes, in ms; None if no job ended."""

    average_ms: int | None
    p95_ms: int | None


def read_waits() -> Call[WaitTimes]:
    """Return how long the jobs waited that ended in the last minutes."""
    return Call("read_waits", {"minutes": MINUTES}, parse_waits)


def parse_waits(answer: Sequence[bytes]) -> WaitTimes:
    """Return the result of `read_waits`."""
    counts: Counter[int] = Counter()
    sum_us = 0
    for name, number in zip(answer[::2], answer[1::2], strict=True):
        if name == b"sum":
            sum_us += int(number)
        else:
            counts[int(name)] += int(number)
    total = counts.total()
    if not total:
        return WaitTimes(None, None)
    seen = 0
    for bucket in sorted(counts):
        seen += counts[bucket]
        if seen >= 0.95 * total:
            break
    return WaitTimes(round(sum_us / total / 1000), round(GROWTH**bucket) if bucket else 0)
