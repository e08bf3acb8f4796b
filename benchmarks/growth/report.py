"""The tables of the samples, and the bars that they miss."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from benchmarks.growth.largest import BOUND_MS, LargestSample
from benchmarks.growth.samples import Dimension, Sample
from benchmarks.markdown import table


def growth_tables(samples: Sequence[Sample], dimensions: Sequence[Dimension]) -> tuple[str, list[str]]:
    """A table for each dimension, and the bars that are missed, as sentences."""
    tables, missed = [], []
    for dimension in dimensions:
        own = [sample for sample in samples if sample.dimension == dimension.name]
        head = [
            dimension.name,
            *(f"{size:,}" for size in dimension.sizes),
            "largest / first",
            "bound",
            "holds",
        ]
        rows = [head]
        for call, unit in dict.fromkeys((sample.call, sample.unit) for sample in own):
            measured = [one for one in own if (one.call, one.unit) == (call, unit)]
            costs = [_quiet(measured, size) for size in dimension.sizes]
            ratio = max(costs) / costs[0]
            title, bound, holds = f"{call}: {unit}", "", ""
            if measured[0].has_bar:
                bound, holds = f"{dimension.bound:g}", "yes" if ratio <= dimension.bound else "**no**"
            rows.append([title, *map(_figure, costs), f"{ratio:.2f}", bound, holds])
            if measured[0].has_bar and ratio > dimension.bound:
                missed.append(f"{dimension.name}: {title} grows by {ratio:.2f}, at most {bound}")
        tables.append(table(rows))
    return "\n\n".join(tables), missed


def _quiet(samples: Sequence[Sample], size: int) -> float:
    """The lower quartile of the cost at a size: a busy machine adds to the cost, and never takes from it."""
    costs = sorted(sample.cost for sample in samples if sample.size == size)
    return costs[len(costs) // 4]


def _figure(value: float) -> str:
    return f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def largest_table(samples: Sequence[LargestSample]) -> tuple[str, list[str]]:
    """The largest call of each script, and the bars that are missed.

    Of several rounds the best counts: what only one of them has is not the script's.
    """
    by_script: dict[str, list[LargestSample]] = defaultdict(list)
    for sample in samples:
        by_script[sample.script].append(sample)
    rows = [["largest call of each script", "calls", "server CPU ms", "bound", "holds"]]
    missed = []
    worst = {script: min(one.cpu_ms for one in found) for script, found in by_script.items()}
    for script, cpu_ms in sorted(worst.items(), key=lambda item: -item[1]):
        calls = sum(one.calls for one in by_script[script])
        holds = cpu_ms <= BOUND_MS
        rows.append(
            [f"`{script}`", f"{calls:,}", f"{cpu_ms:.2f}", f"{BOUND_MS:g}", "yes" if holds else "**no**"]
        )
        if not holds:
            missed.append(f"the largest call of {script} takes {cpu_ms:.1f} ms, at most {BOUND_MS:g}")
    return table(rows), missed
