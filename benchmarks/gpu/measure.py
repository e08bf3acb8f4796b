"""Measures one engine with one model at several numbers of streams, through the platform and directly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from benchmarks.engines.load_messages import EngineLoadResult, EngineLoadSpec
from benchmarks.engines.pairs import (
    DIRECT,
    LLAMA_CPP,
    LLAMA_SERVER,
    PAIRS,
    VLLM,
    BenchmarkModel,
    Setup,
    Side,
    start_engine_platform,
)
from benchmarks.generator_process import LoadGenerator

EXLLAMAV3 = "exllamav3"
ENGINES = (LLAMA_SERVER, LLAMA_CPP, VLLM, EXLLAMAV3)
WARM_TEMPERATURE = 0.8
"""The highest number of streams is measured at this temperature, too: an engine may sample on the CPU."""

PROMPT = "The weights of this model are random numbers. " * 5
"""The model's tokens are bytes: this has 230 of them."""

ANSWERS = 2


@dataclass(frozen=True)
class Case:
    """What one table row measures: a model, a number of streams, a temperature."""

    model: str
    streams: int
    temperature: float


@dataclass(frozen=True)
class GpuSample:
    """One measurement of a case at one side of an engine; `cpu_s` is the CPU time by part."""

    case: Case
    engine: str
    side: str
    round: int
    result: EngineLoadResult
    cpu_s: dict[str, float]


def cases(model: str, streams: Sequence[int]) -> list[Case]:
    """The cases of a model."""
    return [*(Case(model, count, 0.0) for count in streams), Case(model, max(streams), WARM_TEMPERATURE)]


def sides_of(engine: str, model: BenchmarkModel, setup: Setup) -> Sequence[Side]:
    """Start an engine, and return the servers to measure. Raises `BenchmarkError`."""
    if engine in PAIRS:
        return PAIRS[engine](setup, model).sides
    if engine == LLAMA_CPP:
        definition = {"model_path": str(model.gguf), **setup.llama_options("gguf")}
    else:
        definition = {"model_path": str(model.folder), "exllama_cache_size": setup.slots * setup.context}
    return [start_engine_platform(setup, model, {"backend": engine, **definition})[1]]


def run(
    engine: str, model: BenchmarkModel, streams: Sequence[int], rounds: int, setup: Setup
) -> Iterator[GpuSample]:
    """Measure each case at each side, in turn. Round 0 warms up. Raises `BenchmarkError`."""
    sides = sides_of(engine, model, setup)
    with LoadGenerator("benchmarks.engines.load_generator", EngineLoadResult) as generator:
        for number in range(rounds + 1):
            for index, case in enumerate(cases(model.name, streams)):
                for side in sides[:: -1 if (number + index) % 2 else 1]:
                    spec = EngineLoadSpec(
                        side.port,
                        side.key,
                        model.name,
                        case.streams,
                        ANSWERS if number else 1,
                        PROMPT,
                        expected_start="",  # random weights write random words
                        temperature=case.temperature,
                    )
                    result, cpu_s = generator.measure(asdict(spec), side.cpu)
                    speed = f"{result.tokens / result.seconds:,.0f} tokens/s"
                    setup.log(f"round {number}  {engine} {side.name}, {title(case)}: {speed}")
                    if number:
                        yield GpuSample(case, engine, side.name, number, result, cpu_s)


def title(case: Case) -> str:
    """The case in a few words."""
    warm = f", temperature {case.temperature}" if case.temperature else ""
    return f"{case.model}, {case.streams} stream{'s' * (case.streams > 1)}{warm}"


def is_direct(sample: GpuSample) -> bool:
    """Whether the engine was called without the platform."""
    return sample.side == DIRECT
