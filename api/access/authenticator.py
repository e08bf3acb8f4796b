"""Identifies the caller of a request: the tenant, by its API key or by its name, and the priority.

There are three ways. The usual one is a key: `Authorization: Bearer KEY`, as OpenAI's SDK and Anthropic's
newer ones send it, or `x-api-key: KEY`, as Anthropic's older ones do; every route accepts both. An
`X-Tenant-ID` that names another tenant is refused, unless the key has the scope `tenants`. A trusted proxy
(`tenancy.trusted_proxies`) may send no key: its `X-Tenant-ID` is believed. Without any key and any proxy in
the configuration the platform is open: every caller may use every route, `X-Tenant-ID` is believed, the API
listens on the loopback interface only, and `api.access.open_mode` refuses web pages. Unknown names belong to
the tenant `default`.
"""

from __future__ import annotations

import re
from typing import Protocol

from api.access.caller import Caller, Identity
from api.access.open_mode import OpenMode
from api.access.person import Person, digest_of_rules
from api.access.registry import AccessRegistry
from api.access.session_store import UsedSession
from api.access.trusted_proxies import TrustedProxies
from api.http.errors import Forbidden, InvalidApiKey, InvalidRequest
from api.http.route_access import Access
from api.http.server.cross_origin import ANY
from config.api_keys import INFERENCE, SPEAKS_FOR_TENANTS, ApiKey, digest_of
from config.errors import ConfigError
from config.loopback import is_loopback
from config.settings import DEFAULT_TENANT, Settings, Tenant
from config.tenant_schema import TENANT_NAME
from store.errors import StokerError, StorageUnavailable
from telemetry.request_ids import current_ids

TENANT_HEADER = "X-Tenant-ID"

_NAME = re.compile(TENANT_NAME, re.ASCII)


class Headers(Protocol):
    """Header fields by case-insensitive name."""

    def get(self, name: str, /) -> str | None:
        """The field's value; None when there is no such field."""
        ...


