"""The command line of both benchmarks: options, progress, the description of the machine, exit codes."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil

from benchmarks.generator_process import BenchmarkError
from config.errors import ConfigError
from stoker.valkey import find_server

PACKAGES = (
    "celery",
    "flask",
    "flower",
    "gunicorn",
    "hiredis",
    "httptools",
    "httpx",
    "kombu",
    "orjson",
    "redis",
    "uvloop",
)

Log = Callable[[str], None]


@dataclass(frozen=True)
class Report:
    """The results: all samples (dataclasses), facts to add to the machine's, the method, the tables.

    `missed` names the bars that do not hold; the benchmark then fails.
    """

    samples: Sequence[Any]
    facts: Mapping[str, str]
    method: str
    tables: str
    missed: Sequence[str] = ()


def create_parser(prog: str, doc: str | None, seconds: float, quick: str) -> argparse.ArgumentParser:
    """A parser with the options of every benchmark; `seconds` is the default length of a measurement."""
    parser = argparse.ArgumentParser(prog=f"python -m {prog}", description=doc)
    parser.add_argument("--rounds", type=int, default=5, help="in addition to one warm-up round (5)")
    parser.add_argument(
        "--seconds", type=float, default=seconds, help="length of each measurement (%(default)s)"
    )
    parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all samples to this file")
    return parser


def run(
    parser: argparse.ArgumentParser,
    quick: tuple[int, float],
    measure: Callable[[argparse.Namespace, Log], Report],
) -> int:
    """Parse the options, measure and print. `quick` is rounds and seconds. Returns the exit code."""
    if sys.platform != "linux":
        print("the benchmark uses epoll: it runs on Linux only", file=sys.stderr)
        return 2
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.seconds = quick
    if options.rounds < 1 or options.seconds <= 0:
        parser.error("--rounds and --seconds must be positive")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that all started processes are stopped
    began = time.monotonic()

    def log(text: str) -> None:
        print(f"{time.monotonic() - began:6.1f} s  {text}", file=sys.stderr, flush=True)

    facts = describe_machine()  # before the measurement, which changes the load average
    try:
        report = measure(options, log)
    except (BenchmarkError, ConfigError, OSError, psutil.Error) as error:
        print(f"the benchmark has failed: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    facts = {**facts, **report.facts}
    if options.json:
        document = {"about": facts, "samples": [asdict(sample) for sample in report.samples]}
        options.json.write_text(json.dumps(document, indent=1) + "\n")
    for name, text in facts.items():
        print(f"- {name}: {text}")
    print(f"- {report.method}\n\n{report.tables}", flush=True)
    for title in report.missed:
        print(f"this bar does not hold: {title}", file=sys.stderr)
    return 1 if report.missed else 0


def describe_machine() -> dict[str, str]:
    """The machine and the versions of the software, as text to compare results by."""
    server = find_server()
    versions = [f"{name} {version(name)}" for name in PACKAGES]
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": f"{os.cpu_count()} CPUs ({platform.machine()}), Linux {platform.release()}",
        "load before": load,
        "versions": ", ".join(
            [f"Python {platform.python_version()}", server.label if server else "", *versions]
        ),
    }
