"""What the load generator is asked, and what it answers. Standard library only: it starts in no time."""

from __future__ import annotations

from dataclasses import dataclass

QUESTION = "Count to one hundred."
"""Both models count, for 392 tokens if they are let."""

BEGINNING = "1, 2, 3, 4, 5, "
TOKENS = 128
"""Of each answer."""

CLIENTS = (1, 8, 32)


@dataclass(frozen=True)
class Job:
    """One measurement: so many clients, of which each asks so many times, as soon as it is answered."""

    port: int
    key: str
    model: str
    clients: int
    answers: int


@dataclass(frozen=True)
class Measured:
    """What came back, from the first question to the end of the last answer.

    `first_p50_ms` is the median time from a question to the first words of its answer. `generator_cpu_s` is
    what the load generator itself used.
    """

    seconds: float
    tokens: int
    first_p50_ms: float
    generator_cpu_s: float
