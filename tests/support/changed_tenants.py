"""Changes of tenants on a simulated platform."""

from __future__ import annotations

from api.access.access_records import TenantRecord
from api.access.access_store import AccessStore, Change
from api.access.authority import Authority
from governance.audit import AuditLog
from governance.authorization import ADMIN_KEY, Authorization
from tests.support.simulated_platform import SimulatedPlatform


def change_tenants(platform: SimulatedPlatform, **records: TenantRecord | None) -> None:
    """Write the records of tenants, or forget them."""
    settings = platform.settings
    audit = AuditLog(platform.client, settings.redis.prefix, settings.data_dir / "audit")
    authority = Authority(Authorization("boss", ADMIN_KEY), frozenset())
    change = Change("remove_tenant", "any", tenants=records)
    AccessStore(platform.client, settings.redis.prefix, audit).change(authority, lambda _: (change, None))
