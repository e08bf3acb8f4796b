"""The tables of the samples: medians over the rounds, and ratios within a round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.load_messages import BURST, MANY, ONE, PACE, PACED, Workload
from benchmarks.markdown import NONE, spread, table
from benchmarks.rounds import Sample
from benchmarks.samples import Samples, Value, cpu_us, per_second, requests, tokens
from benchmarks.variants import FLOWER, PARTS, PROXY, STOKER, UPSTREAM

VARIANTS = (UPSTREAM, PROXY, STOKER, FLOWER)
COMPARED = (STOKER, FLOWER)
NAMES = {"api": "API (proxy)", "engine": "engine (upstream)", "redis": "Redis", "flower": "Flower"}


@dataclass(frozen=True)
class ReportRow:
    """One row of the table. Ratios are to the proxy. The value of the variant `minus` is subtracted first."""

    title: str
    load: Workload
    value: Value
    form: str = "{:.2f}"
    minus: str | None = None
    ratio: bool = True

    def values(self, samples: Samples, variant: str) -> list[float]:
        """The value in each round."""
        values = samples.values(self.load, variant, self.value)
        if self.minus is None or not values:
            return values
        base = samples.values(self.load, self.minus, self.value)
        return [value - other for value, other in zip(values, base, strict=True)]

    def cells(self, samples: Samples, variants: Sequence[str]) -> list[str]:
        """Title, medians and ratios."""
        values = {variant: self.values(samples, variant) for variant in variants}
        if self.minus is not None:
            values[self.minus] = []
        shown = [self.form.format(median(found)) if found else NONE for found in values.values()]
        ratios = [self.ratios(samples, variant) if self.ratio else [] for variant in COMPARED]
        return [self.title, *shown, *map(spread, ratios)]

    def ratios(self, samples: Samples, variant: str) -> list[float]:
        """The ratio to the proxy's value in each round."""
        values, reference = self.values(samples, variant), self.values(samples, PROXY)
        if not values or not reference or min(reference) <= 0:
            return []
        return [value / base for value, base in zip(values, reference, strict=True)]


def _offered(sample: Sample) -> float:
    return sample.result.tokens / (PACED.clients * PACE * sample.result.seconds)


ADDED = ReportRow("1 client: **added p50 ms**", ONE, lambda s: s.result.latency_p50_ms, minus=UPSTREAM)
RATE = ReportRow("32 clients: **requests/s**", MANY, per_second(requests), "{:.0f}")
CPU = ReportRow("32 clients: **CPU us/request**", MANY, cpu_us(requests), "{:.0f}")
BURST_RATE = ReportRow("64 streams, instant: **tokens/s**", BURST, per_second(tokens), "{:.0f}")
DELIVERED = ReportRow("64 streams, paced: **delivered/offered**", PACED, _offered, "{:.3f}")
PACED_CPU = ReportRow("64 streams, paced: **CPU us/token**", PACED, cpu_us(tokens), "{:.0f}")
MAIN = (
    ReportRow("1 client: p50 ms", ONE, lambda s: s.result.latency_p50_ms),
    ReportRow("1 client: p95 ms", ONE, lambda s: s.result.latency_p95_ms),
    ADDED,
    ReportRow("1 client: added p95 ms", ONE, lambda s: s.result.latency_p95_ms, minus=UPSTREAM),
    RATE,
    ReportRow("32 clients: p50 ms", MANY, lambda s: s.result.latency_p50_ms, "{:.1f}"),
    ReportRow("32 clients: p95 ms", MANY, lambda s: s.result.latency_p95_ms, "{:.1f}"),
    CPU,
    BURST_RATE,
    ReportRow("64 streams, instant: CPU us/token", BURST, cpu_us(tokens), "{:.1f}"),
    DELIVERED,
    ReportRow("64 streams, paced: token delay p50 ms", PACED, lambda s: s.result.late_p50_ms),
    ReportRow("64 streams, paced: token delay p95 ms", PACED, lambda s: s.result.late_p95_ms),
    PACED_CPU,
)


@dataclass(frozen=True)
class Bar:
    """A regression limit with and without Flower: `minimum` or `maximum` of the ratio (or of the value)."""

    title: str
    row: ReportRow
    minimum: float = 0.0
    maximum: float = float("inf")
    ratio: bool = True

    def holds(self, samples: Samples) -> bool:
        """Whether the medians of all compared variants are within the bound."""
        return all(self.minimum <= self._median(samples, variant) <= self.maximum for variant in COMPARED)

    def cells(self, samples: Samples) -> list[str]:
        """Title, bound, medians, and whether the bar holds."""
        bound = f"at least {self.minimum}" if self.minimum else f"at most {self.maximum}"
        medians = [f"{self._median(samples, variant):.2f}" for variant in COMPARED]
        return [self.title, bound, *medians, "yes" if self.holds(samples) else "**no**"]

    def _median(self, samples: Samples, variant: str) -> float:
        values = self.row.ratios(samples, variant) if self.ratio else self.row.values(samples, variant)
        return median(values) if values else float("nan")


BARS = (
    Bar("added p50 at 1 client / proxy's", ADDED, maximum=6.0),
    Bar("requests/s at 32 clients / proxy's", RATE, minimum=0.6),
    Bar("CPU per request / proxy's", CPU, maximum=2.0),
    Bar("tokens/s of 64 instant streams / proxy's", BURST_RATE, minimum=1.0),
    Bar("CPU per paced token / proxy's", PACED_CPU, maximum=1.7),
    Bar("delivered / offered, paced", DELIVERED, minimum=0.95, ratio=False),
)
"""Valid for the proxy with `http.client`. They have a margin of 1.5 to the measured ratios."""


def _part_rows() -> list[ReportRow]:
    rows = []
    for load, count, form in (
        (MANY, requests, "{:.0f}"),
        (BURST, tokens, "{:.1f}"),
        (PACED, tokens, "{:.1f}"),
    ):
        unit = "request" if count is requests else "token"
        for part in PARTS:
            title = f"{load.title}: {NAMES.get(part, part)}, us/{unit}"
            rows.append(ReportRow(title, load, cpu_us(count, part), form, ratio=False))
    return rows


def tables(samples: Samples) -> str:
    """Two Markdown tables: the results, and the CPU time by process."""
    ratios = [f"{name} / proxy" for name in COMPARED]
    main = [["", *VARIANTS, *ratios], *(row.cells(samples, VARIANTS) for row in MAIN)]
    shown = VARIANTS[1:]
    parts = [
        ["CPU by process", *shown],
        *(row.cells(samples, shown)[: len(shown) + 1] for row in _part_rows()),
    ]
    return f"{table(main)}\n\n{table(parts)}"


def bars(samples: Samples) -> str:
    """A Markdown table of the bars and the measured values."""
    return table([["bar", "bound", *COMPARED, "holds"], *(bar.cells(samples) for bar in BARS)])


def missed_bars(samples: Samples) -> list[str]:
    """The titles of the bars that do not hold."""
    return [bar.title for bar in BARS if not bar.holds(samples)]
