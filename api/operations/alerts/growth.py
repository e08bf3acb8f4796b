"""How much the counters that the rules need have grown lately, by whole minutes of the clock.

Only what grew is kept, so a model without requests costs nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

import orjson

from scheduler.counters import Counters

MINUTE_S = 60
LONGEST_WINDOW_S = 15 * MINUTE_S
LONGEST_GAP_S = 60.0
"""What grew between two evaluations that are farther apart is not counted: no minute is known for it."""


@dataclass(frozen=True, slots=True)
class Growth:
    """The counters at a time, and what they grew by in each of the last minutes.

    `at` and `since` are unix seconds; `since` is when the counting began. `minutes` has, by the minute's
    number since 1970, the growth of each counter; a minute without an evaluation is missing. A counter is
    `<kind> <labels>`.
    """

    at: float
    since: float
    totals: Mapping[str, int] = field(default_factory=dict)
    minutes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def to_json(self) -> bytes:
        """Encode for Redis."""
        return orjson.dumps(asdict(self))

    @classmethod
    def from_json(cls, data: bytes) -> Growth:
        """Decode the result of `to_json`. Raises `ValueError` or `TypeError` for anything else."""
        return cls(**orjson.loads(data))

    def within(self, window_s: int, kind: str) -> dict[str, int]:
        """The growth of the counters of a kind in the last minutes of a window, by their labels."""
        found: Counter[str] = Counter()
        first = _first_minute(self.at, window_s)
        for minute, grown in self.minutes.items():
            if int(minute) >= first:
                for counter, amount in grown.items():
                    own_kind, _, labels = counter.partition(" ")
                    if own_kind == kind:
                        found[labels] += amount
        return found

    def covered_s(self, window_s: int) -> float:
        """The seconds of a window whose growth `within` returns; at least one."""
        begin = max(self.since, _first_minute(self.at, window_s) * MINUTE_S)
        missing = self._missing(int(begin // MINUTE_S))
        return max(1.0, self.at - begin - missing * MINUTE_S)

    def covers(self, window_s: int) -> bool:
        """Whether each minute of a window had an evaluation."""
        return not self._missing(_first_minute(self.at, window_s))

    def _missing(self, first: int) -> int:
        """The minutes without an evaluation from this one on."""
        return sum(str(minute) not in self.minutes for minute in range(first, int(self.at // MINUTE_S) + 1))


def grown(before: Growth | None, counters: Counters, at: float) -> Growth:
    """The growth until `at` (unix seconds). After a gap only what grew within it is left out."""
    totals, now = _tracked(counters), int(at // MINUTE_S)
    if before is None:
        return Growth(at, at, totals, {str(now): {}})
    window = range(_first_minute(at, LONGEST_WINDOW_S), now + 1)  # the clock may have been set back
    minutes = {minute: counted for minute, counted in before.minutes.items() if int(minute) in window}
    sums = Counter(minutes.get(str(now), {}))
    if not is_gap(before.at, at):
        sums.update(_growth(before.totals, totals))
    minutes[str(now)] = {counter: amount for counter, amount in sums.items() if amount}
    return Growth(at, min(before.since, at), totals, minutes)


def is_gap(before: float, at: float) -> bool:
    """Whether what happened between two evaluations is not known: they are far apart, or in no order."""
    return not 0 <= at - before <= LONGEST_GAP_S


def _growth(before: Mapping[str, int], totals: Mapping[str, int]) -> dict[str, int]:
    """What the counters have grown by, without those of which Redis has lost writes: they are less."""
    return {
        counter: total - before.get(counter, 0)
        for counter, total in totals.items()
        if total >= before.get(counter, 0)
    }


def _first_minute(at: float, window_s: int) -> int:
    """The first minute that begins within a window until `at`."""
    return int((at - window_s) // MINUTE_S) + 1


def _tracked(counters: Counters) -> dict[str, int]:
    """The counters that a rule needs."""
    sums: Counter[str] = Counter()
    for model, _, (status,), count in counters.by_model("requests"):
        sums[f"ended {model}"] += count
        if status == "failed":
            sums[f"failed {model}"] += count
    for (model,), count in counters.of_kind("crashes"):
        sums[f"crashes {model}"] += count
    for (model, _, bucket), count in counters.of_kind("queue_wait"):
        if bucket.isdecimal():
            sums[f"wait {model} {bucket}"] += count
    for (code,), count in counters.of_kind("refusals"):
        if code == "queue_full":
            sums["queue_full"] += count
    for (what,), count in counters.of_kind("expired"):
        if what == "worker":
            sums["workers_lost"] += count
    return dict(sums)
