"""Cache namespaces: an engine reuses a cached prefix only for a request of the same namespace.

A namespace is the HMAC-SHA-256, under the platform's secret, of the tenant, the model, the request's LoRA
adapter if it has one, the caller's tag and the epochs of all four scopes (everything, the model, the tenant,
the tag), of which 128 bits are used. So no caller can name or guess the namespace of another tenant, and
raising an epoch makes every prefix of its scope unreachable.

The secret and the epochs are in Redis, where all API processes and workers of all hosts find the same ones.
This module does no I/O: its callers read them (`api/inference/namespace_reader.py`,
`workers/current_namespaces.py`).
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Mapping
from typing import Any

import orjson
import redis

SECRET_BYTES = 32
NAMESPACE_CHARS = 32
"""Hex digits of a namespace: 128 bits."""

DERIVED_KEY_BYTES = 64

VERSION = b"@version"
"""The field of the epochs that grows whenever one of them does."""

MAX_KNOWN = 1024
"""Of the namespaces, how many are remembered. A client may use any number of tags."""

TRUSTED_S = 4.0
"""How long epochs count as current after they were read. A process that cannot read them any more names no
namespace from then on; a flush waits for it longer than that (`fleet.flush.ALIVE_US`)."""

EVERYTHING = b"all"
"""The field of the epoch of everything."""


class CacheNamespaces:
    """The secret and the epochs as they were read last, and the namespaces that follow from them."""

    def __init__(self) -> None:
        self._secret: bytes | None = None
        self._epochs: Mapping[bytes, bytes] = {}
        self._read_at = 0.0
        self._known: dict[tuple[str, str, str | None, str | None, str | None], str] = {}

    @property
    def version(self) -> str | None:
        """The version of the epochs in use; None until they were read."""
        return None if self._secret is None else self._epochs.get(VERSION, b"0").decode()

    def of(
        self,
        tenant: str,
        model: str,
        tag: str | None,
        unknown_name: str | None = None,
        lora: str | None = None,
    ) -> str | None:
        """The namespace of a new request, in hex; None is none: such a request shares nothing.

        None until the secret was read, and when the last reading is older than `TRUSTED_S`: an epoch may have
        been raised since. `tag` None and every tag are different namespaces of the tenant. So are the names
        of unknown tenants, which share all else of the tenant `default`, and the LoRA adapters: what one of
        them computes of a prompt is wrong for the others.
        """
        if time.monotonic() - self._read_at > TRUSTED_S:
            return None
        return self.as_read(tenant, model, tag, unknown_name, lora)

    def as_read(
        self,
        tenant: str,
        model: str,
        tag: str | None,
        unknown_name: str | None = None,
        lora: str | None = None,
    ) -> str | None:
        """The namespace by the last reading, however old it is; None until the secret was read."""
        if self._secret is None:
            return None
        request = tenant, model, tag, unknown_name, lora
        namespace = self._known.get(request)
        if namespace is None:
            owner = tenant, model, tag, unknown_name
            epochs = [self._epochs.get(field, b"0").decode() for field in scopes(*owner)]
            named = [] if lora is None else [{"lora": lora}]  # an object: no epoch is one
            digest = hmac.digest(self._secret, orjson.dumps([*owner, *named, *epochs]), "sha256")
            namespace = digest.hex()[:NAMESPACE_CHARS]
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            self._known[request] = namespace
        return namespace

    def derived_key(self, purpose: bytes) -> bytes | None:
        """A key of DERIVED_KEY_BYTES bytes that follows from the secret; None until that was read.

        `purpose` is what it is for, and does not begin as the JSON of a namespace's inputs does.
        """
        return None if self._secret is None else hmac.digest(self._secret, purpose, "sha512")

    def adopt(self, secret: bytes, epochs: Mapping[bytes, bytes], read_at: float | None = None) -> None:
        """Use this secret and these epochs (by `scopes`) from now on.

        `read_at` is the time (time.monotonic()) at which they were asked for, by default now.
        """
        self._read_at = time.monotonic() if read_at is None else read_at
        if (secret, epochs) != (self._secret, self._epochs):
            self._secret, self._epochs, self._known = secret, epochs, {}

    def confirm(self, secret: bytes, read_at: float) -> None:
        """The epochs in use were still the current ones at that time, under this secret."""
        self.adopt(secret, self._epochs, read_at)


def read_all(client: redis.Redis, prefix: str) -> tuple[bytes, dict[bytes, bytes]]:
    """Read the secret and all epochs. The first process to read makes the secret.

    Raises redis-py's errors. It writes nothing else, so that it succeeds when the memory of Redis is full.
    """
    key, found = f"{{{prefix}}}:cache_secret", _read(client, prefix)
    if found[0] is None:
        client.set(key, new_secret(), nx=True)
        found = _read(client, prefix)
    secret, epochs = found
    return secret, epochs


def _read(client: redis.Redis, prefix: str) -> Any:
    pipeline: Any = client.pipeline(transaction=True)
    return pipeline.get(f"{{{prefix}}}:cache_secret").hgetall(f"{{{prefix}}}:cache_epochs").execute()


def new_secret() -> str:
    """A random secret, for a platform that has none yet."""
    return secrets.token_hex(SECRET_BYTES)


def model_scope(model: str) -> bytes:
    """The field of a model's epoch."""
    return f"model {model}".encode()


def tenant_scope(tenant: str) -> bytes:
    """The field of a tenant's epoch."""
    return f"tenant {tenant}".encode()


def tag_scope(tenant: str, tag: str) -> bytes:
    """The field of the epoch of a tenant's tag."""
    return f"tag {tenant} {tag}".encode()


def raise_epoch(client: redis.Redis, prefix: str, scope: bytes) -> None:
    """Make every cached prefix of a scope unreachable, for requests that come when all processes know it.

    `scope` is one of `scopes`. Raises redis-py's errors.
    """
    pipeline: Any = client.pipeline(transaction=True)
    for field in (scope, VERSION):
        pipeline.hincrby(f"{{{prefix}}}:cache_epochs", field, 1)
    pipeline.execute()


def scopes(tenant: str, model: str, tag: str | None, unknown_name: str | None = None) -> list[bytes]:
    """The fields of the epochs that a request depends on. Names of tenants and tags have no spaces."""
    fields = [EVERYTHING, model_scope(model), tenant_scope(tenant)]
    if unknown_name is not None:
        fields.append(tenant_scope(unknown_name))
    if tag is not None:
        fields += [tag_scope(name, tag) for name in (tenant, unknown_name) if name is not None]
    return fields
