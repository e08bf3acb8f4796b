"""`python -m benchmarks.on_demand`: simulate each workload under each choice of the models to load.

The table goes to stdout; `--plots FOLDER` writes the plots. The exit code is 1 when a bar is missed.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks import cli
from benchmarks.growth.server import measured_server
from benchmarks.markdown import table
from benchmarks.on_demand.plots import bars, timeline
from benchmarks.on_demand.policies import POLICIES
from benchmarks.on_demand.report import Figures, figures, missed_bars
from benchmarks.on_demand.simulation import Outcome, Simulation
from benchmarks.on_demand.workload import WORKLOADS

SECONDS, QUICK_SECONDS = 900.0, 200.0
SHOWN_S = 300.0
PREFIXES = itertools.count()


@dataclass(frozen=True)
class Sample:
    """The figures of a workload under a choice."""

    workload: str
    choice: str
    figures: Figures


def measure(options: argparse.Namespace, log: cli.Log) -> cli.Report:
    """Simulate all workloads."""
    samples: list[Sample] = []
    outcomes: dict[str, dict[str, Outcome]] = {}
    with tempfile.TemporaryDirectory() as folder, measured_server(Path(folder), log) as server:
        for make in WORKLOADS:
            workload = make(options.seconds)
            for name, choice in POLICIES.items():
                simulation = Simulation(server, f"sim{next(PREFIXES)}", workload, choice)
                outcome = simulation.run(options.seconds)
                outcomes.setdefault(workload.name, {})[name] = outcome
                samples.append(Sample(workload.name, name, figures(workload, outcome)))
                log(f"{workload.name}, {name}: {samples[-1].figures.served:.0%} of the work served")
    if options.plots:
        write_plots(options.plots, samples, outcomes, min(SHOWN_S, options.seconds))
    by_workload: dict[str, dict[str, Figures]] = {}
    for sample in samples:
        by_workload.setdefault(sample.workload, {})[sample.choice] = sample.figures
    missed = [bar for workload, found in by_workload.items() for bar in missed_bars(workload, found)]
    method = f"{options.seconds:.0f} s of virtual time, 3 GPUs, 8 models of which one fits on a GPU"
    return cli.Report(samples, {}, method, figures_table(samples), missed)


def figures_table(samples: list[Sample]) -> str:
    """A row for each sample."""
    head = [
        "workload, choice",
        "switching",
        "switches",
        "work served",
        "mean wait",
        "p95 wait",
        "worst p95",
        "Jain",
    ]
    rows = [
        [
            f"{sample.workload}, {sample.choice}",
            f"{sample.figures.switching:.0%}",
            str(sample.figures.switches),
            f"{sample.figures.served:.0%}",
            f"{sample.figures.mean_wait_s:.0f} s",
            f"{sample.figures.p95_wait_s:.0f} s",
            f"{sample.figures.worst_p95_wait_s:.0f} s",
            f"{sample.figures.fairness:.3f}",
        ]
        for sample in samples
    ]
    return table([head, *rows])


def write_plots(
    folder: Path, samples: list[Sample], outcomes: dict[str, dict[str, Outcome]], until_s: float
) -> None:
    """Write the plots of the report as SVG files."""

    def by_workload(field: str, factor: float) -> dict[str, dict[str, float]]:
        groups: dict[str, dict[str, float]] = {}
        for sample in samples:
            groups.setdefault(sample.workload, {})[sample.choice] = getattr(sample.figures, field) * factor
        return groups

    folder.mkdir(parents=True, exist_ok=True)
    plots = {
        "switching": bars("Time of the GPUs lost to loads and unloads", by_workload("switching", 100), " %"),
        "served": bars("Share of the work that was served", by_workload("served", 100), " %"),
        "waits": bars("Wait, 95th percentile, worst tenant", by_workload("worst_p95_wait_s", 1), " s"),
        "timeline": timeline(
            "What the GPUs did: three tenants and an adversary", outcomes["adversary"], until_s
        ),
    }
    for name, text in plots.items():
        (folder / f"on-demand-{name}.svg").write_text(text)


def main() -> int:
    """Run the benchmark. Returns the exit code."""
    parser = cli.create_parser(
        "benchmarks.on_demand", __doc__, seconds=SECONDS, quick="a short run, in under a minute"
    )
    parser.add_argument("--plots", type=Path, metavar="FOLDER", help="write the plots to this folder")
    return cli.run(parser, (1, QUICK_SECONDS), measure)


if __name__ == "__main__":
    sys.exit(main())
