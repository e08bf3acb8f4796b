"""The messages to and from the load generator. Standard library only, for a fast start."""

from __future__ import annotations

from dataclasses import dataclass

PROMPT = "a prompt of one kilobyte " * 40 + "that stays the same over the run"
TOKENS = 64
"""The length of each response."""

PACE = 50.0
"""The rate of each stream of the paced model, in tokens per second."""


@dataclass(frozen=True)
class Workload:
    """A kind of load: `clients` in a closed loop, each of which sends its next request after its response."""

    name: str
    title: str
    clients: int
    model: str
    stream: bool = False
    paced: bool = False


ONE = Workload("one", "1 client", 1, "instant")
MANY = Workload("many", "32 clients", 32, "instant")
BURST = Workload("burst", "64 streams, instant", 64, "instant", stream=True)
PACED = Workload("paced", f"64 streams, {PACE:.0f} tokens/s each", 64, "paced", stream=True, paced=True)
LONE = Workload("lone", f"1 stream, {PACE:.0f} tokens/s", 1, "paced", stream=True, paced=True)
WORKLOADS = (ONE, MANY, BURST, PACED)


@dataclass(frozen=True)
class LoadSpec:
    """One measurement of `seconds` after a ramp of `ramp_s` seconds. Each request posts `body` to `path`.

    `period_s` is the time between two tokens of a paced stream, else 0.
    """

    port: int
    key: str
    path: str
    body: str
    clients: int
    stream: bool
    ramp_s: float
    seconds: float
    period_s: float = 0.0


@dataclass(frozen=True)
class LoadResult:
    """The responses within the window.

    `late_p50_ms` and `late_p95_ms` are percentiles of the delay of a paced token, relative to the most
    punctual token of its stream. `generator_cpu_s` is the CPU time of the load generator.
    """

    seconds: float
    requests: int
    tokens: int
    latency_p50_ms: float | None
    latency_p95_ms: float | None
    late_p50_ms: float | None
    late_p95_ms: float | None
    generator_cpu_s: float


def percentile(values: list[float], share: float) -> float | None:
    """The value below which this share of the values lies; None without values."""
    if not values:
        return None
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]
