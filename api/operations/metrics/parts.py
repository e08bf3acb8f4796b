"""The parts of a sample: the rates of each model and of each tenant.

They are stored beside the samples, and read only for the charts of one model or tenant. The busiest
`MOST_PARTS` of each kind have a part; one that is idle has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

import orjson

from api.operations.metrics.collector import PlatformState
from api.operations.metrics.sample import Bounds, Rates, mean_of, rates_of
from api.operations.metrics.totals import Counted, Growth

MOST_PARTS = 50

Kind = Literal["model", "tenant"]
Numbers = tuple[str, ...]

RATES: Numbers = tuple(one.name for one in fields(Rates))
FIELDS: Numbers = ("running", "waiting", *RATES)
"""The values of a part, in the order in which they are stored."""
UNKNOWN: Mapping[Kind, frozenset[str]] = {
    "model": frozenset({"refusals_429", "refusals_503"}),
    "tenant": frozenset({"running", "waiting", *(name for name in RATES if name.endswith("_ms"))}),
}
"""What is not counted by model, and by tenant."""
IDLE: Mapping[str, Any] = asdict(rates_of(Counted(), 1.0, {})) | {"running": 0, "waiting": 0}
AFTER_A_GAP: Mapping[str, Any] = asdict(Rates()) | {"running": None, "waiting": None}


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts at a sample, by name. None: the sample follows a gap."""

    at: float
    model: Mapping[str, Sequence[Any]] | None = None
    tenant: Mapping[str, Sequence[Any]] | None = None

    def to_json(self) -> bytes:
        """Encode for Redis."""
        return orjson.dumps(self)


def make_parts(state: PlatformState, at: float, grown: Growth | None) -> Parts:
    """The parts of the sample of a time; `grown` as in `make_sample`."""
    if grown is None:
        return Parts(at)
    bounds = state.counters.bounds
    present = {row.name: (row.inflight, row.queue_depth) for row in state.models}
    models = {**dict.fromkeys(present, Counted()), **grown.models}
    return Parts(
        at,
        {
            name: _values(models[name], grown.seconds, bounds, present.get(name, (0, 0)))
            for name in _busiest(models, present)
        },
        {
            name: _values(grown.tenants[name], grown.seconds, bounds, (0, 0))
            for name in _busiest(grown.tenants, {})
        },
    )


def _busiest(grown: Mapping[str, Counted], present: Mapping[str, tuple[int, int]]) -> list[str]:
    """The names of the busiest ones, which are not idle."""
    busy = [name for name, one in grown.items() if _is_busy(one) or any(present.get(name, ()))]
    busy.sort(key=lambda name: (-grown[name].processed_output, -grown[name].ended, name))
    return busy[:MOST_PARTS]


def _is_busy(one: Counted) -> bool:
    return bool(one.ended or one.errors or one.processed_input or one.processed_output)


def _values(grown: Counted, seconds: float, bounds: Bounds, present: tuple[int, int]) -> list[Any]:
    rates = asdict(rates_of(grown, seconds, bounds))
    return [*present, *(rates[name] for name in RATES)]


def mean_parts(parts: Parts, covered: Sequence[Mapping[str, Any]]) -> Parts:
    """The parts with the means of the running and waiting requests of the models at the covered samples."""
    if parts.model is None or not covered:
        return parts
    models = {}
    for name, values in parts.model.items():
        held = [part_of(one, "model", name) for one in covered]
        means = [round(mean_of(held, field), 1) for field in ("running", "waiting")]
        models[name] = [*means, *values[len(means) :]]
    return Parts(parts.at, models, parts.tenant)


def part_of(stored: Mapping[str, Any], kind: Kind, name: str) -> dict[str, Any]:
    """The values of a model or tenant in stored parts (the object of `Parts.to_json`)."""
    parts = stored.get(kind)
    if parts is None:
        found = dict(AFTER_A_GAP)
    elif name in parts:
        found = {**IDLE, **dict(zip(FIELDS, parts[name], strict=False))}
    else:
        found = dict(IDLE if len(parts) < MOST_PARTS else AFTER_A_GAP)
    return found | dict.fromkeys(UNKNOWN[kind])
