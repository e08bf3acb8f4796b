"""What the choice of models knows of each one, and of the tenants that use it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fleet.states import ModelState

PRIORITY_FACTORS = {"high": 2.0, "normal": 1.0, "low": 0.5}

NOTHING: Mapping[str, float] = {}


@dataclass(frozen=True, slots=True)
class TenantUse:
    """A tenant whose jobs wait for a model or run on it.

    `spent_s`: the time of the recent switches that were made for it, divided by its weight.
    """

    tenant: str
    waiting: int = 0
    weight: float = 1.0
    spent_s: float = 0.0
    priority: str = "normal"


@dataclass(frozen=True, slots=True)
class DemandedModel:
    """A model as the choice sees it. Times are seconds; `idle_s` is 0 while requests run or wait.

    `is_wanted`: requests wait for its load, for `waits_s` at most. `is_paused`: it failed, and is tried again
    later. `may_leave`: the configuration permits to unload it for another one. `by_request`: it was loaded
    for requests. `leaves_for` is the model that it makes room for, or made room for last, `changed_s` the
    time since its state changed. `return_paid`: its next load was charged to the tenants for which it was
    unloaded. `work_s` is what its waiting requests take. `tenants`: those that use it, of an idle model the
    last one.
    """

    name: str
    state: ModelState
    load_s: float
    unload_s: float
    waiting: int = 0
    waits_s: float = 0.0
    running: int = 0
    idle_s: float = 0.0
    resident_s: float = 0.0
    changed_s: float = 0.0
    work_s: float = 0.0
    tenants: tuple[TenantUse, ...] = ()
    is_wanted: bool = False
    is_paused: bool = False
    may_leave: bool = False
    by_request: bool = False
    leaves_for: str | None = None
    return_paid: bool = False
    idle_unload_s: float | None = None

    @property
    def is_in_use(self) -> bool:
        """Whether requests run or wait."""
        return bool(self.waiting or self.running)

    @property
    def priority_factor(self) -> float:
        """That of the most urgent of its tenants."""
        return max((PRIORITY_FACTORS[tenant.priority] for tenant in self.tenants), default=1.0)

    def spent_s(self, more: Mapping[str, float] = NOTHING) -> float:
        """What the tenant with the fewest switches has spent: the others share what is done for it.

        `more` is added to the accounts.
        """
        spent = (tenant.spent_s + more.get(tenant.tenant, 0.0) for tenant in self.tenants)
        return min(spent, default=0.0)
