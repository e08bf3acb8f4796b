"""The alternating run: each round puts each load on each variant in turn, beginning with another one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass

from benchmarks.generator_process import Generator
from benchmarks.load_messages import LOADS, ONE, PACE, TOKENS, Job, Load, Measured
from benchmarks.variants import UPSTREAM, Variant

RAMP_S = 0.3
SETTLE_S = 0.5
"""After streams were cut: their generations are cancelled meanwhile."""

PACED_S = TOKENS / PACE
"""A paced stream. A window of one more is enough: by its beginning all streams are under way."""


@dataclass(frozen=True)
class Sample:
    """One measurement: of this load at this variant in this round; `cpu_s` by part."""

    round: int
    load: str
    variant: str
    measured: Measured
    cpu_s: dict[str, float]


def run(
    variants: Sequence[Variant], rounds: int, seconds: float, say: Callable[[str], None]
) -> Iterator[Sample]:
    """Measure. Round 0 warms up, at half the time, and is not told. Raises `Broken`."""
    with Generator("benchmarks.load_generator", Measured) as generator:
        for number in range(rounds + 1):
            # paced streams take long and are warm from the instant ones
            for load in LOADS if number else LOADS[:-1]:
                for variant in _turn(variants, load, number):
                    job = _job(load, variant, seconds if number else seconds / 2)
                    measured, cpu_s = generator.measure(asdict(job), variant.cpu)
                    say(_line(number, rounds, load, variant, measured))
                    if load.paced:
                        time.sleep(SETTLE_S)
                    if number:
                        yield Sample(number, load.name, variant.name, measured, cpu_s)


def _turn(variants: Sequence[Variant], load: Load, number: int) -> list[Variant]:
    """Who is asked with this load, in this round's order. The upstream is asked directly by one client."""
    asked = [variant for variant in variants if load is ONE or variant.name != UPSTREAM]
    first = number % len(asked)
    return [*asked[first:], *asked[:first]]


def _job(load: Load, variant: Variant, seconds: float) -> Job:
    return Job(
        port=variant.port,
        key=variant.key,
        model=load.model,
        clients=load.clients,
        stream=load.stream,
        ramp_s=PACED_S if load.paced else RAMP_S,
        seconds=max(seconds, PACED_S) if load.paced else seconds,
        period_s=1 / PACE if load.paced else 0.0,
    )


def _line(number: int, rounds: int, load: Load, variant: Variant, measured: Measured) -> str:
    where = f"round {number}/{rounds}" if number else "warming up"
    if load.stream:
        what = f"{measured.tokens / measured.seconds:,.0f} tokens/s"
    else:
        what = f"{measured.requests / measured.seconds:,.0f} requests/s"
    return f"{where}  {load.title:<30}  {variant.name:<16}  {what}"
