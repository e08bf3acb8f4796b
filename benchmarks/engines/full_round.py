"""The speed of some streams before and after a round in which every slot ran one.

llama.cpp computes neighbouring slots in one pass over the weights, and others in passes of their own. After a
full round every slot holds a conversation, so the next streams could be scattered over the slots.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import median
from typing import Any

from benchmarks.engines.load_messages import EngineLoadResult, EngineLoadSpec
from benchmarks.engines.pairs import SLOTS, BenchmarkModel, Setup, Side, start_engine_platform
from benchmarks.generator_process import LoadGenerator
from benchmarks.markdown import spread, table
from benchmarks.processes import running

ENGINES = {"llama_cpp": "gguf", "llama_server": "llama_server"}
"""The engines that are measured, and the prefix of their options."""

CLIENTS = SLOTS // 2 - 4
MIN_RATIO = 0.95
"""The bar: tokens/s after the full round as a share of those before it."""


@dataclass(frozen=True)
class FullRoundSample:
    """Tokens per second of `CLIENTS` streams on a freshly loaded model, and after a full round."""

    engine: str
    round: int
    before: float
    after: float


def run(engine: str, model: BenchmarkModel, rounds: int, setup: Setup) -> Iterator[FullRoundSample]:
    """Measure, each round on a freshly loaded model. Raises `BenchmarkError`."""
    prefix = ENGINES[engine]
    definition: dict[str, Any] = {"backend": engine, "model_path": str(model.gguf)}
    definition |= setup.llama_options(prefix)
    for number in range(1, rounds + 1):
        folder = setup.folder / f"{engine}-{number}"
        folder.mkdir()
        with running(setup.log) as processes:
            own = replace(setup, processes=processes, folder=folder)
            before, after = _measure(start_engine_platform(own, model, definition)[1], model)
        setup.log(f"round {number}      {engine}: {before:,.0f} tokens/s, then {after:,.0f}")
        yield FullRoundSample(engine, number, before, after)


def _measure(side: Side, model: BenchmarkModel) -> tuple[float, float]:
    """The tokens per second of `CLIENTS` streams, before and after a full round."""
    with LoadGenerator("benchmarks.engines.load_generator", EngineLoadResult) as generator:

        def tokens_per_s(clients: int, answers: int) -> float:
            spec = EngineLoadSpec(side.port, side.key, model.name, clients, answers)
            result, _ = generator.measure(asdict(spec), side.cpu)
            return result.tokens / result.seconds

        tokens_per_s(CLIENTS, 1)  # a warm-up
        before = tokens_per_s(CLIENTS, 2)
        tokens_per_s(SLOTS, 1)
        return before, tokens_per_s(CLIENTS, 2)


def bars(samples: Sequence[FullRoundSample]) -> str:
    """A Markdown table of the bar and the measured ratios."""
    rows = [
        [f"{CLIENTS} streams on {SLOTS} slots", "before: tokens/s", "after", "**after / before**", "holds"]
    ]
    for engine in dict.fromkeys(sample.engine for sample in samples):
        found = [sample for sample in samples if sample.engine == engine]
        ratios = [sample.after / sample.before for sample in found]
        before, after = (median(getattr(one, name) for one in found) for name in ("before", "after"))
        holds = "yes" if median(ratios) >= MIN_RATIO else "**no**"
        rows.append([engine, f"{before:,.0f}", f"{after:,.0f}", spread(ratios), holds])
    return table(rows)
