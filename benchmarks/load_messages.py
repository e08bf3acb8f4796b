"""What the load generator is asked, and what it answers. Standard library only: it starts in no time."""

from __future__ import annotations

from dataclasses import dataclass

PROMPT = "a prompt of one kilobyte " * 40 + "that stays the same over the run"
TOKENS = 64
"""Of each answer."""

PACE = 50.0
"""Tokens a second of each stream of the paced model."""


@dataclass(frozen=True)
class Load:
    """A kind of load: so many clients, each of which asks again as soon as it is answered."""

    name: str
    title: str
    clients: int
    model: str
    stream: bool = False
    paced: bool = False


ONE = Load("one", "1 client", 1, "instant")
MANY = Load("many", "32 clients", 32, "instant")
BURST = Load("burst", "64 streams, instant", 64, "instant", stream=True)
PACED = Load("paced", f"64 streams, {PACE:.0f} tokens/s each", 64, "paced", stream=True, paced=True)
LOADS = (ONE, MANY, BURST, PACED)


@dataclass(frozen=True)
class Job:
    """One measurement: after `ramp_s` seconds, for `seconds`. `period_s` is a paced stream's, else 0."""

    port: int
    key: str
    model: str
    clients: int
    stream: bool
    ramp_s: float
    seconds: float
    period_s: float = 0.0


@dataclass(frozen=True)
class Measured:
    """What came back while the window was open.

    `late` are the 50th and 95th percentile of a paced token's delay in milliseconds, against the best token
    of its own stream. `generator_cpu_s` is what the load generator itself used.
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
    """The value below which that share of the values lies; None of none."""
    if not values:
        return None
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]
