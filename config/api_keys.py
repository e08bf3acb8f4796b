"""API keys as the platform knows them: by their digest, never in clear text."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection
from dataclasses import dataclass

SCOPES = ("inference", "read", "operate", "admin", "metrics", "governance")
"""What a key may be for; each route of the API needs one of them, or none."""

IMPLIED_SCOPES = {"operate": ("read",), "admin": ("read", "operate")}
"""The scopes that a scope includes."""

SPEAKS_FOR_TENANTS = "tenants"
"""A further scope, of gateways: `X-Tenant-ID` may name any tenant. Only a key made with it has it."""

KEY_SCOPES = (*SCOPES, SPEAKS_FOR_TENANTS)

PREFIX = "sk-stoker-"
"""Begins a key that a command makes."""

HINT_CHARACTERS = 4

INFERENCE = frozenset({"inference"})
ALL_SCOPES = frozenset(SCOPES)


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key of a tenant.

    `models` are the models that its requests may name; None: all. `expires_at` and `created_at` are Unix
    times in seconds, None: never, unknown. `hint` is the end of the key, by which people recognise it.
    `configured`: the configuration has it, no command made it.
    """

    id: str
    digest: str
    tenant: str
    scopes: frozenset[str] = INFERENCE
    models: frozenset[str] | None = None
    expires_at: float | None = None
    created_at: float | None = None
    label: str = ""
    hint: str = ""
    configured: bool = False


def with_implied(scopes: Collection[str]) -> frozenset[str]:
    """The scopes, and those that they include."""
    return frozenset(scopes).union(*(IMPLIED_SCOPES.get(scope, ()) for scope in scopes))


def new_secret() -> str:
    """A new key in clear text."""
    return PREFIX + secrets.token_urlsafe(32)


def hint_of(secret: str) -> str:
    """The last characters of a key, by which people recognise it."""
    return secret[-HINT_CHARACTERS:]


def digest_of(key: str) -> str:
    """The SHA-256 hex digest of a key, which may hold lone surrogates (bytes that are not UTF-8)."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def configured_key(digest: str, tenant: str, scopes: frozenset[str]) -> ApiKey:
    """A key of the configuration; its id is the same in all processes."""
    return ApiKey(f"key_config_{digest[:12]}", digest, tenant, scopes, configured=True)
