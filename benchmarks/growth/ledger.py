"""The cost of requests and of periodic calls on platforms of several sizes, measured in turn."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.growth.requests import PERIODIC_CALLS, measure_call, measure_requests
from benchmarks.growth.samples import Dimension, Sample
from benchmarks.growth.server import Cost, MeasuredServer, measured_server
from benchmarks.growth.simulated_platform import SimulatedPlatform, Size, build

Log = Callable[[str], None]

REQUEST = "a request"
CPU, COMMANDS = "server CPU us", "commands"
QUICK_QUEUE = 10_000
REPLICAS = 4
"""With several replicas each request looks for the one that has computed its prompt."""


@dataclass(frozen=True)
class LedgerDimension:
    """A property that grows, and how a platform of each size is built."""

    dimension: Dimension
    size: Callable[[int], Size]


def dimensions(*, quick: bool) -> list[LedgerDimension]:
    """All properties. The quick ones stop at a tenth of the largest queue."""
    most = QUICK_QUEUE if quick else 100_000
    queue = QUICK_QUEUE if quick else 20_000  # at least one waiting job for each tenant
    return [
        LedgerDimension(
            Dimension("tenants", (1, 100, 10_000)),
            lambda n: Size(replicas=REPLICAS, slots=64 // REPLICAS, tenants=n, waiting=queue),
        ),
        LedgerDimension(
            Dimension("waiting jobs", (0, 1_000, most)),
            lambda n: Size(replicas=REPLICAS, slots=128 // REPLICAS, tenants=100, waiting=n),
        ),
        LedgerDimension(
            Dimension("replicas", (1, 64, 1_000), bound=3.0),
            lambda n: Size(workers=max(1, n // 8), replicas=n, slots=256 if n == 1 else 4),
        ),
        LedgerDimension(
            Dimension("replicas with a queue", (REPLICAS, 1_000)),
            lambda n: Size(
                workers=max(1, n // 8),
                replicas=n,
                slots=128 if n == REPLICAS else 4,
                tenants=100,
                waiting=most,
            ),
        ),
        LedgerDimension(Dimension("workers", (1, 100, 1_000)), lambda n: Size(workers=n)),
    ]


def measure(rounds: int, calls: int, log: Log, *, quick: bool) -> list[Sample]:
    """Measure all properties: of each, the platforms of all sizes are on one server at the same time.

    In each round the sizes take turns with a few `calls` each, so that a busy moment meets all of them.
    """
    samples: list[Sample] = []
    for one in dimensions(quick=quick):
        with (
            tempfile.TemporaryDirectory(prefix="stoker-growth-") as folder,
            measured_server(Path(folder), log) as server,
        ):
            platforms = {}
            for size in one.dimension.sizes:
                log(f"building a platform: {size:,} {one.dimension.name}")
                platforms[size] = build(server, f"growth-{size}", one.size(size))
            log(f"measuring {rounds} rounds")
            for number in range(rounds + 1):  # round 0 warms up
                found = list(_round(server, one.dimension, platforms, calls, number))
                samples += found if number else []
    return samples


def _round(
    server: MeasuredServer,
    dimension: Dimension,
    platforms: Mapping[int, SimulatedPlatform],
    calls: int,
    number: int,
) -> Iterator[Sample]:
    first = number % len(dimension.sizes)
    for size in (*dimension.sizes[first:], *dimension.sizes[:first]):
        costs: dict[str, Cost] = {REQUEST: measure_requests(server, platforms[size], calls)}
        for periodic in PERIODIC_CALLS:
            costs[periodic.name] = measure_call(server, platforms[size], periodic, calls // 5)
        for call, cost in costs.items():
            # periodic calls are too few for exact times: their commands have a bar
            yield Sample(number, dimension.name, size, call, CPU, cost.cpu_us, has_bar=call == REQUEST)
            yield Sample(number, dimension.name, size, call, COMMANDS, cost.commands)
