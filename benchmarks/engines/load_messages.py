"""The messages to and from the load generator. Standard library only, for a fast start."""

from __future__ import annotations

from dataclasses import dataclass

PROMPT = "Count to one hundred."
"""Both models count; without a limit the response has 392 tokens."""

EXPECTED_START = "1, 2, 3, 4, 5, "
TOKENS = 128
"""The length of each response."""

CLIENTS = (1, 8, 32)


@dataclass(frozen=True)
class EngineLoadSpec:
    """One measurement: each of `clients` sends `answers` requests in a closed loop.

    Each answer has to begin with `expected_start`, and to have TOKENS tokens; a sampled one may end before.
    """

    port: int
    key: str
    model: str
    clients: int
    answers: int
    prompt: str = PROMPT
    expected_start: str = EXPECTED_START
    temperature: float = 0.0


@dataclass(frozen=True)
class EngineLoadResult:
    """The responses, from the first request to the end of the last response.

    `first_p50_ms` is the median time to the first token. `generator_cpu_s` is the CPU time of the load
    generator.
    """

    seconds: float
    tokens: int
    first_p50_ms: float
    generator_cpu_s: float
