"""What was counted until a time: of the whole platform, of each model and of each tenant.

The counters in Redis only grow; samples are made of the growth between two totals.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import zip_longest
from typing import Any

import orjson

from api.http.errors import CODES
from api.operations.metrics.collector import PlatformState, code_label
from scheduler.counters import Counters

MAX_MODELS = 500
"""The most models whose totals are kept: those with the most output of all time."""

LONGEST_INTERVAL = 1.6
"""Samples that are more of their intervals apart have a gap between them."""

HALF_LIFE_S = 300.0
"""After this time a first output counts half in a model's quantile, as its tokens do in its cache hits."""
LEAST = 0.05
"""Smaller numbers of first outputs are dropped."""
TOKENS = ("input", "cached", "processed_input", "processed_output")
LIMITED = (429, 503)
CANCELLED = "cancelled"
"""The code of a failure that is the wish of a client, so no error."""


@dataclass(slots=True)
class Counted:
    """What was counted of the platform, a model or a tenant.

    `input` and `cached` are tokens of prompts of requests that ended, `processed_input` and
    `processed_output` those that engines have computed of prompts, and of answers, of running ones, too.
    `waits` (in the queue) and `first_outputs` have the number of requests in each bucket of their
    histograms; `errors` the requests that were refused or failed, by code.
    """

    input: int = 0
    cached: int = 0
    processed_input: int = 0
    processed_output: int = 0
    ended: int = 0
    failed: int = 0
    refused_429: int = 0
    refused_503: int = 0
    waits: list[int] = field(default_factory=list)
    first_outputs: list[int] = field(default_factory=list)
    errors: dict[str, int] = field(default_factory=dict)

    def growth(self, before: Counted) -> Counted:
        """What was counted since `before`; a counter that was lost has not grown."""
        grown: dict[str, Any] = {
            name: max(0, getattr(self, name) - getattr(before, name)) for name in COUNTED_NUMBERS
        }
        for name in ("waits", "first_outputs"):
            pairs = zip_longest(getattr(self, name), getattr(before, name), fillvalue=0)
            grown[name] = [max(0, now - was) for now, was in pairs]
        errors = Counter(self.errors)
        errors.subtract(before.errors)
        return Counted(**grown, errors={code: count for code, count in errors.items() if count > 0})

    def lost_nothing(self, before: Counted) -> bool:
        """Whether each number is at least what it was at `before`."""
        numbers = all(getattr(self, name) >= getattr(before, name) for name in COUNTED_NUMBERS)
        same = len(self.waits) == len(before.waits)
        return numbers and same and all(now >= was for now, was in zip(self.waits, before.waits, strict=True))


COUNTED_NUMBERS = tuple(one.name for one in fields(Counted) if one.type == "int")


@dataclass(frozen=True, slots=True)
class Totals:
    """What was counted until a time (unix seconds), in all and by the name of a model and of a tenant.

    `recent_outputs` has the first outputs of each model by bucket, with less weight for what is older.
    """

    at: float
    everything: Counted
    models: Mapping[str, Counted]
    tenants: Mapping[str, Counted]
    recent_outputs: Mapping[str, Sequence[float]]

    def to_json(self) -> bytes:
        """Encode for Redis."""
        return orjson.dumps(self)

    @classmethod
    def from_json(cls, data: bytes) -> Totals:
        """Decode the result of `to_json`. Raises `ValueError` or `TypeError` for that of another version."""
        raw = cls(**orjson.loads(data))
        return cls(
            raw.at,
            Counted(**raw.everything),  # type: ignore[arg-type]  # as decoded: an object
            {name: Counted(**one) for name, one in raw.models.items()},  # type: ignore[arg-type]
            {name: Counted(**one) for name, one in raw.tenants.items()},  # type: ignore[arg-type]
            raw.recent_outputs,
        )

    def growth(self, before: Totals | None, interval_s: int) -> Growth | None:
        """What was counted since `before`, one interval ago; None after a gap, or if a counter was lost."""
        if before is None or not 0 < self.at - before.at <= LONGEST_INTERVAL * interval_s:
            return None
        if not self.everything.lost_nothing(before.everything):
            return None
        # the earlier totals of a model that was beyond the most ones are not known
        models = {
            name: one
            for name, one in self.models.items()
            if name in before.models or len(before.models) < MAX_MODELS
        }
        return Growth(
            self.at - before.at,
            self.everything.growth(before.everything),
            _growth_by_name(models, before.models),
            _growth_by_name(self.tenants, before.tenants),
        )


