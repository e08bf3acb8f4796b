"""The tables of the GPU benchmark, and its bars."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import median

from benchmarks.engines.pairs import DIRECT, LLAMA_CPP, LLAMA_SERVER, PLATFORM
from benchmarks.gpu.measure import Case, GpuSample, is_direct, title
from benchmarks.markdown import NONE, table

PLATFORM_PARTS = ("api", "worker", "redis")
MIN_SHARE = 0.95
"""The bar: tokens/s through the platform as a share of those of the engine called directly."""

MIN_LEAD = 1.0
"""The bar: tokens/s of `llama_cpp` as a multiple of those of llama-server called directly."""

Value = Callable[[GpuSample], float]


def tokens_per_s(sample: GpuSample) -> float:
    """Tokens per second."""
    return sample.result.tokens / sample.result.seconds


def first_ms(sample: GpuSample) -> float:
    """The median time to the first token, in milliseconds."""
    return sample.result.first_p50_ms


def platform_cpu_us(sample: GpuSample) -> float:
    """CPU microseconds of the platform's own processes per token."""
    return sum(sample.cpu_s.get(part, 0.0) for part in PLATFORM_PARTS) * 1e6 / sample.result.tokens


def sides(samples: Iterable[GpuSample]) -> list[tuple[str, str]]:
    """Engines and their measured sides, in the order of the measurements."""
    return list(dict.fromkeys((sample.engine, sample.side) for sample in samples))


def value_table(samples: Sequence[GpuSample], subject: str, value: Value, *, direct: bool = True) -> str:
    """A Markdown table of the medians of a value: a row for each case, a column for each engine and side."""
    kept = [sample for sample in samples if direct or not is_direct(sample)]
    columns = sides(kept)
    rows = [[subject, *(f"{engine}, {side}" for engine, side in columns)]]
    for case in dict.fromkeys(sample.case for sample in kept):
        rows.append([title(case), *(_median(kept, case, *column, value) for column in columns)])
    return table(rows)


def ratios(samples: Sequence[GpuSample], case: Case) -> dict[str, float]:
    """What the bars of a case hold: the platform's share for each engine, and the lead of `llama_cpp`."""
    speeds = {
        column: [tokens_per_s(one) for one in samples if (one.case, one.engine, one.side) == (case, *column)]
        for column in sides(samples)
    }
    middle = {column: median(values) for column, values in speeds.items() if values}
    found = {
        engine: middle[engine, PLATFORM] / speed
        for (engine, side), speed in middle.items()
        if side == DIRECT and (engine, PLATFORM) in middle
    }
    own, other = middle.get((LLAMA_CPP, PLATFORM)), middle.get((LLAMA_SERVER, DIRECT))
    if own is not None and other is not None:
        found[f"{LLAMA_CPP} / {LLAMA_SERVER} direct"] = own / other
    return found


def missed(samples: Sequence[GpuSample]) -> list[str]:
    """The bars that do not hold."""
    return [
        f"{title(case)}: {name}: {ratio:.2f} of at least {bound}"
        for case in dict.fromkeys(sample.case for sample in samples)
        for name, ratio in ratios(samples, case).items()
        if ratio < (bound := MIN_LEAD if " / " in name else MIN_SHARE)
    ]


def ratio_table(samples: Sequence[GpuSample]) -> str:
    """A Markdown table of the ratios; empty if there are none."""
    by_case = {case: ratios(samples, case) for case in dict.fromkeys(sample.case for sample in samples)}
    names = list(dict.fromkeys(name for found in by_case.values() for name in found))
    if not names:
        return ""
    rows = [
        ["ratio of tokens/s", *(name if " / " in name else f"{name}: platform / direct" for name in names)]
    ]
    for case, found in by_case.items():
        rows.append([title(case), *(f"{found[name]:.2f}" if name in found else NONE for name in names)])
    return table(rows)


def tables(samples: Sequence[GpuSample]) -> str:
    """All tables."""
    parts = [
        value_table(samples, "tokens/s", tokens_per_s),
        value_table(samples, "first token, ms", first_ms),
        value_table(samples, "CPU of the platform, us/token", platform_cpu_us, direct=False),
        ratio_table(samples),
    ]
    return "\n\n".join(part for part in parts if part)


def _median(samples: Sequence[GpuSample], case: Case, engine: str, side: str, value: Value) -> str:
    values = [value(one) for one in samples if (one.case, one.engine, one.side) == (case, engine, side)]
    return f"{median(values):,.0f}" if values else NONE
