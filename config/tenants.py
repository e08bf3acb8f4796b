"""The tenants and the API keys of the configuration."""

from __future__ import annotations

from dataclasses import replace

from config.api_keys import ALL_SCOPES, INFERENCE, ApiKey, configured_key, digest_of
from config.generated_keys import read_keys
from config.settings import ADMIN_TENANT, DEFAULT_TENANT, Settings, Tenant


class Tenants:
    """All tenants: the configured ones and `default`; and their keys.

    Of the generated keys (`config.generated_keys`), `api_key` belongs to `default` and `admin_key` to
    `admin`. A key has the scope `inference`, that of a tenant with `admin` all scopes. Raises `ConfigError`
    when the file of the generated keys cannot be read.
    """

    def __init__(self, settings: Settings) -> None:
        """Index the tenants by name and their keys by digest."""
        self._by_name: dict[str, Tenant] = {DEFAULT_TENANT: Tenant(DEFAULT_TENANT), **settings.tenants}
        generated = read_keys(settings.data_dir)
        if generated is not None:
            self._add_key(DEFAULT_TENANT, generated.api_key)
            self._add_key(ADMIN_TENANT, generated.admin_key, admin=True)
        self._by_digest = {
            digest: configured_key(digest, tenant.name, ALL_SCOPES if tenant.admin else INFERENCE)
            for tenant in self._by_name.values()
            for digest in tenant.api_keys_sha256
        }

    @property
    def any_keys(self) -> bool:
        """Whether any tenant has a key; without any, requests need no key."""
        return bool(self._by_digest)

    def by_name(self, name: str) -> Tenant | None:
        """The tenant of that name, or None."""
        return self._by_name.get(name)

    def all(self) -> list[Tenant]:
        """All tenants."""
        return list(self._by_name.values())

    def api_keys(self) -> list[ApiKey]:
        """The keys of all tenants."""
        return list(self._by_digest.values())

    def _add_key(self, name: str, key: str, *, admin: bool = False) -> None:
        tenant = self._by_name.get(name, Tenant(name))
        digests = tuple(dict.fromkeys((*tenant.api_keys_sha256, digest_of(key))))
        self._by_name[name] = replace(tenant, api_keys_sha256=digests, admin=tenant.admin or admin)
