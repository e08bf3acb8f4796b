"""The identities of all callers: an index of the tenants and their keys, made anew when either changes."""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from dataclasses import replace
from operator import attrgetter

from api.access.caller import Identity
from api.http.route_access import Access
from config.api_keys import ALL_SCOPES, INFERENCE, ApiKey
from config.settings import ADMIN_TENANT, DEFAULT_TENANT, Tenant

WITHOUT_KEY = ApiKey("", "", DEFAULT_TENANT, ALL_SCOPES)
"""What stands for the key of a caller on a platform without keys."""

OF_PROXY = ApiKey("", "", DEFAULT_TENANT, INFERENCE | {Access.LIFECYCLE.value})
"""What stands for the key of a caller whose tenant a trusted proxy names."""


class Identities:
    """Immutable. With `one_tenant` all keys, and all callers without one, belong to the tenant `default`."""

    def __init__(self, tenants: Iterable[Tenant], keys: Iterable[ApiKey], *, one_tenant: bool) -> None:
        self.tenants = {DEFAULT_TENANT: Tenant(DEFAULT_TENANT)} | {tenant.name: tenant for tenant in tenants}
        self._default = self.tenants[DEFAULT_TENANT]
        self._one_tenant = one_tenant
        self.several_tenants = not one_tenant and bool(self.tenants.keys() - {DEFAULT_TENANT, ADMIN_TENANT})
        """Whether there are tenants beside `default` and `admin`."""
        self._by_digest = {
            key.digest: Identity(self._default, replace(key, tenant=DEFAULT_TENANT))
            if one_tenant
            else Identity(self.tenants[key.tenant], key)
            for key in keys
            if key.tenant in self.tenants
        }
        self._named: dict[tuple[str, bool], Identity] = {}
        for tenant in self.tenants.values():
            self._named[tenant.name, True] = Identity(tenant, OF_PROXY)
            self._named[tenant.name, False] = Identity(tenant, WITHOUT_KEY)

    def by_digest(self, digest: str) -> Identity | None:
        """The identity of an API key by its SHA-256 digest, or None.

        The index is by digest, so the duration of a look-up reveals nothing about a key. The digest found is
        compared once more in constant time.
        """
        found = self._by_digest.get(digest)
        if found is None or not hmac.compare_digest(found.key.digest.encode(), digest.encode()):
            return None
        return found

    def has(self, key: ApiKey) -> bool:
        """Whether this key is still one of them, has lost no scope, and has not expired."""
        found = self._by_digest.get(key.digest)
        return found is not None and found.key.scopes >= key.scopes and not found.has_expired()

    def speaking_for(self, identity: Identity, name: str) -> Identity:
        """The identity of a key with the scope `tenants` that names a tenant, or a name of none.

        It may request what a trusted proxy may, as far as its key has the scopes; nothing is done in the name
        of another tenant with the scope `admin`.
        """
        scopes = identity.key.scopes & INFERENCE
        if Access.GOVERNANCE.value in identity.key.scopes:
            scopes |= {Access.LIFECYCLE.value}
        key = replace(identity.key, scopes=scopes)
        tenant = self.tenants.get(name)
        return Identity(tenant or self._default, key, unknown_name=None if tenant else name)

    def api_keys(self) -> list[ApiKey]:
        """All keys."""
        return [identity.key for identity in self._by_digest.values()]

    def keys_of(self, tenant: str) -> list[ApiKey]:
        """The keys of a tenant, by id."""
        return sorted((key for key in self.api_keys() if key.tenant == tenant), key=attrgetter("id"))

    def by_name(self, name: str | None, *, proxy: bool) -> Identity:
        """The identity without a key, of the tenant of that name.

        Unknown names are the tenant `default`, each with its own cached prefixes.
        """
        if self._one_tenant or name is None:
            name = DEFAULT_TENANT
        found = self._named.get((name, proxy))
        return found or Identity(self._default, OF_PROXY if proxy else WITHOUT_KEY, unknown_name=name)
