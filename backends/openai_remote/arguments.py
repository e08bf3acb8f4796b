"""The options of an `openai_remote` model, read and checked; the key comes from the worker's environment."""

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
HEADER_NAME, HEADER_VALUE = map(re.compile, OBJECT_FORMATS[HEADER])


@dataclass(frozen=True)
class RemoteOptions:
    """The backend's fields without their prefix, the URL in its parts.

    `path` is the URL's path without a slash at its end. Without a `key` no `Authorization` header is sent.
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
    cache_field: str | None
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
            cache_field=known["cache_field"],
            thinking=known["thinking"],
            connect_timeout_s=known["connect_timeout_s"],
            read_timeout_s=known["read_timeout_s"],
            retries=known["retries"],
        )

    @property
    def place(self) -> str:
        """The server's address in messages: its host, with its port where that is not the default one."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The address that the paths of requests are appended to."""
        return f"{self.scheme}://{self.place}{self.path}"


def _address(url: str | None) -> tuple[str, str, int, str]:
    """Return scheme, host, port and path of the server's URL.

    Raises `LoadError`, whose message does not repeat the URL: it may contain a password.
    """
    if url is None:
        raise _error("set openai_remote_url to the server's address, up to and with /v1")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
        (host or "").encode("idna")  # as the look-up of the host does
    except ValueError:
        host, port = None, None
    if host is None or parts.scheme not in DEFAULT_PORTS or not HEADER_VALUE.fullmatch(url) or " " in url:
        raise _error("openai_remote_url must look like https://host/v1 or http://host:port/v1")
    if parts.username is not None or parts.query or parts.fragment:
        raise _error(
            "openai_remote_url must not contain a user, query or fragment; a key belongs in the "
            "environment variable named by openai_remote_key_variable"
        )
    return parts.scheme, host, port or DEFAULT_PORTS[parts.scheme], parts.path.rstrip("/")


def _key(variable: str | None) -> str | None:
    if variable is None:
        return None
    key = os.environ.get(variable, "").strip()
    if not key:
        raise _error(
            f"the environment variable {variable} is not set, or empty, where this worker runs: put the"
            " server's key there and restart the worker, or correct openai_remote_key_variable"
        )
    if not HEADER_VALUE.fullmatch(key):
        raise _error(f"the value of the environment variable {variable} is not a valid key for a header")
    return key


def _headers(given: Mapping[str, object]) -> Mapping[str, str]:
    for name, value in given.items():
        valid = isinstance(value, str) and HEADER_VALUE.fullmatch(value)
        if not HEADER_NAME.fullmatch(name) or not valid:
            raise _error(f"openai_remote_headers: {name!r} is not a valid header with a string as its value")
    return {name: str(value) for name, value in given.items()}


def _error(sentence: str) -> LoadError:
    return LoadError("load_failed", sentence)
