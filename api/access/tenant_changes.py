"""The rules for changes of tenants by commands. What the configuration names, no command changes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from api.access.access_preview import AccessPreview
from api.access.access_records import TENANT_FIELDS, StoredAccess, TenantRecord
from api.access.access_store import AccessStore, Change
from api.access.authority import Authority
from api.access.registry import AccessRegistry
from api.http.errors import Conflict, NotFound
from config.rate_limit import RateLimit
from config.settings import DEFAULT_TENANT, Settings

MAX_TENANTS = 1000
"""The most tenants that commands make, removed ones whose names are still taken included."""

MIN_RESERVED_S = 900 + 60
"""As long as an Idempotency-Key refers to a response, and a minute."""


def reserved_s(settings: Settings) -> float:
    """How long the name of a removed tenant stays taken: until nothing of it is left (in seconds).

    Its requests may still wait, run and be stored; a new tenant of that name would find them.
    """
    runs_s = settings.queue.timeout_ms / 1000 + settings.limits.request_timeout_s
    return max(MIN_RESERVED_S, runs_s + settings.responses.retention_s)


class TenantChanges:
    """Adds, changes and removes tenants. Raises `NotFound` and `Conflict`, and then changes nothing."""

    def __init__(
        self, settings: Settings, registry: AccessRegistry, store: AccessStore | AccessPreview
    ) -> None:
        self._settings = settings
        self._configured = registry.configured
        self._store = store

    def add(self, authority: Authority, name: str, fields: Mapping[str, Any]) -> None:
        """Add a tenant."""
        if not self._settings.tenancy.enabled:
            raise Conflict(
                "tenancy.enabled is false: all requests belong to the tenant `default`",
                code="tenancy_disabled",
            )

        def decide(stored: StoredAccess) -> tuple[Change, None]:
            earlier, gone = stored.tenants.get(name), self._gone(stored)
            if self._configured.by_name(name) is not None:
                raise Conflict(
                    f"the configuration already defines the tenant {name}", code="tenant_exists", param="name"
                )
            if earlier is not None and earlier.makes_tenant:
                raise Conflict(f"the tenant {name} already exists", code="tenant_exists", param="name")
            if earlier is not None and earlier.removed_at is not None and name not in gone:
                free_s = earlier.removed_at + reserved_s(self._settings) - time.time()
                raise Conflict(
                    f"a tenant {name} was removed, and its responses may still be stored: the name can be "
                    f"used again in {free_s / 60:.0f} minutes",
                    code="tenant_name_reserved",
                    param="name",
                )
            if len(stored.tenants) - len(gone) >= MAX_TENANTS:
                raise Conflict(f"the limit of {MAX_TENANTS} tenants is reached", code="too_many_tenants")
            given = {field: value for field, value in fields.items() if value is not None}
            record = TenantRecord(given, created_at=time.time())
            # of a tenant of that name that was in the configuration: its keys must not come back
            own = [key for key in stored.keys if key.tenant == name]
            for key in own:
                authority.check_governance(key.scopes, "name")
            keys = {key.digest: None for key in own}
            tenants = {**gone, name: record}
            self._store.leave_cached_prefixes(name)  # those of that tenant
            change = Change("add_tenant", name, dict(fields), tenants=tenants, keys=keys, new_tenant=name)
            return change, None

        self._store.change(authority, decide)

    def set_fields(self, authority: Authority, name: str, fields: Mapping[str, Any]) -> None:
        """Set fields of a tenant; None removes a field: its default counts again."""

        def decide(stored: StoredAccess) -> tuple[Change, None]:
            configured, record = self._configured.by_name(name), stored.tenants.get(name)
            if configured is None and (record is None or not record.makes_tenant):
                raise no_such_tenant(name)
            for field in fields:
                if configured is not None and field in configured.configured:
                    raise Conflict(
                        f"the configuration sets {field} of the tenant {name} and takes precedence: "
                        "change it there",
                        code="set_by_configuration",
                        param=field,
                    )
            if record is None or record.removed_at is not None:
                record = TenantRecord()
            merged = {**record.fields, **fields}
            record = replace(
                record, fields={field: value for field, value in merged.items() if value is not None}
            )
            return Change("set_tenant", name, dict(fields), tenants={name: record}), None

        self._store.change(authority, decide)

    def remove(self, authority: Authority, name: str) -> int:
        """Remove a tenant and revoke its keys; returns how many."""

        def decide(stored: StoredAccess) -> tuple[Change, int]:
            if self._configured.by_name(name) is not None:
                reason = (
                    "always exists" if name == DEFAULT_TENANT else "is in the configuration: remove it there"
                )
                raise Conflict(f"the tenant {name} {reason}", code="set_by_configuration", param="name")
            record = stored.tenants.get(name)
            if record is None or not record.makes_tenant:
                raise no_such_tenant(name)
            own = [key for key in stored.keys if key.tenant == name]
            for key in own:
                authority.check_governance(key.scopes, "name")
            keys = {key.digest: None for key in own}
            removed = replace(record, fields={}, removed_at=time.time())
            detail = {"revoked_keys": len(keys)}
            change = Change(
                "remove_tenant", name, detail, tenants={**self._gone(stored), name: removed}, keys=keys
            )
            return change, len(keys)

        revoked = self._store.change(authority, decide)
        self._store.leave_cached_prefixes(name)  # a later tenant of that name must not find them
        return revoked

    def _gone(self, stored: StoredAccess) -> dict[str, TenantRecord | None]:
        """The removed tenants whose names are free again, as changes that forget them."""
        before = time.time() - reserved_s(self._settings)
        return {
            name: None
            for name, record in stored.tenants.items()
            if record.removed_at is not None and record.removed_at < before
        }


def tenant_fields(body: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a request's body, with rate limits in their canonical form."""
    fields = {name: body[name] for name in TENANT_FIELDS if name in body}
    return {
        name: RateLimit(value) if name in ("rate_limit", "token_limit") and value is not None else value
        for name, value in fields.items()
    }


def no_such_tenant(name: str, param: str = "name") -> NotFound:
    """The error for a name that no tenant has."""
    return NotFound(f"there is no tenant {name}", param=param)