class Authenticator:
    """Identifies callers. Raises `ConfigError` when the platform would be open to the network."""

    def __init__(self, settings: Settings, registry: AccessRegistry) -> None:
        self._registry = registry
        self._one_tenant = not settings.tenancy.enabled
        self._rules = None if settings.oidc.issuer is None else digest_of_rules(settings.oidc)
        self._proxies = TrustedProxies(settings.tenancy.trusted_proxies)
        self.open = not registry.configured.any_keys and not self._proxies
        origins = settings.api.allowed_origins
        self.open_mode = OpenMode(settings.api.allowed_hosts, allowed_origins=origins) if self.open else None
        """The check of every request, public routes included; None with keys."""
        if ANY in origins and (self.open or self._proxies):
            raise ConfigError(
                "api.allowed_origins is * but requests need no API key: any web page could send them;"
                " name the origins, or require keys"
            )
        if self.open and self._rules is not None:
            raise ConfigError(
                "oidc.issuer is set but requests need no API key, so there is nothing to sign in for: set "
                "STOKER_ADMIN_KEY"
            )
        listeners = {"api.host": settings.api.host}
        if settings.metrics.enabled and settings.metrics.port is not None:
            listeners["metrics.host"] = settings.metrics.host
        for name, host in listeners.items():
            if self.open and not is_loopback(host):
                raise ConfigError(
                    f"{name} is {host} but no tenant has an API key: set one, or listen on 127.0.0.1"
                )

    def warnings(self) -> list[str]:
        """What an operator should know of who may call, each in one sentence."""
        if self.open:
            return [
                "no tenant has an API key: every program on this machine may use every route, and "
                "X-Tenant-ID is trusted; set STOKER_ADMIN_KEY to require keys"
            ]
        if self._proxies.everyone():
            return [
                "tenancy.trusted_proxies contains every address: every client may send any X-Tenant-ID "
                "without a key"
            ]
        return []

    def identify(self, headers: Headers, access: Access, address: str | None) -> Caller:
        """The caller, whose connection comes from `address`.

        Raises `InvalidApiKey` (401), `Forbidden` (403: tenant_mismatch, or a missing scope), `InvalidRequest`
        (400) for an unknown priority and for a tenant's name of another form, and `StorageUnavailable` for an
        unknown key while those in Redis were never read.
        """
        key = None if self.open else api_key_of(headers)
        identity = self._by_name(headers, address) if key is None else self._by_key(key, headers)
        _note_tenant(identity)
        if not access.admits(identity.key.scopes):
            identity.caller(None).check_access(access)
        return identity.caller(headers.get("X-Priority"))

    def identify_session(self, used: UsedSession, headers: Headers, access: Access) -> Caller:
        """The caller with a session.

        Without the session's admin part it is for inference only. Raises what `identify` raises, and
        `Forbidden` (admin_sign_in_required) for a scope that its key or person has and the session has not.
        """
        identity = self.identity_of_session(used, headers)
        _note_tenant(identity)
        if not used.as_admin:
            if access.admits(identity.key.scopes) and not access.admits(identity.key.scopes & INFERENCE):
                message = "sign in again: this session has no admin part, or it has expired"
                raise Forbidden(message, code="admin_sign_in_required")
            identity = identity.limited_to(INFERENCE)
        caller = identity.caller(headers.get("X-Priority"))
        caller.check_access(access)
        return caller

    def identity_of_session(self, used: UsedSession, headers: Headers) -> Identity:
        """The identity of a session's API key or person, with all scopes. Raises what `identify` raises."""
        if used.person is None:
            return self.identity_of(used.key, headers)
        tenant = self._tenant_of(used.person)
        if tenant is None:
            raise InvalidApiKey("this session has ended: sign in again", code="session_ended")
        named = headers.get(TENANT_HEADER)
        if named is not None and named != tenant.name and not self._one_tenant:
            raise Forbidden("X-Tenant-ID is not your tenant", code="tenant_mismatch", param=TENANT_HEADER)
        return Identity(tenant, ApiKey("", "", tenant.name, used.person.scopes), person=used.person)

    def is_valid(self, caller: Caller) -> bool:
        """Whether the key or the person of a caller that was identified before may still call.

        That the session has not ended is left to `SessionWatch`.
        """
        if caller.person is not None:
            return self._tenant_of(caller.person) is not None
        return self._registry.is_valid(caller.key)

    def _tenant_of(self, person: Person) -> Tenant | None:
        """The tenant of a person; None if it was removed, or the settings of the sign-in have changed.

        A person's roles are those of the sign-in: other settings might give fewer.
        """
        if person.rules != self._rules or not person.roles:
            return None
        return self._registry.identities.tenants.get(DEFAULT_TENANT if self._one_tenant else person.tenant)

    def may_become_known(self, headers: Headers) -> bool:
        """Whether the key of a request is unknown here, and may be new (`AccessRegistry.follow_now`)."""
        key = None if self.open or not self._registry.follows else api_key_of(headers)
        return key is not None and self._registry.identities.by_digest(digest_of(key)) is None

    async def follow_keys(self) -> None:
        """Ask once for new keys."""
        await self._registry.follow_now()

    def _by_key(self, key: str, headers: Headers) -> Identity:
        return self.identity_of(digest_of(key), headers)

    def identity_of_key(self, key: str) -> Identity:
        """The identity of an API key in clear text. Raises what `identify` raises."""
        return self.identity_of(digest_of(key), {})

    def identity_of(self, digest: str, headers: Headers) -> Identity:
        """The identity of the API key with that SHA-256 digest. Raises what `identify` raises."""
        identity = self._registry.identities.by_digest(digest)
        if identity is None:
            raise self._unknown_key()
        if identity.key.expires_at is not None and identity.has_expired():
            raise InvalidApiKey("this API key has expired")
        named = headers.get(TENANT_HEADER)
        if named is not None and named != identity.tenant.name and not self._one_tenant:
            if SPEAKS_FOR_TENANTS not in identity.key.scopes:
                raise Forbidden(
                    "X-Tenant-ID is not this key's tenant", code="tenant_mismatch", param=TENANT_HEADER
                )
            self._check_name(named)
            identity = self._registry.identities.speaking_for(identity, named)
        self._registry.used.add(identity.key.id)
        return identity

    def _unknown_key(self) -> StokerError:
        if self._registry.is_complete:
            return InvalidApiKey("this API key is not known")
        return StorageUnavailable(
            "the shared store (Redis) cannot be reached, so this API key cannot be checked; retry in a "
            "moment",
            retry_after_s=2,
        )

    def _by_name(self, headers: Headers, address: str | None) -> Identity:
        if not self.open and address not in self._proxies:
            raise InvalidApiKey("no API key: send it as `Authorization: Bearer KEY` or `x-api-key: KEY`")
        named = headers.get(TENANT_HEADER)
        if named is not None and not self._one_tenant:
            self._check_name(named)
        return self._registry.identities.by_name(named, proxy=not self.open)

    @staticmethod
    def _check_name(name: str) -> None:
        if not _NAME.fullmatch(name):
            raise InvalidRequest(f"X-Tenant-ID must match {TENANT_NAME}", param=TENANT_HEADER)


def _note_tenant(identity: Identity) -> None:
    """Note the tenant of the current request: a refusal for its scope or priority counts for it, too."""
    if (ids := current_ids.get()) is not None:
        ids.tenant = identity.tenant.name


def api_key_of(headers: Headers) -> str | None:
    """The API key of a request, in clear text; None when it carries none."""
    scheme, _, key = (headers.get("Authorization") or "").partition(" ")
    if scheme.lower() == "bearer" and key.strip():
        return key.strip()
    return headers.get("x-api-key") or None
