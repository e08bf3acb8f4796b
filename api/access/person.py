"""A person who signed in by OpenID Connect, and the scopes of the roles that the provider's claims give.

Roles are sets of the scopes that keys have, too: each route has one rule for both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

import orjson

from api.http.route_access import Access
from config.api_keys import ALL_SCOPES
from config.settings import ROLES, OidcSettings

ROLE_SCOPES: Mapping[str, frozenset[str]] = {
    "viewer": frozenset({"inference", "read", "metrics"}),
    "operator": frozenset({"inference", "read", "operate", "metrics"}),
    "approver": frozenset({"inference", "read", "metrics", "governance"}),
    "admin": ALL_SCOPES,
}

NOT_DECIDING = frozenset({"name", "redirect_url", "scopes", "secret_variable"})
"""The settings of `oidc` that give and take away nothing of a person who has signed in."""


@dataclass(frozen=True, slots=True)
class Person:
    """Who signed in. `issuer` and `subject` identify the person at all times; name and email may change.

    `email` is None unless the provider has verified it. `tenant` is the one whose requests the person makes.
    `rules` is the digest of the settings by which the person signed in (`digest_of_rules`).
    """

    issuer: str
    subject: str
    name: str
    email: str | None
    roles: tuple[str, ...]
    tenant: str
    rules: str = ""

    @property
    def id(self) -> str:
        """An id of the issuer and the subject, which no API key's digest equals."""
        return f"person_{sha256(orjson.dumps([self.issuer, self.subject])).hexdigest()[:32]}"

    @property
    def actor(self) -> str:
        """The person as the audit names it. It has an `@`, which no tenant's name has.

        Without a verified address it begins with `sub:`, so that it equals no other person's address.
        """
        return self.email or f"sub:{self.subject}@{urlsplit(self.issuer).hostname}"

    @property
    def scopes(self) -> frozenset[str]:
        """The scopes of all roles."""
        return frozenset().union(*(ROLE_SCOPES[role] for role in self.roles))

    def as_object(self) -> dict[str, Any]:
        """The person as pages get it."""
        return {"id": self.id, "name": self.name, "email": self.email, "roles": self.roles}

    def record(self, tenant: str) -> dict[str, Any]:
        """The person for the detail of an audit record."""
        who = {"issuer": self.issuer, "subject": self.subject, "name": self.name}
        return {**who, "roles": list(self.roles), "tenant": tenant}

    def encode(self) -> bytes:
        """The JSON text that the session stores."""
        return orjson.dumps(asdict(self))


def decode_person(text: bytes) -> Person:
    """A person from the JSON text of a session. Unknown roles and fields, of other versions, are left out.

    `rules` is empty where an earlier version has stored none.
    """
    raw = {"rules": ""} | orjson.loads(text)
    known = {one.name: raw[one.name] for one in fields(Person)}
    return Person(**{**known, "roles": tuple(role for role in raw["roles"] if role in ROLE_SCOPES)})


def digest_of_rules(settings: OidcSettings) -> str:
    """A digest of the settings that decide who may sign in, with which roles and tenant, and for how long.

    The order of the groups counts: the tenant is that of the first group that names one.
    """
    rules = {name: value for name, value in asdict(settings).items() if name not in NOT_DECIDING}
    return sha256(orjson.dumps(rules)).hexdigest()[:16]


def roles_with(access: Access) -> list[str]:
    """The roles that may use routes with this rule."""
    return [role for role in ROLES if access.admits(ROLE_SCOPES[role])]
