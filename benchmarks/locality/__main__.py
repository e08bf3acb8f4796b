"""`python -m benchmarks.locality`: compare what becomes of cached prompts, and check the bars.

The tables go to stdout; the exit code is 1 when a bar does not hold. With `--simulate` the platform's own
scripts run in virtual time, with a seed for each round.
"""

from __future__ import annotations

import sys

from benchmarks import cli
from benchmarks.locality.scenarios import SCENARIOS
from benchmarks.locality.simulated_run import simulate

SECONDS, QUICK = 400.0, (1, 150.0)


def main() -> int:
    """Run the benchmark. Returns the exit code."""
    quick = "a short run with two workloads"
    parser = cli.create_parser("benchmarks.locality", __doc__, seconds=SECONDS, quick=quick)
    parser.add_argument("--simulate", action="store_true", help="virtual time, with a model of an engine")
    names = [scenario.name for scenario in SCENARIOS]
    parser.add_argument("--only", action="append", choices=names, help="a workload; may be repeated (all)")
    return cli.run(parser, QUICK, simulate)


if __name__ == "__main__":
    sys.exit(main())
