"""How much of its limits a tenant uses at the moment, as the ledger counts it (`lua/read_limit_use.lua`).

Reads only. A call costs a few commands for each model and each tenant, whatever the length of the queues.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import redis

from config.limits import Limits
from config.rate_limit import RateLimit
from config.settings import Settings
from scheduler import LUA
from store.scripts import Scripts

MAX_TENANTS = 100
"""So many tenants are read by one call, so that no other call waits long for it."""


@dataclass(frozen=True, slots=True)
class WindowUse:
    """What is left of a limit of requests or tokens within a window.

    `at_once` is admitted at once when all of it is free: the limit, or of one of more than 2,000 requests a
    tenth. `reset_s` is the time until all of it is free again.
    """

    limit: RateLimit
    at_once: int
    remaining: int
    reset_s: float


@dataclass(frozen=True, slots=True)
class LimitUse:
    """What one tenant uses. `requests` and `tokens` are None without such a limit.

    `waiting` counts the jobs that wait for all models, `longest_queue` those that wait for `model`, of which
    most wait; None while none waits.
    """

    limits: Limits
    requests: WindowUse | None
    tokens: WindowUse | None
    running: int
    waiting: int
    longest_queue: int
    model: str | None
    bytes: int

    @property
    def at_limit(self) -> tuple[str, ...]:
        """The limits of which nothing is left, so that the next request would wait or be refused."""
        limits = self.limits
        bounded = {
            "requests": self.requests is not None and not self.requests.remaining,
            "tokens": self.tokens is not None and not self.tokens.remaining,
            "running": limits.max_running is not None and self.running >= limits.max_running,
            "waiting": self.longest_queue > 0 and self.longest_queue >= limits.max_waiting,
            "bytes": self.bytes >= limits.max_bytes,
        }
        return tuple(name for name, is_reached in bounded.items() if is_reached)


class LimitUseReader:
    """Reads the use of limits. Raises `StorageUnavailable`."""

    def __init__(self, client: redis.Redis, settings: Settings) -> None:
        self._scripts = Scripts(client, settings.redis.prefix, LUA)

    def read(self, limits: Mapping[str, Limits], models: Iterable[str]) -> dict[str, LimitUse]:
        """Return the use of each tenant, by name; `models` are those for which jobs may wait and run."""
        windows = {
            tenant: (*_window(bounds.rate_limit), *_window(bounds.token_limit))
            for tenant, bounds in limits.items()
        }
        return {tenant: _parse(limits[tenant], answer) for tenant, answer in self._read(windows, models)}

    def jobs(self, tenants: Iterable[str], models: Iterable[str]) -> dict[str, tuple[int, int]]:
        """Return how many jobs of each tenant run and wait, by name; `models` as in `read`."""
        answers = self._read(dict.fromkeys(tenants, (0, 0, 0, 0)), models)
        return {tenant: (int(running), int(waiting)) for tenant, (_, _, running, waiting, *_) in answers}

    def _read(
        self, windows: Mapping[str, Sequence[int]], models: Iterable[str]
    ) -> Iterator[tuple[str, Sequence[Any]]]:
        """The answer of the script for each tenant, of which the windows of both its limits are given."""
        names, tenants = list(models), list(windows.items())
        for at in range(0, len(tenants), MAX_TENANTS):
            part = tenants[at : at + MAX_TENANTS]
            asked: list[str | int] = [*names]
            for tenant, window in part:
                asked += [tenant, *window]
            answers = self._scripts.run("read_limit_use", model_count=len(names), models_and_tenants=asked)
            yield from zip((tenant for tenant, _ in part), answers, strict=True)


def _window(limit: RateLimit | None) -> tuple[int, int]:
    return (0, 0) if limit is None else (limit.most, limit.window_s * 1_000_000)


def _parse(limits: Limits, answer: Any) -> LimitUse:
    requests, tokens, running, waiting, longest, model, used = answer
    return LimitUse(
        limits=limits,
        requests=_window_use(limits.rate_limit, requests),
        tokens=_window_use(limits.token_limit, tokens),
        running=int(running),
        waiting=int(waiting),
        longest_queue=int(longest),
        model=model.decode() or None,
        bytes=int(used),
    )


def _window_use(limit: RateLimit | None, state: tuple[int, int, int]) -> WindowUse | None:
    if limit is None:
        return None
    at_once, remaining, reset_us = state
    return WindowUse(limit, at_once, remaining, reset_us / 1e6)