@dataclass(frozen=True, slots=True)
class Growth:
    """What was counted within so many seconds, in all and by the name of a model and of a tenant."""

    seconds: float
    everything: Counted
    models: Mapping[str, Counted]
    tenants: Mapping[str, Counted]


def _growth_by_name(now: Mapping[str, Counted], before: Mapping[str, Counted]) -> dict[str, Counted]:
    return {name: one.growth(before.get(name, Counted())) for name, one in now.items()}


def read_totals(state: PlatformState, at: float, before: Totals | None = None) -> Totals:
    """What the platform has counted until now; `before` are the totals of the last sample."""
    counters = state.counters
    everything = Counted()
    models: defaultdict[str, Counted] = defaultdict(Counted)
    tenants: defaultdict[str, Counted] = defaultdict(Counted)

    def owners(model: str, tenant: str | None) -> Iterator[Counted]:
        yield from (everything, models[model])
        if tenant is not None:
            yield tenants[tenant]

    for kind in TOKENS:
        for model, tenant, _, count in counters.by_model(f"{kind}_tokens"):
            for one in owners(model, tenant):
                setattr(one, kind, getattr(one, kind) + count)
    for model, tenant, (status,), count in counters.by_model("requests"):
        for one in owners(model, tenant):
            one.ended += count
            one.failed += count if status == "failed" else 0
    everything.waits = [0] * (len(counters.bounds.get("queue_wait", ())) + 1)
    for name, kind in (("waits", "queue_wait"), ("first_outputs", "first_output")):
        _add_times(counters, kind, name, lambda model: (everything, models[model]))
        _add_times(counters, f"tenant_{kind}", name, lambda tenant: (tenants[tenant],))
    for (model, code), count in counters.of_kind("failures"):
        for one in (everything, models[model]):
            _add_error(one, code, count)
    for (code,), count in counters.of_kind("refusals"):
        _add_error(everything, code, count)
        _add_refusals(everything, code, count)
    for (tenant, code), count in counters.of_kind("tenant_errors"):
        _add_error(tenants[tenant], code, count)
    for (tenant, code), count in counters.of_kind("tenant_refusals"):
        _add_refusals(tenants[tenant], code, count)
    most = sorted(models, key=lambda name: (-models[name].processed_output, name))[:MAX_MODELS]
    kept = {name: models[name] for name in most}
    return Totals(at, everything, kept, tenants, _recent_outputs(kept, at, before))


def _add_times(counters: Counters, kind: str, name: str, owners: Callable[[str], Sequence[Counted]]) -> None:
    """Add the buckets of the histograms of a kind to the owners of each, by its model or tenant."""
    size = len(counters.bounds.get(kind.removeprefix("tenant_"), ())) + 1
    for (label, *_, bucket), count in counters.of_kind(kind):
        if bucket.isdecimal() and int(bucket) <= size:
            for one in owners(label):
                numbers = getattr(one, name) or [0] * size
                numbers[int(bucket) - 1] += count
                setattr(one, name, numbers)


def _add_error(one: Counted, code: str, count: int) -> None:
    if code != CANCELLED:
        label = code_label(code)
        one.errors[label] = one.errors.get(label, 0) + count


def _add_refusals(one: Counted, code: str, count: int) -> None:
    status = CODES[code].status if code in CODES else 0
    if status in LIMITED:
        name = f"refused_{status}"
        setattr(one, name, getattr(one, name) + count)


def _recent_outputs(
    models: Mapping[str, Counted], at: float, before: Totals | None
) -> dict[str, list[float]]:
    """The first outputs of each model, of which what is older counts less; none before two samples."""
    if before is None:  # none are known to be recent
        return {}
    rest = 0.5 ** (max(0.0, at - before.at) / HALF_LIFE_S)
    found = {}
    for name, one in _growth_by_name(models, before.models).items():
        grown = one.first_outputs
        recent = before.recent_outputs.get(name, ())
        weighed = [round(old * rest + more, 3) for old, more in zip_longest(recent, grown, fillvalue=0)]
        if sum(weighed) >= LEAST:
            found[name] = weighed
    return found
