"""Draws the figures of the simulation as SVG, for docs/scheduling.md."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from benchmarks.locality.figures import Samples
from benchmarks.on_demand.plots import bars

LABEL_PX = 250

PLOTS = {
    "reused": ("Share of the prompts' tokens that are reused", "reuse", 100, " %"),
    "requests": ("Requests in a second", "requests_per_s", 1, ""),
    "first-token": (
        "Time to the first token, 95th percentile; with a hog, of the small tenants",
        "small_p95_s",
        1,
        " s",
    ),
}
"""By the end of the file's name: title, figure, factor and unit."""


def write_plots(folder: Path, samples: Samples, titles: Mapping[str, str]) -> None:
    """Write the means of the variants, by scenario, as `locality-<name>.svg`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (title, figure, factor, unit) in PLOTS.items():
        groups: dict[str, dict[str, float]] = {}
        for scenario, label in titles.items():
            for variant in samples.names(scenario):
                values = samples.values(scenario, variant, figure).values()
                if values:
                    groups.setdefault(label, {})[variant] = factor * sum(values) / len(values)
        (folder / f"locality-{name}.svg").write_text(bars(title, groups, unit, label_px=LABEL_PX))
