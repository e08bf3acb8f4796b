"""What tenants used of their budgets of the current month (docs/decisions/0060)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import redis

from config.limits import Budget
from config.settings import Settings
from scheduler import LUA
from store.scripts import Scripts

MAX_TENANTS = 1000
"""So many tenants are read by one call."""


@dataclass(frozen=True, slots=True)
class BudgetUse:
    """What a tenant used of its budget in a month that ends at `resets_at` (Unix seconds)."""

    budget: Budget
    tokens: int
    gpu_s: float
    resets_at: int

    @property
    def shares(self) -> dict[str, float]:
        """The used share of each budget, by its unit: `tokens` and `gpu_s`."""
        found = {}
        if self.budget.tokens is not None:
            found["tokens"] = self.tokens / self.budget.tokens
        if self.budget.gpu_s is not None:
            found["gpu_s"] = self.gpu_s / self.budget.gpu_s
        return found

    @property
    def share(self) -> float:
        """The larger of the two shares; from 1 on the next request is refused."""
        return max(self.shares.values(), default=0.0)

    @property
    def is_beyond_soft(self) -> bool:
        """Whether the soft bound is reached; False without one."""
        return self.budget.soft is not None and self.share >= self.budget.soft


class BudgetReader:
    """Reads the use of budgets. Raises `StorageUnavailable`."""

    def __init__(self, client: redis.Redis, settings: Settings) -> None:
        self._scripts = Scripts(client, settings.redis.prefix, LUA)

    def read(self, budgets: Mapping[str, Budget]) -> dict[str, BudgetUse]:
        """Return the use of these tenants' budgets, by name. Without a tenant it takes no command."""
        found, tenants = {}, list(budgets)
        for at in range(0, len(tenants), MAX_TENANTS):
            names = tenants[at : at + MAX_TENANTS]
            ends_us, *lines = self._scripts.run("read_budget_use", tenants=names)
            for name, line in zip(names, lines, strict=True):
                tokens, run_us = map(int, line.split() or (0, 0))
                found[name] = BudgetUse(budgets[name], tokens, run_us / 1e6, ends_us // 1_000_000)
        return found
