"""The tables of the comparison: what each variant costs, its ratios to two peers, and the bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.load_messages import LONE, MANY, ONE, PACED, Workload
from benchmarks.markdown import NONE, spread, table
from benchmarks.peers.environments import LITELLM, SMG
from benchmarks.peers.variants import REMOTE, STUB
from benchmarks.rounds import Sample
from benchmarks.samples import Samples, Value, cpu_us, per_second, requests, tokens

LOADS = (ONE, MANY, LONE, PACED)


def _redis_commands(sample: Sample) -> float | None:
    return None if sample.redis_commands is None else sample.redis_commands / max(1, requests(sample))


@dataclass(frozen=True)
class PeerRow:
    """One measured value of all variants."""

    title: str
    load: Workload
    value: Value
    form: str = "{:,.2f}"

    def values(self, samples: Samples, variant: str) -> list[float]:
        """The value in each round; [] if the variant does not have it."""
        return samples.values(self.load, variant, self.value)

    def ratios(self, samples: Samples, variant: str, reference: str) -> list[float]:
        """The ratio to the value of `reference` in each round."""
        bases = self.values(samples, reference)
        if not bases or min(bases) <= 0:
            return []
        return [value / base for value, base in zip(self.values(samples, variant), bases, strict=False)]

    def cell(self, samples: Samples, variant: str) -> str:
        """The median, and the range."""
        return spread(self.values(samples, variant), self.form)


CPU = PeerRow("CPU us per request, 32 clients", MANY, cpu_us(requests), "{:,.0f}")
LATENCY = PeerRow("p50 ms, 1 client", ONE, lambda sample: sample.result.latency_p50_ms)
RATE = PeerRow("requests/s, 32 clients", MANY, per_second(requests), "{:,.0f}")
PACED_CPU = PeerRow("CPU us per token, 64 streams of 50/s", PACED, cpu_us(tokens), "{:,.0f}")
LONE_CPU = PeerRow("CPU us per token, 1 stream of 50/s", LONE, cpu_us(tokens), "{:,.0f}")
DELAY = PeerRow("token delay p95 ms, 64 streams of 50/s", PACED, lambda sample: sample.result.late_p95_ms)
REDIS = PeerRow("Redis commands per request, 1 client", ONE, _redis_commands, "{:.1f}")
ROWS = (CPU, LATENCY, RATE, PACED_CPU, LONE_CPU, DELAY, REDIS)


@dataclass(frozen=True)
class PeerBar:
    """A bound on the median of a row's values for a variant, or of its ratios to the peer `reference`."""

    row: PeerRow
    variant: str
    maximum: float = float("inf")
    minimum: float = 0.0
    reference: str | None = None

    @property
    def title(self) -> str:
        """The variant and the row."""
        return f"{self.variant}: {self.row.title}"

    def measured(self, samples: Samples) -> float | None:
        """The median; None if the variant or the peer was not measured."""
        if self.reference is None:
            values = self.row.values(samples, self.variant)
        else:
            values = self.row.ratios(samples, self.variant, self.reference)
        return median(values) if values else None

    def holds(self, samples: Samples) -> bool:
        """Whether the bar holds, or was not measured."""
        measured = self.measured(samples)
        return measured is None or self.minimum <= measured <= self.maximum

    def cells(self, samples: Samples) -> list[str]:
        """Title, bound, measured value, and whether the bar holds."""
        of = "" if self.reference is None else f" x {self.reference}"
        bound = f"at least {self.minimum:g}{of}" if self.minimum else f"at most {self.maximum:g}{of}"
        measured = self.measured(samples)
        if measured is None:
            return [self.title, bound, NONE, "not measured"]
        return [self.title, bound, f"{measured:.3g}{of}", "yes" if self.holds(samples) else "**no**"]


BARS = (
    PeerBar(CPU, STUB, maximum=1 / 8, reference=LITELLM),
    PeerBar(CPU, REMOTE, maximum=1 / 6, reference=LITELLM),
    *(PeerBar(LATENCY, variant, maximum=1 / 8, reference=LITELLM) for variant in (STUB, REMOTE)),
    *(PeerBar(RATE, variant, minimum=15, reference=LITELLM) for variant in (STUB, REMOTE)),
    PeerBar(PACED_CPU, STUB, maximum=60),
    PeerBar(PACED_CPU, REMOTE, maximum=100),
    *(PeerBar(LONE_CPU, variant, maximum=500) for variant in (STUB, REMOTE)),
    *(PeerBar(DELAY, variant, maximum=4) for variant in (STUB, REMOTE)),
    *(PeerBar(REDIS, variant, maximum=40) for variant in (STUB, REMOTE)),
)


def values_table(samples: Samples, variants: Sequence[str]) -> str:
    """The median and the range of each row."""
    rows = ([row.title, *(row.cell(samples, variant) for variant in variants)] for row in ROWS)
    return table([["", *variants], *rows])


def ratios_table(samples: Samples, variants: Sequence[str]) -> str:
    """The platform's ratios to LiteLLM and to SMG: medians and ranges of the ratios within each round."""
    pairs = [
        (variant, peer)
        for peer in (LITELLM, SMG)
        for variant in (STUB, REMOTE)
        if {variant, peer} <= {*variants}
    ]
    rows = [
        [row.title, *(spread(row.ratios(samples, variant, peer), "{:.3g}") for variant, peer in pairs)]
        for row in ROWS
        if row is not REDIS
    ]
    return table([["", *(f"{variant} / {peer}" for variant, peer in pairs)], *rows])


def bars_table(samples: Samples) -> str:
    """The bars, with the measured values."""
    return table([["bar", "bound", "measured", "holds"], *(bar.cells(samples) for bar in BARS)])


def missed_bars(samples: Samples) -> list[str]:
    """The titles of the bars that do not hold."""
    return [bar.title for bar in BARS if not bar.holds(samples)]


def parts_table(samples: Samples, parts: Sequence[str]) -> str:
    """The CPU time of the platform's parts."""
    rows = []
    for load, count in ((MANY, requests), (PACED, tokens), (LONE, tokens)):
        unit = "request" if count is requests else "token"
        for part in parts:
            row = PeerRow(f"{load.title}: {part}, us/{unit}", load, cpu_us(count, part), "{:,.0f}")
            rows.append([row.title, *(row.cell(samples, variant) for variant in (STUB, REMOTE))])
    return table([["CPU by part", STUB, REMOTE], *rows])
