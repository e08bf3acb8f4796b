"""`python -m benchmarks`: measure, log the progress to stderr, print the tables to stdout."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks import cli
from benchmarks.load_messages import WORKLOADS
from benchmarks.proxy import CLIENTS
from benchmarks.report import bars, missed_bars, tables
from benchmarks.rounds import run
from benchmarks.samples import Samples
from benchmarks.variants import start_variants

QUICK = (2, 0.6)


def measure(options: argparse.Namespace, log: cli.Log) -> cli.Report:
    """Measure all variants. The bars are defined for the default client of the proxy only."""
    with (
        tempfile.TemporaryDirectory(prefix="stoker-bench-") as folder,
        start_variants(Path(folder), options.proxy_client, log) as variants,
    ):
        samples = list(run(variants, WORKLOADS, options.rounds, options.seconds, log))
    sections, missed = [tables(Samples(samples))], []
    if options.proxy_client == CLIENTS[0]:
        sections.append(bars(Samples(samples)))
        missed = missed_bars(Samples(samples))
    method = f"{options.rounds} rounds of {options.seconds} s; the proxy's client is {options.proxy_client}"
    return cli.Report(samples, {}, method, "\n\n".join(sections), missed)


def main() -> int:
    """Run the benchmark. Returns the exit code: 1 if a bar does not hold."""
    parser = cli.create_parser("benchmarks", __doc__, seconds=1.5, quick="under a minute, and coarse")
    parser.add_argument(
        "--proxy-client",
        choices=CLIENTS,
        default=CLIENTS[0],
        help="the HTTP client of the reference proxy (%(default)s)",
    )
    return cli.run(parser, QUICK, measure)


if __name__ == "__main__":
    sys.exit(main())
