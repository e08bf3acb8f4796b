"""The limits in force for a tenant: its own, and for the others those of all tenants."""

from __future__ import annotations

import math
from dataclasses import dataclass

from config.rate_limit import RateLimit
from config.settings import QueueSettings, Settings, Tenant


@dataclass(frozen=True, slots=True)
class Budget:
    """What a tenant's ended requests may use in a calendar month (UTC); None: no bound of that unit.

    `gpu_s` are seconds in slots. `soft` is the share from which an alert fires; None: there is none.
    """

    tokens: int | None = None
    gpu_s: int | None = None
    soft: float | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one tenant; None: no limit. `docs/configuration.md` says what each one bounds."""

    rate_limit: RateLimit | None
    token_limit: RateLimit | None
    max_running: int | None
    max_waiting: int
    max_streams: int | None
    max_readers: int
    max_bytes: int
    budget: Budget | None


def limits_of(tenant: Tenant, settings: Settings, *, several_tenants: bool = True) -> Limits:
    """The limits in force for a tenant. `several_tenants`: there are others than `default` and `admin`."""
    common = settings.tenancy
    several_tenants = several_tenants and common.enabled
    return Limits(
        rate_limit=tenant.rate_limit or common.rate_limit,
        token_limit=tenant.token_limit or common.token_limit,
        max_running=tenant.max_running or common.max_running,
        max_waiting=(
            _depth_per_tenant(settings.queue, several_tenants)
            if tenant.max_waiting is None
            else tenant.max_waiting
        ),
        max_streams=tenant.max_streams or common.max_streams,
        max_readers=tenant.max_readers or common.max_readers,
        max_bytes=tenant.max_bytes or settings.responses.max_bytes_per_tenant,
        budget=budget_of(tenant),
    )


def budget_of(tenant: Tenant) -> Budget | None:
    """The budget of a tenant; None if it has one of no unit."""
    if tenant.budget_tokens is None and tenant.budget_gpu_s is None:
        return None
    return Budget(tenant.budget_tokens, tenant.budget_gpu_s, tenant.budget_soft)


def _depth_per_tenant(queue: QueueSettings, several_tenants: bool) -> int:
    """How much of a queue one tenant may fill: three quarters unless set, and all of it if it is alone."""
    if queue.max_depth_per_tenant is not None:
        return queue.max_depth_per_tenant
    return math.ceil(queue.max_depth * 3 / 4) if several_tenants else queue.max_depth
