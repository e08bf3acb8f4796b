"""Who a key belongs to."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import replace

from config.keys import read_keys
from config.settings import Settings, Tenant

DEFAULT = "default"
ADMIN = "admin"


class Tenants:
    """All tenants, found by name or by key.

    Besides the configured ones there is always `default`; with generated keys (`config.keys`) their `api_key`
    is one of `default` and their `admin_key` one of `admin`. Raises `ConfigError` when those are unreadable.
    """

    def __init__(self, settings: Settings) -> None:
        """Index the tenants of the settings and those of the generated keys."""
        self._by_name: dict[str, Tenant] = {DEFAULT: Tenant(DEFAULT), **settings.tenants}
        keys = read_keys(settings.data_dir)
        if keys is not None:
            self._add_key(DEFAULT, keys.api_key)
            self._add_key(ADMIN, keys.admin_key, admin=True)
        self._by_digest = {
            digest: tenant for tenant in self._by_name.values() for digest in tenant.api_keys_sha256
        }

    @property
    def any_keys(self) -> bool:
        """Whether any tenant has a key: if not, the platform is open."""
        return bool(self._by_digest)

    def by_name(self, name: str) -> Tenant | None:
        """The tenant of that name, or None."""
        return self._by_name.get(name)

    def by_key(self, key: str) -> Tenant | None:
        """The tenant that this API key (in clear) belongs to, or None.

        The look-up is by digest, so its timing says nothing about a key; the comparison is there for keys
        that no index should ever decide alone.
        """
        digest = digest_of(key)
        tenant = self._by_digest.get(digest)
        if tenant is None:
            return None
        held = next(known for known in tenant.api_keys_sha256 if known == digest)
        return tenant if hmac.compare_digest(held.encode("ascii"), digest.encode("ascii")) else None

    def names(self) -> list[str]:
        """All names, sorted."""
        return sorted(self._by_name)

    def _add_key(self, name: str, key: str, *, admin: bool = False) -> None:
        tenant = self._by_name.get(name, Tenant(name))
        digests = tuple(dict.fromkeys((*tenant.api_keys_sha256, digest_of(key))))
        self._by_name[name] = replace(tenant, api_keys_sha256=digests, admin=tenant.admin or admin)


def digest_of(key: str) -> str:
    """The SHA-256 hex digest under which a key is kept; any text is taken, also what is not valid UTF-8."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
