"""The parts of a sample: the rates of each model and of each tenant.

They are stored beside the samples, and read only for the charts of one model or tenant. The busiest
`MOST_PARTS` of each kind have a part; one that is idle, and a model without memory, has none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from operator import itemgetter
from typing import Any, Literal

import orjson

from api.operations.metrics.collector import OTHER, PlatformState
from api.operations.metrics.sample import Bounds, Rates, means_of, rates_of, utilization
from api.operations.metrics.totals import Counted, Growth

MOST_PARTS = 50

Kind = Literal["model", "tenant"]
Numbers = tuple[str, ...]

RATES: Numbers = tuple(one.name for one in fields(Rates))
FIELDS: Numbers = ("running", "waiting", *RATES, "memory_used_mib", "gpu_utilization")
"""The values of a part, in the order in which they are stored."""
UNKNOWN: Mapping[Kind, frozenset[str]] = {
    "model": frozenset({"refusals_429", "refusals_503"}),
    "tenant": frozenset({"memory_used_mib", "gpu_utilization"}),
}
"""What is not counted by model, and by tenant."""
VERSION = 2
LATER: Mapping[Kind, frozenset[str]] = {
    "model": frozenset({"memory_used_mib", "gpu_utilization"}),
    "tenant": frozenset({"running", "waiting", *(name for name in RATES if name.endswith("_ms"))}),
}
"""What the parts of an earlier version lack."""
NOTHING: dict[str, Any] = {"running": 0, "waiting": 0, "memory_used_mib": 0, "gpu_utilization": None}
IDLE: Mapping[str, Any] = asdict(rates_of(Counted(), 1.0, {})) | NOTHING
AFTER_A_GAP: Mapping[str, Any] = asdict(Rates()) | dict.fromkeys(NOTHING)
Jobs = Mapping[str, tuple[int, int]]
"""How many jobs of each tenant run and wait."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts at a sample, by name. None: the sample follows a gap."""

    at: float
    model: Mapping[str, Sequence[Any]] | None = None
    tenant: Mapping[str, Sequence[Any]] | None = None
    version: int = VERSION

    def to_json(self) -> bytes:
        """Encode for Redis."""
        return orjson.dumps(self)


def make_parts(state: PlatformState, jobs: Jobs, at: float, grown: Growth | None) -> Parts:
    """The parts of the sample of a time; `jobs` are those of the tenants, `grown` as in `make_sample`."""
    if grown is None:
        return Parts(at)
    tenants = {name: dict(zip(("running", "waiting"), counts, strict=True)) for name, counts in jobs.items()}
    bounds = state.counters.bounds
    return Parts(
        at,
        _busiest(grown.models, _present_models(state), grown.seconds, bounds),
        _busiest(grown.tenants, tenants, grown.seconds, bounds, no_own_counters=OTHER in grown.tenants),
    )


def _present_models(state: PlatformState) -> dict[str, dict[str, Any]]:
    """What holds of each model. `memory_used_mib`: what its loads took, as far as it was measured."""
    measured: defaultdict[str, list[int | None]] = defaultdict(list)
    for engine in state.engines:
        measured[engine.model].append(engine.memory_mib)
    present = {}
    for row in state.models:
        engines = measured[row.name]
        known = [mib for mib in engines if mib is not None]
        hosts = [worker for worker in state.workers if worker.name in row.workers]
        present[row.name] = {
            "running": row.inflight,
            "waiting": row.queue_depth,
            "memory_used_mib": sum(known) if known or not engines else None,
            "gpu_utilization": utilization(hosts),
        }
    return present


def _busiest(
    grown: Mapping[str, Counted],
    present: Mapping[str, Mapping[str, Any]],
    seconds: float,
    bounds: Bounds,
    *,
    no_own_counters: bool = False,
) -> dict[str, list[Any]]:
    """The values of the busiest ones, by name, which are not idle.

    `no_own_counters`: what is not in `grown` may have been counted with others, so its rates are not known.
    """
    found = {}
    for name in grown.keys() | present.keys():
        one, holds = grown.get(name, Counted()), present.get(name, {})
        if _is_busy(one) or any(holds.values()):
            found[name] = (-one.processed_output, -one.ended, name), one, holds
    parts = {}
    for (*_, name), one, holds in sorted(found.values(), key=itemgetter(0))[:MOST_PARTS]:
        is_counted = name in grown or not no_own_counters
        rates = rates_of(one, seconds, bounds) if is_counted else Rates()
        values = {**NOTHING, **holds, **asdict(rates)}
        parts[name] = [values[field] for field in FIELDS]
    return parts


def _is_busy(one: Counted) -> bool:
    return bool(one.ended or one.errors or one.processed_input or one.processed_output)


def mean_parts(parts: Parts, covered: Sequence[Mapping[str, Any]]) -> Parts:
    """The parts with the means of what held at the covered samples."""
    if not covered:
        return parts
    return Parts(
        parts.at, _with_means(parts.model, "model", covered), _with_means(parts.tenant, "tenant", covered)
    )


def _with_means(
    parts: Mapping[str, Sequence[Any]] | None, kind: Kind, covered: Sequence[Mapping[str, Any]]
) -> Mapping[str, Sequence[Any]] | None:
    if parts is None:
        return None
    found = {}
    for name, values in parts.items():
        means = means_of([part_of(one, kind, name) for one in covered])
        found[name] = [means.get(field, value) for field, value in zip(FIELDS, values, strict=True)]
    return found


def part_of(stored: Mapping[str, Any], kind: Kind, name: str, *, is_counted: bool = True) -> dict[str, Any]:
    """The values of a model or tenant in stored parts (the object of `Parts.to_json`).

    One that is not in them is idle, unless it was not among the busiest, or has no counters of its own (not
    `is_counted`).
    """
    parts = stored.get(kind)
    if parts is None:
        found = dict(AFTER_A_GAP)
    elif name in parts:
        found = {**IDLE, **dict(zip(FIELDS, parts[name], strict=False))}
    else:
        found = dict(IDLE if is_counted and len(parts) < MOST_PARTS else AFTER_A_GAP)
    lacking = UNKNOWN[kind] if stored.get("version") == VERSION else UNKNOWN[kind] | LATER[kind]
    return found | dict.fromkeys(lacking)
