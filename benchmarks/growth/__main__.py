"""`python -m benchmarks.growth`: measure, log the progress to stderr, print the tables to stdout.

The exit code is 1 when a bar is missed.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from benchmarks import cli
from benchmarks.growth import largest, ledger, platform
from benchmarks.growth.report import growth_tables, largest_table

ROUNDS, QUICK_ROUNDS = 30, 8
PLATFORM_ROUNDS = 3
SECONDS, QUICK_SECONDS = 3.0, 1.0
CALLS = 50
WAITING, QUICK_WAITING = 100_000, 5_000
PARTS = ("ledger", "scripts", "platform")


def measure(options: argparse.Namespace, log: cli.Log) -> cli.Report:
    """Measure the chosen parts."""
    quick: bool = options.quick
    samples: list[Any] = []
    reports: list[tuple[str, list[str]]] = []
    if "ledger" in options.parts:
        costs = ledger.measure(options.rounds, CALLS, log, quick=quick)
        samples += costs
        reports.append(growth_tables(costs, [one.dimension for one in ledger.dimensions(quick=quick)]))
    if "scripts" in options.parts:
        largest_calls = largest.measure(1 if quick else 2, QUICK_WAITING if quick else WAITING, log)
        samples += largest_calls
        reports.append(largest_table(largest_calls))
    if "platform" in options.parts:
        costs = platform.measure(1 if quick else PLATFORM_ROUNDS, options.seconds, log, quick=quick)
        samples += costs
        reports.append(growth_tables(costs, platform.dimensions(quick=quick)))
    method = f"lower quartiles of {options.rounds} rounds of {CALLS} calls"
    tables = "\n\n".join(tables for tables, _ in reports)
    return cli.Report(samples, {}, method, tables, [bar for _, missed in reports for bar in missed])


def main() -> int:
    """Run the benchmark. Returns the exit code."""
    parser = cli.create_parser("benchmarks.growth", __doc__, seconds=SECONDS, quick="under a minute, coarse")
    parser.set_defaults(rounds=ROUNDS)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="measure only these parts")
    return cli.run(parser, (QUICK_ROUNDS, QUICK_SECONDS), measure)


if __name__ == "__main__":
    sys.exit(main())
