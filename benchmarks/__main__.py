"""`python -m benchmarks`: measure, tell how it goes on stderr, print the table on stdout."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

from benchmarks.generator import Broken
from benchmarks.machine import about
from benchmarks.proxy import CLIENTS
from benchmarks.report import Samples, bars, tables
from benchmarks.rounds import run
from benchmarks.variants import started

QUICK = (2, 0.6)


def options() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="beside the one that warms up (5)")
    parser.add_argument("--seconds", type=float, default=1.5, help="of each measurement (1.5)")
    parser.add_argument("--quick", action="store_true", help="under a minute, and coarse")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all samples there")
    parser.add_argument(
        "--proxy-client",
        choices=CLIENTS,
        default=CLIENTS[0],
        help="what the reference asks with (%(default)s)",
    )
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.rounds, chosen.seconds = QUICK
    if chosen.rounds < 1 or chosen.seconds <= 0:
        parser.error("--rounds and --seconds must be positive")
    return chosen


def main() -> int:
    """Run; the exit code."""
    if sys.platform != "linux":
        print("the benchmark reads /proc and uses epoll: it runs on Linux only", file=sys.stderr)
        return 2
    chosen = options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was started is stopped on the way out
    began = time.monotonic()

    def say(text: str) -> None:
        print(f"{time.monotonic() - began:6.1f} s  {text}", file=sys.stderr, flush=True)

    here = about()
    try:
        with (
            tempfile.TemporaryDirectory(prefix="stoker-bench-") as folder,
            started(Path(folder), chosen.proxy_client, say) as variants,
        ):
            samples = list(run(variants, chosen.rounds, chosen.seconds, say))
    except (Broken, OSError) as error:
        print(f"the benchmark has failed: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    if chosen.json:
        document = {"about": here, "samples": [asdict(sample) for sample in samples]}
        chosen.json.write_text(json.dumps(document, indent=1) + "\n")
    for name, text in here.items():
        print(f"- {name}: {text}")
    print(f"- {chosen.rounds} rounds of {chosen.seconds} s; the proxy asks with {chosen.proxy_client}\n")
    print(tables(Samples(samples)))
    if chosen.proxy_client == CLIENTS[0]:
        print(f"\n{bars(Samples(samples))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
