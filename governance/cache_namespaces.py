"""Cache namespaces: an engine reuses a cached prefix only for a request of the same namespace.

A namespace is the HMAC-SHA-256, under the platform's secret, of the tenant, the model, the caller's tag and
the epochs of all four scopes (everything, the model, the tenant, the tag), of which 128 bits are used. So no
caller can name or guess the namespace of another tenant, and raising an epoch makes every prefix of its scope
unreachable.

The secret and the epochs are in Redis, where all API processes of all hosts find the same ones. `reading`
does no I/O: it yields the commands to send and receives their replies.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Generator, Mapping, Sequence
from typing import Any

import orjson
import redis

SECRET_BYTES = 32
NAMESPACE_CHARS = 32
"""Hex digits of a namespace: 128 bits."""

VERSION = b"@version"
"""The field of the epochs that grows whenever one of them does."""

MAX_KNOWN = 1024
"""Of the namespaces, how many are remembered. A client may use any number of tags."""

Command = tuple[str, ...]


class CacheNamespaces:
    """The secret and the epochs as they were read last, and the namespaces that follow from them."""

    def __init__(self, prefix: str) -> None:
        """`prefix` is that of the platform's keys in Redis."""
        self._secret_key, self._epochs_key = f"{{{prefix}}}:cache_secret", f"{{{prefix}}}:cache_epochs"
        self._secret: bytes | None = None
        self._epochs: Mapping[bytes, bytes] = {}
        self._known: dict[tuple[str, str, str | None], str] = {}

    def of(self, tenant: str, model: str, tag: str | None) -> str | None:
        """The namespace of a request, in hex. None until the secret was read: such a request shares nothing.

        `tag` None and every tag are different namespaces of the tenant.
        """
        if self._secret is None:
            return None
        request = tenant, model, tag
        namespace = self._known.get(request)
        if namespace is None:
            epochs = [self._epochs.get(field, b"0").decode() for field in scopes(*request)]
            digest = hmac.digest(self._secret, orjson.dumps([*request, *epochs]), "sha256")
            namespace = digest.hex()[:NAMESPACE_CHARS]
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            self._known[request] = namespace
        return namespace

    def adopt(self, secret: bytes, epochs: Mapping[bytes, bytes]) -> None:
        """Use this secret and these epochs (by `scopes`) from now on."""
        if (secret, epochs) != (self._secret, self._epochs):
            self._secret, self._epochs, self._known = secret, epochs, {}

    def reading(self) -> Generator[Sequence[Command], list[Any], None]:
        """Read the secret and what changed of the epochs.

        Yields commands for one round trip each, and is sent their replies (RESP3). Two commands when nothing
        has changed. The first process to read creates the secret.
        """
        secret, version = yield [("GET", self._secret_key), ("HGET", self._epochs_key, VERSION.decode())]
        if secret is None:
            made = secrets.token_hex(SECRET_BYTES)
            _, secret = yield [("SET", self._secret_key, made, "NX"), ("GET", self._secret_key)]
        epochs = self._epochs
        if version != epochs.get(VERSION):
            (epochs,) = yield [("HGETALL", self._epochs_key)]
        self.adopt(secret, epochs)


def tenant_scope(tenant: str) -> bytes:
    """The field of a tenant's epoch."""
    return f"tenant {tenant}".encode()


def raise_epoch(client: redis.Redis, prefix: str, scope: bytes) -> None:
    """Make every cached prefix of a scope unreachable, for requests that come when all processes know it.

    `scope` is one of `scopes`. Raises redis-py's errors.
    """
    pipeline: Any = client.pipeline(transaction=True)
    for field in (scope, VERSION):
        pipeline.hincrby(f"{{{prefix}}}:cache_epochs", field, 1)
    pipeline.execute()


def scopes(tenant: str, model: str, tag: str | None) -> list[bytes]:
    """The fields of the epochs that a request depends on. Names of tenants and tags have no spaces."""
    fields = [b"all", f"model {model}".encode(), tenant_scope(tenant)]
    if tag is not None:
        fields.append(f"tag {tenant} {tag}".encode())
    return fields
