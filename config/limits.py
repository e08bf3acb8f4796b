"""The limits in force for a tenant: its own, and for the others those of all tenants."""

from __future__ import annotations

from dataclasses import dataclass

from config.rate_limit import RateLimit
from config.settings import Settings, Tenant


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


def limits_of(tenant: Tenant, settings: Settings) -> Limits:
    """The limits in force for a tenant."""
    common = settings.tenancy
    return Limits(
        rate_limit=tenant.rate_limit or common.rate_limit,
        token_limit=tenant.token_limit or common.token_limit,
        max_running=tenant.max_running or common.max_running,
        max_waiting=(
            settings.queue.max_depth_per_tenant if tenant.max_waiting is None else tenant.max_waiting
        ),
        max_streams=tenant.max_streams or common.max_streams,
        max_readers=tenant.max_readers or common.max_readers,
        max_bytes=tenant.max_bytes or settings.responses.max_bytes_per_tenant,
    )
