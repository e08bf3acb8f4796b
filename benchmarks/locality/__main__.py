"""`python -m benchmarks.locality`: compare what becomes of cached prompts, and check the bars.

Real engines run behind the platform, llama-servers behind the peers, too. With `--simulate` the platform's
own scripts run in virtual time, with a seed for each round. The tables go to stdout; the exit code is 1 when
a bar does not hold.
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks import cli
from benchmarks.locality.measured_run import measure
from benchmarks.locality.scenarios import SCENARIOS
from benchmarks.locality.servers import BACKENDS, LLAMA_SERVER, variant_names
from benchmarks.locality.simulated_run import simulate
from benchmarks.locality.workloads import WORKLOADS

SECONDS, QUICK = 8.0, (1, 4.0)
SIMULATED_SECONDS, SIMULATED_QUICK = 400.0, (1, 150.0)


def main() -> int:
    """Run the benchmark. Returns the exit code."""
    is_simulated = "--simulate" in sys.argv[1:]
    seconds = SIMULATED_SECONDS if is_simulated else SECONDS
    quick = "a short run with two workloads"
    parser = cli.create_parser("benchmarks.locality", __doc__, seconds=seconds, quick=quick)
    parser.set_defaults(rounds=5 if is_simulated else 1)
    parser.add_argument("--simulate", action="store_true", help="virtual time, with a model of an engine")
    names = [item.name for item in (SCENARIOS if is_simulated else WORKLOADS)]
    parser.add_argument("--only", action="append", choices=names, help="a workload; may be repeated (all)")
    if not is_simulated:
        found = variant_names()
        parser.add_argument("--backend", choices=BACKENDS, default=LLAMA_SERVER, help="(%(default)s)")
        parser.add_argument("--variant", action="append", choices=found, help="may be repeated (all)")
    if is_simulated:
        parser.add_argument(
            "--plots", type=Path, metavar="FOLDER", help="write the figures as SVG files there"
        )
        return cli.run(parser, SIMULATED_QUICK, simulate)
    return cli.run(parser, QUICK, measure)


if __name__ == "__main__":
    sys.exit(main())
