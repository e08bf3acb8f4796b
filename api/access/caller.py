"""The caller of a request: its tenant, its key and the request's priority."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import cast

from flask import g

from api.access.person import Person, roles_with
from api.http.errors import Forbidden, InvalidRequest
from api.http.route_access import Access
from config.api_keys import ApiKey, with_implied
from config.settings import PRIORITIES, Tenant

DEFAULT_PRIORITY = "normal"


@dataclass(frozen=True, slots=True)
class Caller:
    """The tenant of a request, and the request's priority.

    `key` has the scopes and the models that the caller may use; on a platform without keys, and for a trusted
    proxy, it stands for no real key. `unknown_name` is an `X-Tenant-ID` that names no tenant: such a caller
    belongs to the tenant `default`, but shares no cached prefix with its others. `person` signed in by OpenID
    Connect; then `key` stands for no real key and has the scopes of the person's roles.
    """

    tenant: Tenant
    priority: str
    key: ApiKey
    unknown_name: str | None = None
    person: Person | None = None

    @property
    def usage_key(self) -> str:
        """The id of the key in whose usage its requests count.

        It is "" for a key of another tenant, which speaks for this one: tenants see no keys of others.
        """
        return self.key.id if self.key.tenant == self.tenant.name else ""

    @property
    def person_id(self) -> str:
        """The id of the person, whose own responses and conversations it sees alone; "" for a key."""
        return "" if self.person is None else self.person.id

    def check_access(self, access: Access) -> None:
        """Raise `Forbidden` (`admin_required`, ...) if the key lacks the scope of a route."""
        if not access.admits(self.key.scopes):
            needed = f"this request needs a key with the scope `{access.scope}`"
            if self.person is not None:
                roles = " or ".join(roles_with(access))
                needed = f"this request needs the role {roles}; you have {', '.join(self.person.roles)}"
            raise Forbidden(needed, code=access.code)

    def sees(self, key: ApiKey) -> bool:
        """Whether it may read about a key of its tenant.

        With the scope `read` about each, as at /v1/admin/keys, else about its own and those that have no
        scope which it lacks.
        """
        own = with_implied(self.key.scopes)
        return Access.READ.value in own or with_implied(key.scopes) <= own or key.id == self.key.id

    def may_use(self, model: str) -> bool:
        """Whether the key's requests may name this model."""
        return self.key.models is None or model in self.key.models

    def check_model(self, model: str) -> None:
        """Raise `Forbidden` (`model_not_allowed`) if the key's requests may not name this model."""
        if not self.may_use(model):
            raise Forbidden(
                f"this key does not allow the model {model!r}", code="model_not_allowed", param="model"
            )

    def with_priority(self, priority: str) -> Caller:
        """The caller with another priority, capped by the tenant's. Raises `InvalidRequest`."""
        return replace(self, priority=priority_of(priority, self.tenant))


class Identity:
    """A tenant with one of its keys, and its callers by `X-Priority`, made at their first use."""

    __slots__ = ("_callers", "_unknown_name", "key", "person", "tenant")

    def __init__(
        self, tenant: Tenant, key: ApiKey, unknown_name: str | None = None, person: Person | None = None
    ) -> None:
        self.tenant = tenant
        self.key = key
        self._unknown_name = unknown_name
        self.person = person
        self._callers: dict[str | None, Caller] = {}

    def limited_to(self, scopes: frozenset[str]) -> Identity:
        """The identity with these of its scopes alone."""
        key = replace(self.key, scopes=self.key.scopes & scopes)
        return Identity(self.tenant, key, self._unknown_name, self.person)

    def has_expired(self) -> bool:
        """Whether the key's end date has passed."""
        ends_at = self.key.expires_at
        return ends_at is not None and ends_at <= time.time()

    def caller(self, priority: str | None) -> Caller:
        """The caller of a request with this `X-Priority`. Raises `InvalidRequest`."""
        found = self._callers.get(priority)
        if found is None:
            capped = priority_of(priority, self.tenant)
            found = Caller(self.tenant, capped, self.key, self._unknown_name, self.person)
            if priority is None or priority in PRIORITIES:  # not " High": a client has many ways to write it
                self._callers[priority] = found
        return found


def current_caller() -> Caller:
    """The caller of the current request, as `api.request_hooks` identified it."""
    return cast(Caller, g.caller)


def priority_of(requested: str | None, tenant: Tenant) -> str:
    """The priority for an `X-Priority` header, capped by the tenant's. Raises `InvalidRequest`."""
    priority = DEFAULT_PRIORITY if requested is None else requested.strip().lower()
    if priority not in PRIORITIES:
        raise InvalidRequest(f"X-Priority must be one of {', '.join(PRIORITIES)}", param="X-Priority")
    return PRIORITIES[max(PRIORITIES.index(priority), PRIORITIES.index(tenant.max_priority))]
