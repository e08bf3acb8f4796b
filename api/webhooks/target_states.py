"""What became of the attempts to send to each webhook target: counts, latest success, latest failure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import redis

from store.scripts import redis_errors_translated

OUTCOMES = ("delivered", "failed", "given_up", "left_out")
"""Of an attempt: it arrived, it failed and is made again, it failed for the last time; `left_out` is an event
of an alert that was not entered, since too many waited."""

KEPT_S = 30 * 24 * 3600
"""How long the state of a target is kept after its latest attempt: operators remove targets, too."""

MAX_PROBLEM = 300


@dataclass(frozen=True, slots=True)
class TargetState:
    """The state of one target. Times are in unix seconds.

    `failing_since` is when the first attempt after the latest success failed; None: the latest attempt
    arrived, or there was none. `problem` is the reason of the latest failure, at `failed_at`.
    """

    waiting: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    failing_since: float | None = None
    delivered_at: float | None = None
    failed_at: float | None = None
    problem: str | None = None


class TargetStates:
    """Reads the states of the configured targets. Thread-safe. Raises `StorageUnavailable`."""

    def __init__(self, client: redis.Redis, prefix: str, targets: Iterable[str]) -> None:
        self._client = client
        self._prefix = "{" + prefix + "}:"
        self._targets = tuple(targets)

    def read(self) -> dict[str, TargetState]:
        """The state of each target, in their order. Without a target no command is sent."""
        if not self._targets:
            return {}
        with redis_errors_translated():
            pipeline = self._client.pipeline(transaction=False)
            for name in self._targets:
                pipeline.zcard(f"{self._prefix}webhooks:target:{name}")
                pipeline.hgetall(f"{self._prefix}webhook_state:target:{name}")
            replies = pipeline.execute()
        return {
            name: _state(waiting, fields)
            for name, waiting, fields in zip(self._targets, replies[::2], replies[1::2], strict=True)
        }


def success_commands(key: str, at: float) -> list[tuple[Any, ...]]:
    """Write a success. The reply of the first command is 1 if the target had failed before."""
    return [
        ("HDEL", key, "failing_since"),
        ("HSET", key, "delivered_at", at),
        ("HINCRBY", key, "delivered", 1),
        ("EXPIRE", key, KEPT_S),
    ]


def failure_commands(key: str, at: float, problem: str, outcome: str) -> list[tuple[Any, ...]]:
    """Write a failure. The reply of the first command is 1 if it is the first one after a success."""
    return [
        ("HSETNX", key, "failing_since", at),
        ("HSET", key, "failed_at", at, "problem", problem[:MAX_PROBLEM]),
        ("HINCRBY", key, outcome, 1),
        ("EXPIRE", key, KEPT_S),
    ]


def _state(waiting: object, fields: Mapping[bytes, bytes]) -> TargetState:
    def time(name: str) -> float | None:
        value = fields.get(name.encode())
        return None if value is None else float(value)

    problem = fields.get(b"problem")
    return TargetState(
        waiting=int(cast(int, waiting)),
        counts={outcome: int(fields.get(outcome.encode(), 0)) for outcome in OUTCOMES},
        failing_since=time("failing_since"),
        delivered_at=time("delivered_at"),
        failed_at=time("failed_at"),
        problem=None if problem is None else problem.decode(),
    )
