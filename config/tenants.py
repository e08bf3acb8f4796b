"""The tenants, by name and by API key."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import replace

from config.generated_keys import read_keys
from config.settings import ADMIN_TENANT, DEFAULT_TENANT, Settings, Tenant


class Tenants:
    """All tenants: the configured ones and `default`.

    Of the generated keys (`config.generated_keys`), `api_key` belongs to `default` and `admin_key` to
    `admin`. Raises `ConfigError` when their file cannot be read.
    """

    def __init__(self, settings: Settings) -> None:
        """Index the tenants by name and by key."""
        self._by_name: dict[str, Tenant] = {DEFAULT_TENANT: Tenant(DEFAULT_TENANT), **settings.tenants}
        keys = read_keys(settings.data_dir)
        if keys is not None:
            self._add_key(DEFAULT_TENANT, keys.api_key)
            self._add_key(ADMIN_TENANT, keys.admin_key, admin=True)
        self._by_digest = {
            digest: tenant for tenant in self._by_name.values() for digest in tenant.api_keys_sha256
        }

    @property
    def any_keys(self) -> bool:
        """Whether any tenant has a key; without any, requests need no key."""
        return bool(self._by_digest)

    def by_name(self, name: str) -> Tenant | None:
        """The tenant of that name, or None."""
        return self._by_name.get(name)

    def by_key(self, key: str) -> Tenant | None:
        """The tenant of an API key (in clear text), or None.

        The index is by digest, so the duration of a look-up reveals nothing about a key. The digest found is
        compared once more in constant time.
        """
        digest = digest_of(key)
        tenant = self._by_digest.get(digest)
        if tenant is None:
            return None
        stored = next(one for one in tenant.api_keys_sha256 if one == digest)
        return tenant if hmac.compare_digest(stored.encode("ascii"), digest.encode("ascii")) else None

    def names(self) -> list[str]:
        """All names, sorted."""
        return sorted(self._by_name)

    def _add_key(self, name: str, key: str, *, admin: bool = False) -> None:
        tenant = self._by_name.get(name, Tenant(name))
        digests = tuple(dict.fromkeys((*tenant.api_keys_sha256, digest_of(key))))
        self._by_name[name] = replace(tenant, api_keys_sha256=digests, admin=tenant.admin or admin)


def digest_of(key: str) -> str:
    """The SHA-256 hex digest of a key, which may hold lone surrogates (bytes that are not UTF-8)."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
