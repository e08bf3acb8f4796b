"""Identifies the caller of a request: the tenant, by its API key, and the priority.

There are two modes. With keys configured (the usual mode) the key identifies the tenant: `Authorization:
Bearer KEY`, as OpenAI's SDK and Anthropic's newer ones send it, or `x-api-key: KEY`, as Anthropic's older
ones do; every route accepts both. An `X-Tenant-ID` that names another tenant is refused. Without any key the
platform is open: every caller may use every route, `X-Tenant-ID` selects a configured tenant (unknown names
share the tenant `default`), the API listens on the loopback interface only, and
`api.auth.open_mode` refuses web pages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, cast

from flask import g

from api.auth.access import Access
from api.auth.open_mode import OpenMode
from api.errors import Forbidden, InvalidApiKey, InvalidRequest
from config.errors import ConfigError
from config.loopback import is_loopback
from config.settings import DEFAULT_TENANT, PRIORITIES, Settings, Tenant
from config.tenants import Tenants

DEFAULT_PRIORITY = "normal"


class Headers(Protocol):
    """Header fields by case-insensitive name."""

    def get(self, name: str, /) -> str | None:
        """The field's value; None when there is no such field."""
        ...


@dataclass(frozen=True, slots=True)
class Caller:
    """The tenant of a request, and the request's priority."""

    tenant: Tenant
    priority: str


class Authenticator:
    """Identifies callers. Raises `ConfigError` when the platform would be open to the network."""

    def __init__(self, settings: Settings, tenants: Tenants) -> None:
        self._tenants = tenants
        self.open = not tenants.any_keys
        self.open_mode = OpenMode(settings.api.allowed_hosts) if self.open else None
        """The check of every request, public routes included; None with keys."""
        if self.open and not is_loopback(settings.api.host):
            raise ConfigError(
                f"api.host is {settings.api.host} but no tenant has an API key: set one,"
                " or listen on 127.0.0.1"
            )

    def identify(self, headers: Headers, access: Access) -> Caller:
        """The caller.

        Raises `InvalidApiKey` (401), `Forbidden` (403: tenant_mismatch, admin_required) and `InvalidRequest`
        (400) for an unknown priority.
        """
        tenant = self._open_tenant(headers) if self.open else self._keyed_tenant(headers)
        if access is Access.ADMIN and not (tenant.admin or self.open):
            raise Forbidden("this needs an administrator's key")
        return Caller(tenant, priority_of(headers.get("X-Priority"), tenant))

    def _open_tenant(self, headers: Headers) -> Tenant:
        named = self._tenants.by_name(headers.get("X-Tenant-ID") or DEFAULT_TENANT)
        return named or self._tenants.by_name(DEFAULT_TENANT) or Tenant(DEFAULT_TENANT)

    def _keyed_tenant(self, headers: Headers) -> Tenant:
        key = api_key_of(headers)
        if key is None:
            raise InvalidApiKey("no API key: send it as `Authorization: Bearer KEY` or `x-api-key: KEY`")
        tenant = self._tenants.by_key(key)
        if tenant is None:
            raise InvalidApiKey("this API key is not known")
        named = headers.get("X-Tenant-ID")
        if named is not None and named != tenant.name:
            raise Forbidden(
                "X-Tenant-ID is not this key's tenant", code="tenant_mismatch", param="X-Tenant-ID"
            )
        return tenant


def current_caller() -> Caller:
    """The caller of the current request, as `api.request_hooks` identified it."""
    return cast(Caller, g.caller)


def api_key_of(headers: Headers) -> str | None:
    """The API key of a request, in clear text; None when it carries none."""
    scheme, _, key = (headers.get("Authorization") or "").partition(" ")
    if scheme.lower() == "bearer" and key.strip():
        return key.strip()
    return headers.get("x-api-key") or None


def priority_of(requested: str | None, tenant: Tenant) -> str:
    """The priority for an `X-Priority` header, capped by the tenant's. Raises `InvalidRequest`."""
    priority = DEFAULT_PRIORITY if requested is None else requested.strip().lower()
    if priority not in PRIORITIES:
        raise InvalidRequest(f"X-Priority must be one of {', '.join(PRIORITIES)}", param="X-Priority")
    return PRIORITIES[max(PRIORITIES.index(priority), PRIORITIES.index(tenant.max_priority))]
