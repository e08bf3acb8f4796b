"""The alternating run: each round measures both sides, beginning with the other one each time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

from benchmarks.engines.load_messages import CLIENTS, EngineLoadResult, EngineLoadSpec
from benchmarks.engines.pairs import DIRECT, Pair, Side
from benchmarks.generator_process import LoadGenerator


@dataclass(frozen=True)
class EngineSample:
    """One measurement at one side with `clients` clients; `cpu_s` is the CPU time by part."""

    engine: str
    model: str
    clients: int
    round: int
    side: str
    result: EngineLoadResult
    cpu_s: dict[str, float]


def run(pair: Pair, rounds: int, seconds: float, log: Callable[[str], None]) -> Iterator[EngineSample]:
    """Measure.

    Round 0 warms up with one response for each client, and determines how many fit into `seconds`. Raises
    `BenchmarkError`.
    """
    answers = dict.fromkeys(CLIENTS, 1)
    with LoadGenerator("benchmarks.engines.load_generator", EngineLoadResult) as generator:
        for number in range(rounds + 1):
            for index, clients in enumerate(CLIENTS):
                for side in _order(pair.sides, number + index):
                    spec = EngineLoadSpec(
                        side.port, side.key, pair.model.name, clients, answers[clients] if number else 1
                    )
                    result, cpu_s = generator.measure(asdict(spec), side.cpu)
                    log(_progress(number, pair, side, clients, result))
                    if number:
                        yield EngineSample(
                            pair.engine, pair.model.name, clients, number, side.name, result, cpu_s
                        )
                    elif side.name == DIRECT:
                        answers[clients] = max(1, round(seconds / result.seconds))


def _order(sides: tuple[Side, Side], number: int) -> tuple[Side, ...]:
    return sides[::-1] if number % 2 else sides


def _progress(number: int, pair: Pair, side: Side, clients: int, result: EngineLoadResult) -> str:
    when = f"round {number}" if number else "warming up"
    subject = f"{pair.engine}, {pair.model.title}, {clients} clients"
    return f"{when:<12} {subject:<42}  {side.name:<8}  {result.tokens / result.seconds:6,.0f} tokens/s"
