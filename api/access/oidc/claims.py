"""Finds the person of an ID token: the name, the address, and the roles and the tenant by its claims."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from api.access.oidc.errors import SignInRefused
from api.access.person import Person, digest_of_rules
from config.settings import ROLES, OidcSettings

MAX_NAME = 128
MAX_EMAIL = 254  # RFC 5321, 4.5.3.1.3
MAX_VALUES = 2048
"""Values of the claim that are looked at."""

MAX_SHOWN, MAX_SHOWN_VALUE = 8, 64
"""Values of the claim in the log, and characters of each."""


def person_of(claims: Mapping[str, Any], settings: OidcSettings) -> Person:
    """The person of verified claims. Raises `SignInRefused` for one that may not sign in."""
    email = _verified_email(claims)
    if settings.email_domains:
        _check_domain(email, settings.email_domains)
    values = _values(claims, settings.claim, email)
    is_email = settings.claim == "email"  # of an address the domain has no case
    groups = [
        group
        for value, group in settings.groups.items()
        if (_with_small_domain(value) if is_email else value) in values
    ]
    given = {group.role for group in groups} or ({settings.default_role} - {None})
    if not given:
        raise SignInRefused(
            f"you have no role here: none of your values of the claim {settings.claim} is in oidc.groups;"
            " ask an administrator for one",
            code="no_role",
        )
    tenant = next((group.tenant for group in groups if group.tenant is not None), settings.tenant)
    roles = tuple(role for role in ROLES if role in given)
    return _person(claims, settings, email, roles, tenant)


def described(claims: Mapping[str, Any], settings: OidcSettings) -> str:
    """Whose claims these are, and their values that may give roles: for the log, on one line, bounded."""
    email = _verified_email(claims)
    person = _person(claims, settings, email, (), settings.tenant)
    values = sorted(_values(claims, settings.claim, email))
    shown = [repr(value[:MAX_SHOWN_VALUE]) for value in values[:MAX_SHOWN]]
    more = [f"{len(values) - len(shown)} more"] * (len(values) > len(shown))
    listed = ", ".join(shown + more) or "none"
    return f"{person.actor!r}, named {person.name!r}, values of the claim {settings.claim}: {listed}"


def _person(
    claims: Mapping[str, Any], settings: OidcSettings, email: str | None, roles: tuple[str, ...], tenant: str
) -> Person:
    rules = digest_of_rules(settings)
    return Person(str(settings.issuer), claims["sub"], _name(claims, email), email, roles, tenant, rules)


def _verified_email(claims: Mapping[str, Any]) -> str | None:
    """The address, if the provider says that it belongs to the person."""
    email = claims.get("email")
    if claims.get("email_verified") not in (True, "true"):
        return None
    if not isinstance(email, str) or not email.isprintable() or " " in email or len(email) > MAX_EMAIL:
        return None
    local, at, domain = email.rpartition("@")
    return _with_small_domain(email) if local and at and domain else None


def _with_small_domain(email: str) -> str:
    local, at, domain = email.rpartition("@")
    return f"{local}{at}{domain.lower()}"


def _check_domain(email: str | None, domains: tuple[str, ...]) -> None:
    if email is None:
        raise SignInRefused("the provider has not verified your email address", code="email_not_allowed")
    if email.rpartition("@")[2] not in domains:
        raise SignInRefused("the domain of your email address may not sign in here", code="email_not_allowed")


def _values(claims: Mapping[str, Any], path: str, email: str | None) -> set[str]:
    """The texts of the claim. An address that the provider has not verified gives no role."""
    if path == "email":
        return {email} if email else set()
    found: Any = claims.get(path)
    if found is None:  # a claim's own name may have dots, too: `https://example.com/roles`
        found = claims
        for name in path.split("."):
            found = found.get(name) if isinstance(found, Mapping) else None
    values = found[:MAX_VALUES] if isinstance(found, list) else [found]
    return {value for value in values if isinstance(value, str)}


def _name(claims: Mapping[str, Any], email: str | None) -> str:
    for value in (claims.get("name"), claims.get("preferred_username"), email, claims["sub"]):
        if isinstance(value, str) and value.strip():
            return "".join(c for c in value if c.isprintable())[:MAX_NAME].strip() or claims["sub"][:MAX_NAME]
    return str(claims["sub"])[:MAX_NAME]
