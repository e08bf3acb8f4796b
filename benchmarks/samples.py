"""The samples of an alternating run, and the values that tables are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from benchmarks.load_messages import Workload
from benchmarks.rounds import Sample

Value = Callable[[Sample], float | None]


class Samples:
    """All samples, by round, workload and variant."""

    def __init__(self, samples: Iterable[Sample]) -> None:
        self._by_key = {(sample.round, sample.load, sample.variant): sample for sample in samples}
        self.rounds = sorted({key[0] for key in self._by_key})

    def values(self, load: Workload, variant: str, value: Value) -> list[float]:
        """The value in each round; [] if it was not measured in every round."""
        found = [self._by_key.get((number, load.name, variant)) for number in self.rounds]
        values = [None if sample is None else value(sample) for sample in found]
        known = [one for one in values if one is not None]
        return known if len(known) == len(values) else []


def per_second(count: Callable[[Sample], int]) -> Value:
    """The count per second."""
    return lambda sample: count(sample) / sample.result.seconds


def requests(sample: Sample) -> int:
    """The number of responses."""
    return sample.result.requests


def tokens(sample: Sample) -> int:
    """The number of tokens."""
    return sample.result.tokens


def cpu_us(count: Callable[[Sample], int], part: str | None = None) -> Value:
    """CPU microseconds per counted item, of one part or of all parts."""

    def value(sample: Sample) -> float | None:
        used = sum(sample.cpu_s.values()) if part is None else sample.cpu_s.get(part)
        return None if used is None else used * 1e6 / max(1, count(sample))

    return value
