"""The alternating run: each round measures each workload at each variant, in a rotated order."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass

from benchmarks.generator_process import LoadGenerator
from benchmarks.load_messages import ONE, PACE, TOKENS, WORKLOADS, LoadResult, LoadSpec, Workload
from benchmarks.variants import UPSTREAM, BenchmarkVariant

RAMP_S = 0.3
SETTLE_S = 0.5
"""The pause after streams were cut, in which their generations are cancelled."""

PACED_S = TOKENS / PACE
"""The duration of a paced stream. A ramp and a window of this length suffice: all streams then run."""


@dataclass(frozen=True)
class Sample:
    """One measurement of one workload at one variant; `cpu_s` is the CPU time by part."""

    round: int
    load: str
    variant: str
    result: LoadResult
    cpu_s: dict[str, float]


def run(
    variants: Sequence[BenchmarkVariant], rounds: int, seconds: float, log: Callable[[str], None]
) -> Iterator[Sample]:
    """Measure. Round 0 warms up for half the time and yields no sample. Raises `BenchmarkError`."""
    with LoadGenerator("benchmarks.load_generator", LoadResult) as generator:
        for number in range(rounds + 1):
            # paced streams take long, and the instant ones have warmed up the same code
            for load in WORKLOADS if number else WORKLOADS[:-1]:
                for variant in _order(variants, load, number):
                    spec = _spec(load, variant, seconds if number else seconds / 2)
                    result, cpu_s = generator.measure(asdict(spec), variant.cpu)
                    log(_progress(number, rounds, load, variant, result))
                    if load.paced:
                        time.sleep(SETTLE_S)
                    if number:
                        yield Sample(number, load.name, variant.name, result, cpu_s)


def _order(variants: Sequence[BenchmarkVariant], load: Workload, number: int) -> list[BenchmarkVariant]:
    """The variants in this round's order. The upstream is measured with one client only."""
    chosen = [variant for variant in variants if load is ONE or variant.name != UPSTREAM]
    first = number % len(chosen)
    return [*chosen[first:], *chosen[:first]]


def _spec(load: Workload, variant: BenchmarkVariant, seconds: float) -> LoadSpec:
    return LoadSpec(
        port=variant.port,
        key=variant.key,
        model=load.model,
        clients=load.clients,
        stream=load.stream,
        ramp_s=PACED_S if load.paced else RAMP_S,
        seconds=max(seconds, PACED_S) if load.paced else seconds,
        period_s=1 / PACE if load.paced else 0.0,
    )


def _progress(number: int, rounds: int, load: Workload, variant: BenchmarkVariant, result: LoadResult) -> str:
    when = f"round {number}/{rounds}" if number else "warming up"
    if load.stream:
        rate = f"{result.tokens / result.seconds:,.0f} tokens/s"
    else:
        rate = f"{result.requests / result.seconds:,.0f} requests/s"
    return f"{when}  {load.title:<30}  {variant.name:<16}  {rate}"
