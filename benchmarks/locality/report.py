"""The tables of the figures, a table for each workload, and the bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from statistics import mean

from benchmarks.locality.figures import Samples
from benchmarks.markdown import NONE, table

COLUMNS = {
    "reuse": ("reused", "{:.1%}"),
    "of_ideal": ("of the ideal", "{:.1%}"),
    "first_p50_s": ("first token p50 s", "{:.2f}"),
    "first_p95_s": ("p95 s", "{:.2f}"),
    "small_p95_s": ("p95 s, small tenants", "{:.2f}"),
    "requests_per_s": ("requests/s", "{:.2f}"),
    "fairness": ("Jain", "{:.3f}"),
    "needed_fairness": ("Jain, needed work", "{:.3f}"),
    "regained": ("of the reuse before", "{:.1%}"),
    "others": ("other tenants", "{:+.1%}"),
    "added_cold": ("first turns on the added", "{:.0%}"),
    "added_share": ("its requests later", "{:.0%}"),
}
"""The heading of each figure, and its form."""


def workload_tables(samples: Samples, titles: Mapping[str, str]) -> str:
    """A table for each workload: the mean of each figure, and the range if there are several rounds."""
    parts = []
    for workload, title in titles.items():
        names = samples.names(workload)
        if not names:
            continue
        shown = [
            figure for figure in COLUMNS if any(samples.values(workload, name, figure) for name in names)
        ]
        rows = [[name, *(_cell(samples, workload, name, figure) for figure in shown)] for name in names]
        head = [f"{workload}: {title}", *(COLUMNS[figure][0] for figure in shown)]
        parts.append(table([head, *rows]))
    return "\n\n".join(parts)


def _cell(samples: Samples, workload: str, variant: str, figure: str) -> str:
    values, form = list(samples.values(workload, variant, figure).values()), COLUMNS[figure][1]
    if not values:
        return NONE
    if len(values) == 1:
        return form.format(values[0])
    return f"{form.format(mean(values))} ({form.format(min(values))} to {form.format(max(values))})"


class Comparison(Enum):
    """How a figure of a variant is compared with that of another variant in the same round."""

    VALUE = "value"
    RATIO = "ratio"
    DIFFERENCE = "difference"


@dataclass(frozen=True)
class Bar:
    """A bound on the mean of a figure over the rounds, or of its ratio or difference to `reference`'s.

    That is the reference's figure with the same workload, or with `of_workload`.
    """

    workload: str
    variant: str
    figure: str
    minimum: float | None = None
    maximum: float | None = None
    reference: str | None = None
    of_workload: str | None = None
    comparison: Comparison = Comparison.VALUE

    @property
    def title(self) -> str:
        """The workload, the variant and the figure."""
        return f"{self.workload}, {self.variant}: {COLUMNS[self.figure][0]}"

    @property
    def bound(self) -> str:
        """The bound in words."""
        words = [
            f"{word} {number:g}"
            for word, number in (("at least", self.minimum), ("at most", self.maximum))
            if number is not None
        ]
        of = {Comparison.VALUE: "", Comparison.RATIO: " x ", Comparison.DIFFERENCE: " more than "}
        where = f" with {self.of_workload}" if self.of_workload else ""
        return " and ".join(words) + of[self.comparison] + (self.reference or "") + where

    def missing(self, samples: Samples) -> str | None:
        """The variant without which the bar is not measured; None if there are all."""
        if not samples.values(self.workload, self.variant, self.figure):
            return self.variant
        if self.reference is not None and not self._others(samples):
            return f"{self.reference} with {self.of_workload}" if self.of_workload else self.reference
        return None

    def _others(self, samples: Samples) -> dict[int, float]:
        return samples.values(self.of_workload or self.workload, self.reference or "", self.figure)

    def measured(self, samples: Samples) -> float:
        """The mean over the rounds that both variants have."""
        values = samples.values(self.workload, self.variant, self.figure)
        if self.reference is None:
            return mean(values.values())
        others = self._others(samples)
        pairs = [(values[number], others[number]) for number in values if number in others]
        if self.comparison is Comparison.RATIO:
            return mean(value / other if other else float("inf") for value, other in pairs)
        return mean(value - other for value, other in pairs)

    def holds(self, samples: Samples) -> bool:
        """Whether the bar holds, or is not measured."""
        if self.missing(samples) is not None:
            return True
        value = self.measured(samples)
        return (self.minimum is None or value >= self.minimum) and (
            self.maximum is None or value <= self.maximum
        )

    def cells(self, samples: Samples) -> list[str]:
        """Title, bound, measured value, and whether the bar holds."""
        missing = self.missing(samples)
        if missing is not None:
            return [self.title, self.bound, NONE, f"skipped: no {missing}"]
        holds = "yes" if self.holds(samples) else "**no**"
        return [self.title, self.bound, f"{self.measured(samples):.3f}", holds]


def bars_table(samples: Samples, bars: Sequence[Bar]) -> str:
    """A row for each bar whose workload was measured."""
    shown = [bar for bar in bars if samples.names(bar.workload)]
    return table([["bar", "bound", "measured", "holds"], *(bar.cells(samples) for bar in shown)])


def missed_bars(samples: Samples, bars: Sequence[Bar]) -> list[str]:
    """The bars that do not hold, in words."""
    return [
        f"{bar.title}: {bar.measured(samples):.3f}, {bar.bound}" for bar in bars if not bar.holds(samples)
    ]
