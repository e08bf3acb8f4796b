"""From samples to the tables: medians over rounds, ratios of the same round's pair."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import median

from benchmarks.engines.load_messages import CLIENTS
from benchmarks.engines.pair import DIRECT, PLATFORM, Model
from benchmarks.engines.rounds import Sample
from benchmarks.markdown import NONE, spread, table

LEAST = 0.95
"""Of the tokens/s that an engine has when it is asked directly, at each number of clients."""

PARTS = {"api": "API", "worker": "worker", "redis": "Redis", "engine": "engine"}
Value = Callable[[Sample], float]


class Samples:
    """The samples of one engine with one model."""

    def __init__(self, samples: Iterable[Sample], engine: str, model: str) -> None:
        self._samples = [one for one in samples if (one.engine, one.model) == (engine, model)]

    def values(self, clients: int, side: str, value: Value) -> list[float]:
        """The value in each round."""
        return [value(one) for one in self._samples if (one.clients, one.side) == (clients, side)]

    def ratios(self, clients: int) -> list[float]:
        """The platform's tokens/s of those asked directly, in each round."""
        through, direct = (self.values(clients, side, tokens_per_s) for side in (PLATFORM, DIRECT))
        return [one / other for one, other in zip(through, direct, strict=True)]


def tokens_per_s(sample: Sample) -> float:
    """How many came, by the time it took."""
    return sample.measured.tokens / sample.measured.seconds


def first_ms(sample: Sample) -> float:
    """How long the first words took."""
    return sample.measured.first_p50_ms


def cpu_us(part: str) -> Value:
    """CPU microseconds of a part for each token."""
    return lambda sample: sample.cpu_s.get(part, 0.0) * 1e6 / sample.measured.tokens


def speeds(samples: Sequence[Sample], engines: Sequence[str], models: Sequence[Model]) -> str:
    """How much of an engine's speed is left, in Markdown."""
    head = ["", "clients", "direct: tokens/s", "platform: tokens/s", "**platform / direct**"]
    rows = [[*head, "direct: first token ms", "platform: first token ms"]]
    for engine in engines:
        for model in models:
            found = Samples(samples, engine, model.name)
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


def shares(samples: Sequence[Sample], engines: Sequence[str], models: Sequence[Model]) -> str:
    """Whose CPU a token took, in Markdown."""
    rows = [["CPU us/token", "clients", *PARTS.values(), "asked directly"]]
    for engine in engines:
        for model in models:
            found = Samples(samples, engine, model.name)
            for clients in CLIENTS:
                cells = [_median(found.values(clients, PLATFORM, cpu_us(part))) for part in PARTS]
                direct = _median(found.values(clients, DIRECT, cpu_us("engine")))
                rows.append([f"{engine}, {model.title}", str(clients), *cells, direct])
    return table(rows)


def bars(samples: Sequence[Sample], engines: Sequence[str], models: Sequence[Model]) -> str:
    """The bars and how far off they are, in Markdown."""
    rows = [["bar: platform / direct", "bound", *(f"{clients} clients" for clients in CLIENTS), "holds"]]
    for engine in engines:
        for model in models:
            if model.barred:
                found = Samples(samples, engine, model.name)
                medians = [median(found.ratios(clients)) for clients in CLIENTS]
                holds = "yes" if min(medians) >= LEAST else "**no**"
                rows.append([f"{engine}, {model.title}", f"at least {LEAST}", *map(_ratio, medians), holds])
    return table(rows)


def _median(values: Sequence[float]) -> str:
    return f"{median(values):,.0f}" if values else NONE


def _ratio(value: float) -> str:
    return f"{value:.2f}"
