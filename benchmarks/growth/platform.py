"""The cost of a request on running platforms: with more open streams, and with more API processes."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.generator_process import LoadGenerator
from benchmarks.growth.samples import Dimension, Sample
from benchmarks.idle_clients import IdleClients
from benchmarks.idle_streams import LONG_S, MODEL, SLOTS, SPARE_FILES, raise_file_limit
from benchmarks.idle_streams import settings as settings_for_idle_streams
from benchmarks.load_messages import PROMPT, TOKENS, LoadResult, LoadSpec
from benchmarks.processes import BenchmarkPlatform, running, start_platform

Log = Callable[[str], None]

CPU = "CPU us"
CLIENTS = 32
RAMP_S = 0.5
SETTLE_S = 1.5
"""After streams were opened or closed: what that leaves to do is no part of the next measurement."""

ANSWERS = "instant"
PATH = "/v1/responses"


def dimensions(*, quick: bool) -> list[Dimension]:
    """The numbers of open streams and of API processes; of the quick ones the smallest and a larger one."""
    return [
        Dimension("open streams", (1, 1_000) if quick else (1, 100, 1_000, 10_000)),
        Dimension("API processes", (1, 4) if quick else (1, 2, 4)),
    ]


def configuration(streams: int, processes: int) -> dict[str, Any]:
    """Settings with room for idle streams, a model for them, and one that answers at once."""
    settings: dict[str, Any] = settings_for_idle_streams(streams)
    model = {"backend": "stub", "enabled": True, "target_inflight": 64, "stub_directives": False}
    return {
        **settings,
        "api": {**settings["api"], "processes": processes},
        "responses": {"retention_s": 60},
        "models": {**settings["models"], ANSWERS: {**model, "stub_tokens": TOKENS}},
    }


def measure(rounds: int, seconds: float, log: Log, *, quick: bool) -> list[Sample]:
    """Measure both dimensions. Raises `BenchmarkError`."""
    streams, processes = dimensions(quick=quick)
    return [
        *StreamsMeasurement(streams, seconds, log).run(rounds),
        *ProcessesMeasurement(processes, seconds, log).run(rounds),
    ]


class Measurement:
    """The measurement of one dimension, with windows of so many seconds."""

    def __init__(self, dimension: Dimension, seconds: float, log: Log) -> None:
        self.dimension, self._seconds, self.log = dimension, seconds, log

    def sample(self, platform: BenchmarkPlatform, size: int, number: int) -> Sample:
        """Measure the cost of streamed requests, in round `number`."""
        time.sleep(SETTLE_S)
        body = json.dumps({"model": ANSWERS, "input": PROMPT, "stream": True})
        key = platform.keys.api_key
        spec = LoadSpec(platform.port, key, PATH, body, CLIENTS, True, RAMP_S, self._seconds)
        with LoadGenerator("benchmarks.load_generator", LoadResult) as generator:
            result, cpu_s = generator.measure(asdict(spec), platform.cpu)
        cost = sum(cpu_s.values()) * 1e6 / max(1, result.requests)
        self.log(f"{size:,} {self.dimension.name}: {cost:.0f} us a request, {result.requests} requests")
        return Sample(number, self.dimension.name, size, "a streamed request", CPU, cost)


class StreamsMeasurement(Measurement):
    """One platform with more and more streams that wait for a slot."""

    def run(self, rounds: int) -> Iterator[Sample]:
        """Measure."""
        sizes = self.dimension.sizes
        raise_file_limit(max(sizes) + SPARE_FILES)
        with _platforms([configuration(max(sizes), 1)], self.log) as (platform,):
            self.sample(platform, 0, 0)  # warms up
            for number in range(1, rounds + 1):
                with _clients(platform) as silent, _clients(platform) as clients:
                    silent.open(SLOTS, f"/stub first_token_s={LONG_S} tokens=1")
                    opened = 0  # these wait behind the silent ones
                    for size in sizes:
                        clients.open(size - opened, "hello")
                        opened = size
                        yield self.sample(platform, size, number)
                time.sleep(SETTLE_S)  # the generations of the closed streams are cancelled


class ProcessesMeasurement(Measurement):
    """Platforms with different numbers of API processes, measured in turn."""

    def run(self, rounds: int) -> Iterator[Sample]:
        """Measure."""
        sizes = self.dimension.sizes
        with _platforms([configuration(SLOTS, size) for size in sizes], self.log) as platforms:
            pairs = list(zip(sizes, platforms, strict=True))
            for size, platform in pairs:
                self.sample(platform, size, 0)  # warms up
            for number in range(1, rounds + 1):
                for size, platform in pairs if number % 2 else reversed(pairs):
                    yield self.sample(platform, size, number)


@contextmanager
def _platforms(settings: Sequence[dict[str, Any]], log: Log) -> Iterator[list[BenchmarkPlatform]]:
    with tempfile.TemporaryDirectory(prefix="stoker-growth-") as folder, running(log) as processes:
        log(f"starting {len(settings)} platforms")
        homes = [Path(folder, str(number)) for number in range(len(settings))]
        yield [start_platform(processes, home, one) for home, one in zip(homes, settings, strict=True)]


def _clients(platform: BenchmarkPlatform) -> IdleClients:
    return IdleClients(platform.port, platform.keys.api_key, MODEL)
