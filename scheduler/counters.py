"""The counters of the platform in Redis, and the reports of the API processes that add to them.

The scripts count what happens to jobs, models and workers (`store/counters` and `scheduler/job_end`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
import redis

from config.settings import HistorySettings, Settings
from scheduler import LUA
from scheduler.request_history import RefusedRequest, history_bounds
from store.calls import Call
from store.script_arguments import NamedArguments
from store.scripts import Scripts, redis_errors_translated

GAUGES_AGE_US = 5_000_000
"""An API process whose last report is older has ended, or hangs."""

TenantCode = tuple[str, str]
"""A tenant's name and an error code."""


@dataclass(frozen=True, slots=True)
class Counters:
    """All counters at one instant.

    `by_kind` has the labels and the value of each counter of a kind; `bounds` the upper bounds of each
    histogram's buckets (us). `processes` are the gauges of the API processes, `pending` the number of ended
    jobs that are not counted yet.
    """

    by_kind: Mapping[str, Sequence[tuple[list[str], str]]]
    bounds: Mapping[str, tuple[int, ...]]
    processes: tuple[Mapping[str, Any], ...]
    pending: int

    def of_kind(self, kind: str) -> list[tuple[list[str], int]]:
        """Return the labels and the number of each counter of this kind."""
        return [(labels, int(value)) for labels, value in self.by_kind.get(kind, ())]

    def by_model(self, kind: str) -> Iterator[tuple[str, str | None, list[str], int]]:
        """The model, the tenant, the further labels and the number of each counter of a kind with tenants.

        The tenant is None for what removed tenants counted, so that the sums of a model never fall.
        """
        for (model, tenant, *rest), count in self.of_kind(kind):
            yield model, tenant, rest, count
        for (model, *rest), count in self.of_kind(f"forgotten_{kind}"):
            yield model, None, rest, count


class CounterStore:
    """Reads the counters, and adds what an API process has counted. Raises `StorageUnavailable`."""

    def __init__(self, client: redis.Redis, settings: Settings) -> None:
        self._scripts = Scripts(client, settings.redis.prefix, LUA)
        self.history = settings.history

    def read(self) -> Counters:
        """Read all counters."""
        bounds, processes, pending = self._scripts.run("read_counters", max_age_us=GAUGES_AGE_US)
        with redis_errors_translated():
            fields: dict[bytes, bytes] = self._scripts.client.hgetall(f"{self._scripts.prefix}counters")
        by_kind: defaultdict[str, list[tuple[list[str], str]]] = defaultdict(list)
        for field, value in fields.items():
            kind, *labels = field.decode().split(" ")
            by_kind[kind].append((labels, value.decode()))
        return Counters(
            by_kind,
            {kind.decode(): tuple(limits) for kind, limits in zip(bounds[::2], bounds[1::2], strict=True)},
            tuple(orjson.loads(gauges) for gauges in processes),
            pending,
        )

    def execute(self, command: Call[None]) -> None:
        """Execute a report."""
        self._scripts.execute(command)


def report(  # noqa: PLR0913, PLR0917 - all that a process reports
    process: str,
    number: int,
    gauges: Mapping[str, float],
    counts: Mapping[str, int],
    refused: Mapping[TenantCode, int] | None = None,
    requests: Sequence[RefusedRequest] = (),
    history: HistorySettings = HistorySettings(),  # noqa: B008 - it is frozen
    errors: Mapping[TenantCode, int] | None = None,
) -> Call[None]:
    """Store the gauges of a process, and add its counts once: a repeat has the same `number`.

    `refused` counts answers with 429 or 503 by tenant and code, `errors` all refused requests likewise;
    `requests` are refused ones for the history, with its bounds `history`.
    """
    refused, errors = refused or {}, errors or {}
    pairs = [item for pair in counts.items() for item in pair]
    triples = [item for part in (refused, errors) for key, amount in part.items() for item in (*key, amount)]
    arguments: NamedArguments = {
        "process": process,
        "number": number,
        "gauges": orjson.dumps(dict(gauges)),
        "pair_count": len(counts),
        "code_count": len(refused),
        "error_count": len(errors),
        **history_bounds(history),
        "counts": [*pairs, *triples, *(line for request in requests for line in request.lines())],
    }
    return Call("report_api_process", arguments, lambda _reply: None)
