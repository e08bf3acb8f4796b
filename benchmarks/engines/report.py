"""The tables of the samples: medians over the rounds, and ratios within a round."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import median

from benchmarks.engines.load_messages import CLIENTS
from benchmarks.engines.pairs import DIRECT, PLATFORM, BenchmarkModel
from benchmarks.engines.rounds import EngineSample
from benchmarks.markdown import NONE, spread, table

MIN_RATIO = 0.95
"""The bar: the platform's tokens/s as a share of the engine's own, at each number of clients."""

PARTS = {"api": "API", "worker": "worker", "redis": "Redis", "engine": "engine"}
Value = Callable[[EngineSample], float]


class EngineSamples:
    """The samples of one engine with one model."""

    def __init__(self, samples: Iterable[EngineSample], engine: str, model: str) -> None:
        self._samples = [one for one in samples if (one.engine, one.model) == (engine, model)]

    def values(self, clients: int, side: str, value: Value) -> list[float]:
        """The value in each round."""
        return [value(one) for one in self._samples if (one.clients, one.side) == (clients, side)]

    def ratios(self, clients: int) -> list[float]:
        """The platform's tokens/s divided by the engine's own, in each round."""
        through, direct = (self.values(clients, side, tokens_per_s) for side in (PLATFORM, DIRECT))
        return [one / other for one, other in zip(through, direct, strict=True)]


def tokens_per_s(sample: EngineSample) -> float:
    """Tokens per second."""
    return sample.result.tokens / sample.result.seconds


def first_ms(sample: EngineSample) -> float:
    """The median time to the first token, in milliseconds."""
    return sample.result.first_p50_ms


def cpu_us(part: str) -> Value:
    """CPU microseconds of a part per token."""
    return lambda sample: sample.cpu_s.get(part, 0.0) * 1e6 / sample.result.tokens


def speed_table(
    samples: Sequence[EngineSample], engines: Sequence[str], models: Sequence[BenchmarkModel]
) -> str:
    """A Markdown table of the speed of each engine, directly and behind the platform."""
    head = ["", "clients", "direct: tokens/s", "platform: tokens/s", "**platform / direct**"]
    rows = [[*head, "direct: first token ms", "platform: first token ms"]]
    for engine in engines:
        for model in models:
            found = EngineSamples(samples, engine, model.name)
            for clients in CLIENTS:
                rows.append(
                    [
                        f"{engine}, {model.title}",
                        str(clients),
                        *(_median(found.values(clients, side, tokens_per_s)) for side in (DIRECT, PLATFORM)),
                        spread(found.ratios(clients)),
                        *(_median(found.values(clients, side, first_ms)) for side in (DIRECT, PLATFORM)),
                    ]
                )
    return table(rows)


def cpu_table(
    samples: Sequence[EngineSample], engines: Sequence[str], models: Sequence[BenchmarkModel]
) -> str:
    """A Markdown table of the CPU time per token, by part."""
    rows = [["CPU us/token", "clients", *PARTS.values(), "called directly"]]
    for engine in engines:
        for model in models:
            found = EngineSamples(samples, engine, model.name)
            for clients in CLIENTS:
                cells = [_median(found.values(clients, PLATFORM, cpu_us(part))) for part in PARTS]
                direct = _median(found.values(clients, DIRECT, cpu_us("engine")))
                rows.append([f"{engine}, {model.title}", str(clients), *cells, direct])
    return table(rows)


def bars(samples: Sequence[EngineSample], engines: Sequence[str], models: Sequence[BenchmarkModel]) -> str:
    """A Markdown table of the bars and the measured ratios."""
    rows = [["bar: platform / direct", "bound", *(f"{clients} clients" for clients in CLIENTS), "holds"]]
    for engine in engines:
        for model in models:
            if model.has_bar:
                found = EngineSamples(samples, engine, model.name)
                medians = [median(found.ratios(clients)) for clients in CLIENTS]
                holds = "yes" if min(medians) >= MIN_RATIO else "**no**"
                rows.append(
                    [f"{engine}, {model.title}", f"at least {MIN_RATIO}", *map(_ratio, medians), holds]
                )
    return table(rows)


def _median(values: Sequence[float]) -> str:
    return f"{median(values):,.0f}" if values else NONE


def _ratio(value: float) -> str:
    return f"{value:.2f}"
