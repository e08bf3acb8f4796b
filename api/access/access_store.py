"""Reads and changes the tenants and API keys in Redis, each change together with its audit record."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import redis

from api.access.access_records import (
    StoredAccess,
    TenantRecord,
    decode_key,
    decode_tenant,
    encode_key,
    encode_tenant,
)
from api.access.authority import Authority
from config.api_keys import ApiKey
from fleet.errors import NotAuthorized
from governance.audit import AuditLog
from governance.audit.event import script_arguments
from governance.cache_namespaces import raise_epoch, tenant_scope
from store.errors import StorageUnavailable
from store.scripts import Scripts, redis_errors_translated

MAX_TRIES = 100

LUA = Path(__file__).parent / "lua"

Result = TypeVar("Result")
Item = tuple[bytes, bytes]
"""A field of a hash, and its value."""


@dataclass(frozen=True)
class Change:
    """What one call changes. `tenants` and `keys` (by digest): None removes one.

    `action`, `subject` and `detail` are those of the audit record. What an earlier tenant of the name
    `new_tenant` used is forgotten.
    """

    action: str
    subject: str
    detail: Mapping[str, Any] = field(default_factory=dict)
    tenants: Mapping[str, TenantRecord | None] = field(default_factory=dict)
    keys: Mapping[str, ApiKey | None] = field(default_factory=dict)
    new_tenant: str = ""


class AccessStore:
    """The records in Redis. Every method raises `StorageUnavailable` or `StorageFull`."""

    def __init__(self, client: redis.Redis, prefix: str, audit: AuditLog) -> None:
        self._client: Any = client
        self._scripts = Scripts(client, prefix, LUA)
        self._audit = audit
        self._tenants_key = f"{{{prefix}}}:tenants"
        self._keys_key = f"{{{prefix}}}:api_keys"
        self._used_key = f"{{{prefix}}}:keys_used"
        self._decoded: tuple[dict[Item, TenantRecord], dict[Item, ApiKey | None]] = ({}, {})
        self._prefix = prefix
        self.version_key = f"{{{prefix}}}:access_version"

    def read(self) -> StoredAccess:
        """All records, as they were at one moment."""
        with redis_errors_translated():
            pipeline = self._client.pipeline(transaction=True)
            version, tenants, keys = (
                pipeline.get(self.version_key).hgetall(self._tenants_key).hgetall(self._keys_key).execute()
            )
        # what has not changed since the last read is not decoded again
        known_tenants, known_keys = self._decoded
        decoded_tenants = {
            item: known_tenants.get(item) or decode_tenant(item[0].decode(), item[1])
            for item in tenants.items()
        }
        decoded_keys = {
            item: known_keys.get(item) or decode_key(item[0].decode(), item[1]) for item in keys.items()
        }
        self._decoded = decoded_tenants, decoded_keys  # at once: threads read at the same time
        return StoredAccess(
            (version or b"").decode(),
            {name.decode(): record for (name, _), record in decoded_tenants.items()},
            tuple(key for key in decoded_keys.values() if key is not None),
        )

    def change(self, authority: Authority, decide: Callable[[StoredAccess], tuple[Change, Result]]) -> Result:
        """Change what `decide` says of the present records, and return its result.

        When another process changes something meanwhile, `decide` is asked again. What it raises is raised.
        The audit record names the authority. A proposal is started by the change. Raises `NotAuthorized` if
        it was started before, or has ended.
        """
        for _ in range(MAX_TRIES):
            stored = self.read()
            change, result = decide(stored)
            if self._apply(authority, stored.version, change):
                return result
        raise StorageUnavailable("too many changes at once; retry in a moment", retry_after_s=1)

    def _apply(self, authority: Authority, version: str, change: Change) -> bool:
        event = authority.event(change.action, change.subject, "done", change.detail)
        tenants = [
            part
            for name, tenant in change.tenants.items()
            for part in (name, b"" if tenant is None else encode_tenant(tenant))
        ]
        keys = [
            part
            for digest, key in change.keys.items()
            for part in (digest, b"" if key is None else encode_key(key))
        ]
        record = script_arguments(event)
        del record["by"]  # the authorization has it
        answer = self._scripts.run(
            "change_access",
            version=version,
            new_version=secrets.token_hex(8),
            authorization=authority.authorization.argument(),
            **record,
            new_tenant=change.new_tenant,
            tenant_count=len(change.tenants),
            changes=[*tenants, *keys],
        )
        if answer[0] == b"refused":
            raise NotAuthorized(answer[1].decode())
        if answer[0] == b"ok":
            self._audit.sync()
        return bool(answer[0] == b"ok")

    def allow_texts(self, version: str, tenants: Sequence[str]) -> bool:
        """Set the tenants whose texts the history of requests keeps, and delete those of all others.

        False, and nothing is done, if the records are no longer those of `version`.
        """
        return bool(self._scripts.run("allow_texts", version=version, tenants=tenants))

    def leave_cached_prefixes(self, tenant: str) -> None:
        """Make the prefixes that engines have cached for a tenant unreachable."""
        with redis_errors_translated():
            raise_epoch(self._client, self._prefix, tenant_scope(tenant))

    def last_used(self, ids: Iterable[str]) -> dict[str, float]:
        """The Unix times (s) of the last uses of keys; without those that were not used."""
        wanted = list(ids)
        if not wanted:
            return {}
        with redis_errors_translated():
            times = self._client.hmget(self._used_key, wanted)
        return {id: float(at) for id, at in zip(wanted, times, strict=True) if at is not None}

    def record_uses(self, uses: Mapping[str, int]) -> None:
        """Write the Unix times (s) of the last uses of keys, by id."""
        with redis_errors_translated():
            self._client.hset(self._used_key, mapping=dict(uses))

    def forget_uses(self, known: Iterable[str]) -> None:
        """Remove the times of keys that are not among the known ids."""
        with redis_errors_translated():
            unknown = {id.decode() for id in self._client.hkeys(self._used_key)} - set(known)
            if unknown:
                self._client.hdel(self._used_key, *unknown)
