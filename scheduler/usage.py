"""The usage of tenants, models and keys by day, as the scripts count it (`lua/include/job_end.lua`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import date, timedelta
from operator import add
from typing import Any

import redis

from config.settings import Settings
from store.scripts import redis_errors_translated

KEPT_DAYS = 400
KEY_DAYS = 100
MONTH_DAYS = 62
"""So many days usage is kept: by model, by key, and by month. Also in `lua/include/job_end.lua`."""

MAX_KEY_ROWS = 500
"""The most rows of a tenant's day by model and key; what further ones used is added to a row of `OTHER`."""

KEY_GROUPS = ("day", "model", "key")
"""By what the usage of one tenant is summed up."""

OTHER = "other"
NO_KEY = "-"
EPOCH = date(1970, 1, 1)
DAYS_PER_READ = 10


@dataclass(frozen=True, slots=True)
class Usage:
    """What ended requests used; times in microseconds.

    `requests` are all that ended, `succeeded` those with an answer. `cached_tokens` are a part of
    `input_tokens`. `run_us` is the time in slots: requests that an engine batches share the device meanwhile.
    `audio_ms` is the length of audio, `pixel_steps` the computed pixels of `images`.
    """

    requests: int = 0
    succeeded: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    queue_us: int = 0
    run_us: int = 0
    audio_ms: int = 0
    images: int = 0
    pixel_steps: int = 0

    def __add__(self, other: Usage) -> Usage:
        """Return the sum of each field."""
        return Usage(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(Usage)))


NOTHING = (0,) * len(fields(Usage))


@dataclass(frozen=True, slots=True)
class UsageRow:
    """The usage of a tenant and model on one day (UTC)."""

    day: date
    tenant: str
    model: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class KeyUsageQuery:
    """What is asked for of a tenant's usage by key: the days, of the last `KEY_DAYS`, and some `KEY_GROUPS`.

    The keys with the ids in `hidden` count as none.
    """

    tenant: str
    first: date
    last: date
    groups: tuple[str, ...]
    hidden: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class KeyUsage:
    """The usage of one tenant in groups: each a tuple of the values that were asked for; and that of all.

    The values are a day (UTC), a model, and the id of a key; None: the requests had none of the tenant's own.
    `OTHER` as model and key: further rows than are kept.
    """

    by_group: dict[tuple[Any, ...], Usage]
    total: Usage


class TooManyRows(Exception):
    """Raised when a range has more rows than were asked for."""


class UsageStore:
    """Reads the usage. Raises `StorageUnavailable`."""

    def __init__(self, client: redis.Redis, settings: Settings) -> None:
        self._client: Any = client
        self._prefix = "{" + settings.redis.prefix + "}:"

    def read(
        self, first: date, last: date, limit: int, tenant: str | None = None, model: str | None = None
    ) -> list[UsageRow]:
        """Return the rows of these days, by day, tenant and model. Raises `TooManyRows` beyond `limit`."""
        rows: list[UsageRow] = []
        days = _days(first, last)
        key_names = [f"{self._prefix}usage:{(day - EPOCH).days}" for day in days]
        for day, values in zip(days, self._hashes(key_names), strict=True):
            rows += _rows(day, values, tenant, model)
            if len(rows) > limit:
                raise TooManyRows
        return rows

    def sum_keys(self, query: KeyUsageQuery, limit: int) -> KeyUsage:
        """Sum up what a tenant used.

        Raises `TooManyRows` beyond `limit` groups: before rows are read where each of them is a group.
        """
        days, groups = _days(query.first, query.last), query.groups
        key_names = [f"{self._prefix}key_usage:{(day - EPOCH).days}:{query.tenant}" for day in days]
        if len(groups) == len(KEY_GROUPS) and len(days) * (MAX_KEY_ROWS + 1) > limit:
            self._check_length(key_names, limit)
        none_of = {NO_KEY, *query.hidden}
        sums: dict[tuple[Any, ...], list[int]] = {}
        for day, values in zip(days, self._hashes(key_names), strict=True):
            row: dict[str, Any] = {"day": day}
            for field, line in values.items():
                row["model"], _, key = field.decode().rpartition(" ")
                row["key"] = None if key in none_of else key
                group = tuple([row[name] for name in groups])
                amounts = [*map(int, line.split())]
                known = sums.get(group)
                if known is None:
                    sums[group] = [*amounts, *NOTHING[len(amounts) :]]
                else:
                    known[: len(amounts)] = map(add, known, amounts)
            if len(sums) > limit:
                raise TooManyRows
        total = Usage(*map(sum, zip(*sums.values(), strict=True)))
        return KeyUsage({group: Usage(*amounts) for group, amounts in sums.items()}, total)

    def _check_length(self, key_names: Sequence[str], limit: int) -> None:
        """Raise `TooManyRows` if these hashes have more fields than `limit`."""
        with redis_errors_translated(), self._client.pipeline(transaction=False) as pipeline:
            for name in key_names:
                pipeline.hlen(name)
            if sum(pipeline.execute()) > limit:
                raise TooManyRows

    def _hashes(self, key_names: Sequence[str]) -> Iterator[dict[bytes, bytes]]:
        """The hashes of these names, a few read at a time."""
        for at in range(0, len(key_names), DAYS_PER_READ):
            with redis_errors_translated(), self._client.pipeline(transaction=False) as pipeline:
                for name in key_names[at : at + DAYS_PER_READ]:
                    pipeline.hgetall(name)
                found = pipeline.execute()
            yield from found


def _days(first: date, last: date) -> list[date]:
    return [first + timedelta(offset) for offset in range((last - first).days + 1)]


def _rows(day: date, values: dict[bytes, bytes], tenant: str | None, model: str | None) -> Iterator[UsageRow]:
    for field, line in sorted(values.items()):
        owner, _, name = field.decode().partition(" ")
        if tenant in (None, owner) and model in (None, name):
            yield UsageRow(day, owner, name, Usage(*map(int, line.split())))
