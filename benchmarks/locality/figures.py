"""The figures of a run, and those of several runs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.on_demand.report import percentile


@dataclass(frozen=True, slots=True)
class Figures:
    """What a variant did with a workload.

    `reuse` is the share of the prompts' tokens that were not computed again, `of_ideal` that of the tokens
    that any replica had computed before (None: unknown). Times to the first token are in seconds: of all
    requests, and the worst 95th percentile of a small tenant. `fairness` is Jain's index of the tenants'
    computed work, `needed_fairness` that of the work that they would cost if nothing were computed twice
    (None: unknown).

    With an event in the middle (None without): `regained` is the reuse of the concerned tenants after it as a
    share of that before; `others` by how much the share of the ideal of the other tenants is larger than
    before; `added_cold` the share of first turns among the first requests of an added replica, `added_share`
    that replica's share of all requests later on.
    """

    reuse: float
    of_ideal: float | None
    first_p50_s: float
    first_p95_s: float
    small_p95_s: float
    requests_per_s: float
    fairness: float
    needed_fairness: float | None = None
    regained: float | None = None
    others: float | None = None
    added_cold: float | None = None
    added_share: float | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """The figures of a variant in a round; a simulation has a seed for each round."""

    round: int
    workload: str
    variant: str
    figures: Figures


class Samples:
    """All samples of a run."""

    def __init__(self, samples: Iterable[Sample]) -> None:
        self.all = list(samples)

    def names(self, workload: str) -> list[str]:
        """The variants that were measured with a workload, in the order of the run's first round."""
        return list(dict.fromkeys(sample.variant for sample in self.all if sample.workload == workload))

    def values(self, workload: str, variant: str, figure: str) -> dict[int, float]:
        """A figure by round; empty if it was not measured."""
        found = {
            sample.round: getattr(sample.figures, figure)
            for sample in self.all
            if (sample.workload, sample.variant) == (workload, variant)
        }
        return {round: value for round, value in found.items() if value is not None}


def first_token_figures(
    first_s: Mapping[str, Sequence[float]], small: Collection[str]
) -> tuple[float, float, float]:
    """The median and the 95th percentile of all times to the first token, and the worst of a small tenant."""
    times = [value for values in first_s.values() for value in values]
    worst = max((percentile(first_s[tenant], 0.95) for tenant in small if tenant in first_s), default=0.0)
    return percentile(times, 0.5), percentile(times, 0.95), worst
