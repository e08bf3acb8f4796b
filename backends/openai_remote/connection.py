"""What an `openai_remote` model may set, read and checked; the key comes from the worker's environment."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from backends.base import LoadError
from backends.catalogue import BACKENDS
from backends.declaration import HEADER, OBJECT_FORMATS
from config.settings import ModelDefinition

BACKEND = BACKENDS["openai_remote"]
DEFAULT_PORTS = {"http": 80, "https": 443}
TOKEN, VISIBLE = map(re.compile, OBJECT_FORMATS[HEADER])
"""What the name and the value of a header are made of."""


@dataclass(frozen=True)
class RemoteOptions:
    """The backend's fields, without their prefix; the URL taken apart.

    `path` is that of the URL, without a slash at its end. `key` None sends none.
    """

    scheme: str
    host: str
    port: int
    path: str
    model: str
    unlisted: bool
    key: str | None = field(repr=False)
    key_variable: str | None
    headers: Mapping[str, str] = field(repr=False)
    api: str
    max_tokens_field: str
    thinking: bool
    connect_timeout_s: float
    read_timeout_s: float
    retries: int

    @classmethod
    def of(cls, model: ModelDefinition) -> RemoteOptions:
        """Read a model's options. Raises `LoadError` (load_failed)."""
        known = BACKEND.values(model.options)
        scheme, host, port, path = _address(known["url"])
        return cls(
            scheme=scheme,
            host=host,
            port=port,
            path=path,
            model=known["model"] or model.name,
            unlisted=known["unlisted"],
            key=_key(known["key_variable"]),
            key_variable=known["key_variable"],
            headers=_headers(known["headers"] or {}),
            api=known["api"],
            max_tokens_field=known["max_tokens_field"],
            thinking=known["thinking"],
            connect_timeout_s=known["connect_timeout_s"],
            read_timeout_s=known["read_timeout_s"],
            retries=known["retries"],
        )

    @property
    def place(self) -> str:
        """The server, as people name it: its host, and its port where that is not the usual one."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"


def _address(url: str | None) -> tuple[str, str, int, str]:
    """Scheme, host, port and path. Nothing of an address that is none is repeated: it may hold a password."""
    if url is None:
        raise _refused("set openai_remote_url to the server's address, up to and with /v1")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
        (host or "").encode("idna")  # as whoever looks it up will do
    except ValueError:
        host, port = None, None
    if host is None or parts.scheme not in DEFAULT_PORTS or not VISIBLE.fullmatch(url) or " " in url:
        raise _refused("openai_remote_url must look like https://host/v1 or http://host:port/v1")
    if parts.username is not None or parts.query or parts.fragment:
        raise _refused(
            "openai_remote_url may hold no user, query or fragment; a key belongs into the environment"
            " variable that openai_remote_key_variable names"
        )
    return parts.scheme, host, port or DEFAULT_PORTS[parts.scheme], parts.path.rstrip("/")


def _key(variable: str | None) -> str | None:
    if variable is None:
        return None
    key = os.environ.get(variable, "").strip()
    if not key:
        raise _refused(
            f"the environment variable {variable} is not set, or empty, where this worker runs: put the"
            " server's key there and restart the worker, or correct openai_remote_key_variable"
        )
    if not VISIBLE.fullmatch(key):
        raise _refused(f"what the environment variable {variable} holds is no key: a header cannot carry it")
    return key


def _headers(given: Mapping[str, object]) -> Mapping[str, str]:
    for name, value in given.items():
        if not TOKEN.fullmatch(name) or not isinstance(value, str) or not VISIBLE.fullmatch(value):
            raise _refused(f"openai_remote_headers: {name!r} is not a header with a text that one can carry")
    return {name: str(value) for name, value in given.items()}


def _refused(sentence: str) -> LoadError:
    return LoadError("load_failed", sentence)
