"""The responses and deliveries of webhooks in Redis (docs/decisions/0023-webhooks.md). At least once."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import orjson

from api.http.errors import ApiError
from api.webhooks.target_states import failure_commands, success_commands
from store.async_connection import AsyncConnection
from store.scripts import redis_errors_translated, without_errors

logger = logging.getLogger("api")

LEASE_MS = 10_000
RETRY_S = 60
MAX_PENDING_PER_TENANT = 10_000
"""Responses of a tenant that run or whose events wait: a receiver that is down must not fill Redis."""


class TooManyWebhooks(ApiError):
    """Raised for a background response of a tenant that has as many entries as it may."""

    default_code = "too_many_webhooks"


@dataclass(frozen=True, slots=True)
class Entry:
    """A response in the list of its tenant, or a delivery of its event in the list of a target.

    Times are in Unix seconds. The event of an alert has the alert's id in place of the response, and its
    data in `alert`.
    """

    response: str
    at: float
    event: str = ""
    ended_at: int = 0
    attempts: int = 0
    alert: Mapping[str, Any] | None = None

    @property
    def subject(self) -> str:
        """What the event is about: of one subject one event at a time is under way to a target."""
        return self.response if self.alert is None else str(self.alert.get("alert_key", self.response))

    def to_json(self) -> bytes:
        """Encode for Redis. A field that is None is left out: an earlier version may not know it."""
        return orjson.dumps({name: value for name, value in asdict(self).items() if value is not None})

    @classmethod
    def from_json(cls, data: bytes) -> Entry:
        """Decode the result of `to_json`; a later version's fields that this one does not know are ignored.

        Raises `ValueError` or `TypeError` for anything else.
        """
        stored = orjson.loads(data)
        return cls(**{field.name: stored[field.name] for field in fields(cls) if field.name in stored})


def list_of_tenant(tenant: str) -> str:
    """The list of the responses of a tenant."""
    return f"tenant:{tenant}"


def list_of_target(target: str) -> str:
    """The list of the deliveries to a target."""
    return f"target:{target}"


class WebhookStore:
    """The lists of all tenants and targets. Its methods raise `StorageUnavailable`."""

    def __init__(self, connection: AsyncConnection, prefix: str, most: int = MAX_PENDING_PER_TENANT) -> None:
        self._connection = connection
        self._prefix = "{" + prefix + "}:"
        self._most = most
        self._ahead_s = time.time() - time.monotonic()
        """How far Redis' clock is ahead of the monotonic one; before the first `hold`: the host's clock."""

    def now(self) -> float:
        """The time (unix seconds) by Redis' clock, as of the last `hold`: other hosts enter events, too."""
        return time.monotonic() + self._ahead_s

    async def add(self, name: str, entry: Entry, others: Iterable[str]) -> None:
        """Put an entry into a list. Raises `TooManyWebhooks` when it and the others are full together."""
        count = sum(await self._run([("ZCARD", self._list(one)) for one in (name, *others)]))
        if count >= self._most:
            raise TooManyWebhooks(
                f"{count} events of this tenant are waiting for delivery",
                retry_after_s=RETRY_S,
            )
        await self._together(self._set(name, entry, entry.at))

    async def due(self, name: str, now: float, most: int) -> list[Entry]:
        """The entries of a list whose time has come, at most so many, the earliest first.

        One that cannot be read is removed, so that it does not stop the others.
        """
        due = ("ZRANGEBYSCORE", self._list(name), "-inf", _ms(now), "LIMIT", 0, most)
        (members,) = await self._run([due])
        if not members:
            return []
        (values,) = await self._run([("HMGET", self._entries(name), *members)])
        found: list[Entry] = []
        for member, value in zip(members, values, strict=True):
            try:
                found += [Entry.from_json(value)] if value is not None else []
            except (ValueError, TypeError):
                logger.warning("an entry of the webhooks of %s cannot be read: it is removed", name)
                await self._together(self._unset(name, member))
        return found

    async def postpone(self, name: str, entry: Entry, until: float) -> None:
        """Change an entry, and the time of its next look, unless it was removed meanwhile."""
        await self._change(name, entry, until, [])

    async def delivered(self, target: str, entry: Entry | None, at: float) -> bool:
        """Remove what has arrived. Returns whether the target had failed before.

        An entry of None stands for an event in no list.
        """
        name = list_of_target(target)
        removal = [] if entry is None else self._unset(name, entry.response)
        replies = await self._together([*success_commands(self._state(name), at), *removal])
        return bool(replies[0])

    async def failed(
        self, target: str, entry: Entry | None, at: float, problem: str, until: float | None
    ) -> bool:
        """Write that an attempt has failed, and when the entry is due again; None: it was the last attempt.

        Returns whether it is the first failure after a success. An entry of None stands for an event in no
        list.
        """
        name = list_of_target(target)
        outcome = "given_up" if entry is not None and until is None else "failed"
        failure = failure_commands(self._state(name), at, problem, outcome)
        if entry is None:
            replies = await self._together(failure)
        elif until is None:
            replies = await self._together([*failure, *self._unset(name, entry.response)])
        else:
            replies = await self._change(name, entry, until, failure)
        return bool(replies[0])

    async def remove(self, name: str, entry: Entry) -> None:
        """Remove an entry from a list."""
        await self._together(self._unset(name, entry.response))

    async def deliver(self, name: str, entry: Entry, delivery: Entry, targets: Iterable[str]) -> None:
        """Put a delivery into the list of each target, in the place of an entry."""
        added = [
            command
            for target in targets
            for command in self._set(list_of_target(target), delivery, delivery.ended_at)
        ]
        await self._together([*added, *self._unset(name, entry.response)])

    async def hold(self, process: str) -> bool:
        """Whether this process is the one that sends, for the next LEASE_MS. Reads Redis' clock as well."""
        key = f"{self._prefix}webhook_sender"
        taken, holder, (seconds, microseconds) = await self._run(
            [("SET", key, process, "NX", "PX", LEASE_MS), ("GET", key), ("TIME",)],
        )
        self._ahead_s = int(seconds) + int(microseconds) / 1e6 - time.monotonic()
        if not taken and holder == process.encode():
            await self._run([("PEXPIRE", key, LEASE_MS)])
        return bool(taken) or holder == process.encode()

    def _set(self, name: str, entry: Entry, due: float) -> list[tuple[Any, ...]]:
        return [
            ("ZADD", self._list(name), _ms(due), entry.response),
            ("HSET", self._entries(name), entry.response, entry.to_json()),
        ]

    def _unset(self, name: str, member: str | bytes) -> list[tuple[Any, ...]]:
        return [("ZREM", self._list(name), member), ("HDEL", self._entries(name), member)]

    async def _change(
        self, name: str, entry: Entry, due: float, others: Sequence[tuple[Any, ...]]
    ) -> list[Any]:
        """Change an entry that is still in the list, with other commands, whose replies are the first."""
        replies = await self._together(
            [
                *others,
                ("ZADD", self._list(name), "XX", _ms(due), entry.response),
                ("HSET", self._entries(name), entry.response, entry.to_json()),
                ("ZSCORE", self._list(name), entry.response),
            ]
        )
        if replies[-1] is None:  # a later event of the same alert has removed it: it does not come back
            await self._run([("HDEL", self._entries(name), entry.response)])
        return replies

    async def _together(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        replies = await self._run([("MULTI",), *commands, ("EXEC",)])
        return without_errors(replies[-1])

    async def _run(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        with redis_errors_translated():
            return without_errors(await self._connection.exchange(commands))

    def _list(self, name: str) -> str:
        return f"{self._prefix}webhooks:{name}"

    def _state(self, name: str) -> str:
        return f"{self._prefix}webhook_state:{name}"

    def _entries(self, name: str) -> str:
        return f"{self._prefix}webhook_entries:{name}"


def _ms(seconds: float) -> int:
    return int(seconds * 1000)
