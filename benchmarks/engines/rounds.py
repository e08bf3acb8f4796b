"""The alternating run: each round asks both sides in turn, beginning with the other one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

from benchmarks.engines.load_messages import CLIENTS, Job, Measured
from benchmarks.engines.pair import DIRECT, Pair, Side
from benchmarks.generator_process import Generator


@dataclass(frozen=True)
class Sample:
    """One measurement: of so many clients at this side in this round; `cpu_s` by part."""

    engine: str
    model: str
    clients: int
    round: int
    side: str
    measured: Measured
    cpu_s: dict[str, float]


def run(pair: Pair, rounds: int, seconds: float, say: Callable[[str], None]) -> Iterator[Sample]:
    """Measure. Round 0 warms up with one answer for each client, and tells how many fit into `seconds`.

    Raises `Broken`.
    """
    answers = dict.fromkeys(CLIENTS, 1)
    with Generator("benchmarks.engines.load_generator", Measured) as generator:
        for number in range(rounds + 1):
            for place, clients in enumerate(CLIENTS):
                for side in _turn(pair.sides, number + place):
                    job = Job(
                        side.port, side.key, pair.model.name, clients, answers[clients] if number else 1
                    )
                    measured, cpu_s = generator.measure(asdict(job), side.cpu)
                    say(_line(number, pair, side, clients, measured))
                    if number:
                        yield Sample(
                            pair.engine, pair.model.name, clients, number, side.name, measured, cpu_s
                        )
                    elif side.name == DIRECT:
                        answers[clients] = max(1, round(seconds / measured.seconds))


def _turn(sides: tuple[Side, Side], number: int) -> tuple[Side, ...]:
    return sides[::-1] if number % 2 else sides


def _line(number: int, pair: Pair, side: Side, clients: int, measured: Measured) -> str:
    when = f"round {number}" if number else "warming up"
    what = f"{pair.engine}, {pair.model.title}, {clients} clients"
    return f"{when:<12} {what:<42}  {side.name:<8}  {measured.tokens / measured.seconds:6,.0f} tokens/s"
