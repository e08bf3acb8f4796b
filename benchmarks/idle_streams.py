"""What idle streams cost one API process: `python -m benchmarks.idle_streams` (or `make bench-idle`).

A model's slots are held by generations that stay silent. The measured streams wait behind them: each has its
response's first events, and then nothing but keep-alive comments. At the end the silent generations are
cancelled, and each stream has to get a token and its end.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.cli import describe_machine
from benchmarks.cpu_time import CpuMeter
from benchmarks.generator_process import BenchmarkError
from benchmarks.idle_clients import IdleClients
from benchmarks.markdown import table
from benchmarks.processes import BenchmarkPlatform, running, start_platform
from config.errors import ConfigError

MODEL = "quiet"
SLOTS = 64
WARM_UP_STREAMS = 100
SPARE_FILES = 512
MAX_BYTES_PER_STREAM = 16 * 1024
LONG_S = 3600


@dataclass(frozen=True)
class IdleResult:
    """What the streams cost the API process: bytes of memory (PSS), share of a CPU, seconds.

    `first_tokens_s` is the time from the cancellation of the silent generations to the last stream's token.
    """

    streams: int
    bytes_before: int
    bytes_open: int
    open_s: float
    idle_cpu: float
    first_tokens_s: float
    answered: int

    @property
    def bytes_per_stream(self) -> float:
        """The memory that one more stream takes."""
        return (self.bytes_open - self.bytes_before) / self.streams

    @property
    def missed(self) -> list[str]:
        """The bars that do not hold."""
        bars = {
            f"a stream takes at most {MAX_BYTES_PER_STREAM // 1024} KiB": self.bytes_per_stream
            <= MAX_BYTES_PER_STREAM,
            "each stream gets its token and its end": self.answered == self.streams,
        }
        return [title for title, holds in bars.items() if not holds]


def settings(streams: int) -> dict[str, object]:
    """The platform's settings: room for the streams, and nothing that ends a silent generation."""
    room = streams + SLOTS + WARM_UP_STREAMS
    return {
        "api": {
            "max_streams": room,
            "max_connections": 2 * room,
            "max_connections_per_address": 2 * room,
        },
        "queue": {"max_depth": room, "max_depth_per_tenant": room, "timeout_ms": LONG_S * 1000},
        "limits": {"first_event_timeout_s": LONG_S, "request_timeout_s": LONG_S},
        "models": {
            MODEL: {"backend": "stub", "enabled": True, "target_inflight": SLOTS, "stub_tokens": 1},
        },
    }


def measure(
    platform: BenchmarkPlatform, streams: int, idle_s: float, log: Callable[[str], None]
) -> IdleResult:
    """Open the streams, let them be idle for `idle_s`, read a token from each. Raises `BenchmarkError`."""
    api = platform.cpu.parts["api"]
    meter = CpuMeter({"api": api})
    with (
        IdleClients(platform.port, platform.keys.api_key, MODEL) as silent,
        IdleClients(platform.port, platform.keys.api_key, MODEL) as clients,
    ):
        silent.open(SLOTS, f"/stub first_token_s={LONG_S} tokens=1")
        with IdleClients(platform.port, platform.keys.api_key, MODEL) as first:
            first.open(WARM_UP_STREAMS, "hello")
        time.sleep(2.0)  # the cancellation of those that have just hung up
        bytes_before = _pss(api)
        log(f"{bytes_before / 2**20:.1f} MiB without streams")
        began = time.monotonic()
        clients.open(streams, "hello")
        open_s = time.monotonic() - began
        log(f"{streams} streams are open")
        before = meter.read()["api"]
        clients.read_for(idle_s)
        idle_cpu = (meter.read()["api"] - before) / idle_s
        bytes_open = _pss(api)
        log(f"{bytes_open / 2**20:.1f} MiB after {idle_s:g} s")
        silent.close()
        began = time.monotonic()
        answered = clients.read_answers()
        return IdleResult(
            streams, bytes_before, bytes_open, open_s, idle_cpu, time.monotonic() - began, answered
        )


def _pss(pids: list[int]) -> int:
    """The proportional set size of the processes, in bytes."""
    return sum(psutil.Process(pid).memory_full_info().pss for pid in pids)


def report(result: IdleResult) -> str:
    """A Markdown table."""
    return table(
        [
            ["idle streams of one API process", ""],
            ["streams", f"{result.streams:,}"],
            ["memory of the API without them, MiB", f"{result.bytes_before / 2**20:.1f}"],
            ["memory of the API with them, MiB", f"{result.bytes_open / 2**20:.1f}"],
            ["**memory per stream, KiB**", f"{result.bytes_per_stream / 1024:.1f}"],
            ["CPU of the API while all are idle, % of one", f"{result.idle_cpu * 100:.1f}"],
            ["streams opened per second", f"{result.streams / result.open_s:,.0f}"],
            ["streams that got their token and their end", f"{result.answered:,}"],
            ["time until the last had it, s", f"{result.first_tokens_s:.1f}"],
        ]
    )


def main() -> int:
    """Run the benchmark. Returns the exit code: 1 if a bar does not hold."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.idle_streams", description=__doc__)
    parser.add_argument("--streams", type=int, default=10_000, help="number of streams (%(default)s)")
    parser.add_argument("--seconds", type=float, default=30.0, help="how long they are idle (%(default)s)")
    options = parser.parse_args()
    began = time.monotonic()

    def log(text: str) -> None:
        print(f"{time.monotonic() - began:6.1f} s  {text}", file=sys.stderr, flush=True)

    try:
        raise_file_limit(options.streams + SPARE_FILES)
        facts = describe_machine()
        with tempfile.TemporaryDirectory(prefix="stoker-bench-") as folder, running(log) as processes:
            platform = start_platform(processes, Path(folder) / "home", settings(options.streams))
            result = measure(platform, options.streams, options.seconds, log)
    except (BenchmarkError, ConfigError, OSError, psutil.Error) as error:
        print(f"the benchmark has failed: {error}", file=sys.stderr)
        return 1
    for name, text in facts.items():
        print(f"- {name}: {text}")
    print(f"\n{report(result)}", flush=True)
    for title in result.missed:
        print(f"this bar does not hold: {title}", file=sys.stderr)
    return 1 if result.missed else 0


def raise_file_limit(files: int) -> None:
    """Let this process and those that it starts open so many files. Raises `BenchmarkError`."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < files:
        raise BenchmarkError(f"a process may open {hard} files here, and {files} are needed (ulimit -Hn)")
    if soft != resource.RLIM_INFINITY and soft < files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))


if __name__ == "__main__":
    sys.exit(main())
