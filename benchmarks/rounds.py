"""The alternating run: each round measures each workload at each variant, in a rotated order."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass

from benchmarks.generator_process import LoadGenerator
from benchmarks.load_messages import PACE, PROMPT, TOKENS, LoadResult, LoadSpec, Workload
from benchmarks.variants import CHAT, REDIS_COMMANDS, BenchmarkVariant

RAMP_S = 0.3
QUIET_SHARE = 0.1
QUIET_S = 0.2
SETTLE_S = 15.0
"""After each measurement the variant gets up to `SETTLE_S` to finish what it does (to cancel the generations
of cut streams, for example), until it uses less than `QUIET_SHARE` of a CPU for `QUIET_S`."""

PACED_S = TOKENS / PACE
"""The duration of a paced stream. A ramp and a window of this length suffice: all streams then run."""


@dataclass(frozen=True)
class Sample:
    """One measurement of one workload at one variant; `cpu_s` is the CPU time by part.

    `redis_commands` is None for variants without Redis.
    """

    round: int
    load: str
    variant: str
    result: LoadResult
    cpu_s: dict[str, float]
    redis_commands: float | None = None


def run(
    variants: Sequence[BenchmarkVariant],
    loads: Sequence[Workload],
    rounds: int,
    seconds: float,
    log: Callable[[str], None],
) -> Iterator[Sample]:
    """Measure. Round 0 warms up for half the time and yields no sample. Raises `BenchmarkError`."""
    with LoadGenerator("benchmarks.load_generator", LoadResult) as generator:
        for number in range(rounds + 1):
            for load in loads:
                for variant in _order(variants, load, number):
                    spec = _spec(load, variant, seconds if number else seconds / 2)
                    result, cpu_s = generator.measure(asdict(spec), variant)
                    commands = cpu_s.pop(REDIS_COMMANDS, None)
                    log(_progress(number, rounds, load, variant, result))
                    _wait_until_quiet(variant)
                    if number:
                        yield Sample(number, load.name, variant.name, result, cpu_s, commands)


def _order(variants: Sequence[BenchmarkVariant], load: Workload, number: int) -> list[BenchmarkVariant]:
    """The variants that are measured with this load, in this round's order."""
    chosen = [variant for variant in variants if variant.loads is None or load in variant.loads]
    first = number % len(chosen)
    return [*chosen[first:], *chosen[:first]]


def _wait_until_quiet(variant: BenchmarkVariant) -> None:
    deadline = time.monotonic() + SETTLE_S
    while time.monotonic() < deadline:
        before = sum(variant.cpu.read().values())
        time.sleep(QUIET_S)
        if sum(variant.cpu.read().values()) - before < QUIET_SHARE * QUIET_S:
            return


def request_body(variant: BenchmarkVariant, load: Workload) -> str:
    """The JSON of a request, in the format of the variant's path."""
    messages = f'"messages":[{{"role":"user","content":"{PROMPT}"}}]'
    prompt = messages if variant.path == CHAT else f'"input":"{PROMPT}"'
    return f'{{"model":"{load.model}","stream":{str(load.stream).lower()},{prompt}{variant.fields}}}'


def _spec(load: Workload, variant: BenchmarkVariant, seconds: float) -> LoadSpec:
    return LoadSpec(
        port=variant.port,
        key=variant.key,
        path=variant.path,
        body=request_body(variant, load),
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
    return f"{when}  {load.title:<30}  {variant.name:<22}  {rate}"
