"""`python -m benchmarks`: measure, tell how it goes on stderr, print the table on stdout."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks import cli as command
from benchmarks.proxy import CLIENTS
from benchmarks.report import Samples, bars, tables
from benchmarks.rounds import run
from benchmarks.variants import started

QUICK = (2, 0.6)


def measure(chosen: argparse.Namespace, say: command.Say) -> command.Report:
    """Measure all variants. There are bars only for the usual proxy."""
    with (
        tempfile.TemporaryDirectory(prefix="stoker-bench-") as folder,
        started(Path(folder), chosen.proxy_client, say) as variants,
    ):
        samples = list(run(variants, chosen.rounds, chosen.seconds, say))
    told = [tables(Samples(samples))]
    if chosen.proxy_client == CLIENTS[0]:
        told.append(bars(Samples(samples)))
    manner = f"{chosen.rounds} rounds of {chosen.seconds} s; the proxy asks with {chosen.proxy_client}"
    return command.Report(samples, {}, manner, "\n\n".join(told))


def main() -> int:
    """Run; the exit code."""
    parser = command.parser("benchmarks", __doc__, seconds=1.5, quick="under a minute, and coarse")
    parser.add_argument(
        "--proxy-client",
        choices=CLIENTS,
        default=CLIENTS[0],
        help="what the reference asks with (%(default)s)",
    )
    return command.run(parser, QUICK, measure)


if __name__ == "__main__":
    sys.exit(main())
