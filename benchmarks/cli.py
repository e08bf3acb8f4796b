"""The command line of a benchmark: its options, how it tells of itself, and how it ends."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.generator_process import Broken
from benchmarks.machine import about
from config.errors import ConfigError

Say = Callable[[str], None]


@dataclass(frozen=True)
class Report:
    """What was measured: all samples (dataclasses), what else was there, how it was done, the tables."""

    samples: Sequence[Any]
    beside: Mapping[str, str]
    manner: str
    tables: str


def parser(prog: str, doc: str | None, seconds: float, quick: str) -> argparse.ArgumentParser:
    """The options that every benchmark has; `seconds` is the usual length of a measurement."""
    made = argparse.ArgumentParser(prog=f"python -m {prog}", description=doc)
    made.add_argument("--rounds", type=int, default=5, help="beside the one that warms up (5)")
    made.add_argument("--seconds", type=float, default=seconds, help="of each measurement (%(default)s)")
    made.add_argument("--quick", action="store_true", help=quick)
    made.add_argument("--json", type=Path, metavar="FILE", help="write all samples there")
    return made


def run(
    made: argparse.ArgumentParser,
    quick: tuple[int, float],
    measure: Callable[[argparse.Namespace, Say], Report],
) -> int:
    """Read the options, measure, print: the exit code. `quick` is rounds and seconds."""
    if sys.platform != "linux":
        print("the benchmark uses epoll: it runs on Linux only", file=sys.stderr)
        return 2
    chosen = made.parse_args()
    if chosen.quick:
        chosen.rounds, chosen.seconds = quick
    if chosen.rounds < 1 or chosen.seconds <= 0:
        made.error("--rounds and --seconds must be positive")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was started is stopped on the way out
    began = time.monotonic()

    def say(text: str) -> None:
        print(f"{time.monotonic() - began:6.1f} s  {text}", file=sys.stderr, flush=True)

    here = about()  # before it begins: the load is a part of it
    try:
        report = measure(chosen, say)
    except (Broken, ConfigError, OSError) as error:
        print(f"the benchmark has failed: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    here = {**here, **report.beside}
    if chosen.json:
        document = {"about": here, "samples": [asdict(sample) for sample in report.samples]}
        chosen.json.write_text(json.dumps(document, indent=1) + "\n")
    for name, text in here.items():
        print(f"- {name}: {text}")
    print(f"- {report.manner}\n\n{report.tables}")
    return 0
