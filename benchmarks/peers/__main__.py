"""`python -m benchmarks.peers`: measure, log the progress to stderr, print the tables to stdout."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks import cli
from benchmarks.peers.environments import install, version_of
from benchmarks.peers.report import LOADS, bars_table, missed_bars, parts_table, ratios_table, values_table
from benchmarks.peers.variants import PEERS, VARIANTS, start_variants
from benchmarks.rounds import run
from benchmarks.samples import Samples
from benchmarks.variants import PARTS

QUICK = (2, 1.0)


def measure(options: argparse.Namespace, log: cli.Log) -> cli.Report:
    """Install the chosen peers, and measure the chosen variants."""
    names = [name for name in VARIANTS if name in (options.only or VARIANTS)]
    peers = [name for name in PEERS if name in names]
    for peer in peers:
        install(peer, log)
    with (
        tempfile.TemporaryDirectory(prefix="stoker-bench-") as folder,
        start_variants(Path(folder), names, log) as variants,
    ):
        found = list(run(variants, LOADS, options.rounds, options.seconds, log))
    samples = Samples(found)
    tables = (
        values_table(samples, names),
        ratios_table(samples, names),
        bars_table(samples),
        parts_table(samples, PARTS),
    )
    facts = {"peers": ", ".join(map(version_of, peers))}
    method = f"{options.rounds} rounds of {options.seconds} s; medians over the rounds, and ranges"
    return cli.Report(found, facts, method, "\n\n".join(tables), missed_bars(samples))


def main() -> int:
    """Run the benchmark. Returns the exit code: 1 if a bar does not hold."""
    parser = cli.create_parser("benchmarks.peers", __doc__, seconds=2.0, quick="two minutes, and coarse")
    parser.add_argument(
        "--only", action="append", choices=VARIANTS, help="measure this variant; may be repeated (all)"
    )
    return cli.run(parser, QUICK, measure)


if __name__ == "__main__":
    sys.exit(main())
