"""The usage of tenants, models and keys by day, as the scripts count it (`lua/include/job_end.lua`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import date, timedelta
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


@dataclass(frozen=True, slots=True)
class UsageRow:
    """The usage of a tenant and model on one day (UTC)."""

    day: date
    tenant: str
    model: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class KeyUsageRow:
    """The usage of a model with a key of one tenant on one day (UTC).

    `key` is the id of the key; None: the requests had none of the tenant's own. `OTHER` as model and key:
    further rows than are kept.
    """

    day: date
    model: str
    key: str | None
    usage: Usage


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
        days = [first + timedelta(offset) for offset in range((last - first).days + 1)]
        for at in range(0, len(days), DAYS_PER_READ):
            part = days[at : at + DAYS_PER_READ]
            for day, values in zip(part, self._read(part), strict=True):
                rows += _rows(day, values, tenant, model)
            if len(rows) > limit:
                raise TooManyRows
        return rows

    def read_keys(self, tenant: str, first: date, last: date) -> Iterator[KeyUsageRow]:
        """The rows of a tenant on these days, by day, model and key; of the last `KEY_DAYS`."""
        days = [first + timedelta(offset) for offset in range((last - first).days + 1)]
        for at in range(0, len(days), DAYS_PER_READ):
            part = days[at : at + DAYS_PER_READ]
            for day, values in zip(part, self._read(part, "key_usage", f":{tenant}"), strict=True):
                for field, line in sorted(values.items()):
                    model, _, key = field.decode().rpartition(" ")
                    usage = Usage(*map(int, line.split()))
                    yield KeyUsageRow(day, model, None if key == NO_KEY else key, usage)

    def _read(self, days: list[date], name: str = "usage", of: str = "") -> list[dict[bytes, bytes]]:
        with redis_errors_translated(), self._client.pipeline(transaction=False) as pipeline:
            for day in days:
                pipeline.hgetall(f"{self._prefix}{name}:{(day - EPOCH).days}{of}")
            return list(pipeline.execute())


def _rows(day: date, values: dict[bytes, bytes], tenant: str | None, model: str | None) -> Iterator[UsageRow]:
    for field, line in sorted(values.items()):
        owner, _, name = field.decode().partition(" ")
        if tenant in (None, owner) and model in (None, name):
            yield UsageRow(day, owner, name, Usage(*map(int, line.split())))
