"""The addresses among the settings: what each of them may be, and how one is shown without its secrets."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import parse_qsl, urlsplit

_TEXT = r"(?:[^\s:/?#@%\[\]]|%[0-9A-Fa-f]{2})*"
_HOST = r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])"

REDIS_URL = (
    rf"rediss?://(?:{_TEXT}(?::{_TEXT})?@)?{_HOST}(?::[0-9]{{1,5}})?(?:/[0-9]{{0,5}})?(?:\?[^\s#]*)?"
    rf"|unix://(?:{_TEXT}(?::{_TEXT})?@)?/[^\s?#@]+(?:\?db=[0-9]{{1,5}})?"
)
"""A user and a password are percent-encoded: `/`, `?`, `#` and `@` would end them (RFC 3986, 3.2.1)."""

REDIS_URL_ADVICE = "; in its password, / is written %2F, # %23, ? %3F, @ %40, : %3A, and % %25"

TLS_PARAMETERS = {
    "ssl_ca_certs": r".+",
    "ssl_ca_path": r".+",
    "ssl_cert_reqs": r"none|optional|required",
    "ssl_certfile": r".+",
    "ssl_check_hostname": r"true|false",
    "ssl_keyfile": r".+",
}
"""The parameters that redis-py takes for TLS, which a `rediss://` address may have."""

_SECRETS = re.compile(r"(?<=://)([^/?#@]*?)(?::[^/?#@]*)?@")


def is_address(value: str) -> bool:
    """Whether an address can be divided into its parts, and has a port and a host that can exist."""
    try:
        parts = urlsplit(value)
        port = parts.port
        if parts.netloc.rpartition("@")[2].startswith("["):
            ipaddress.IPv6Address(parts.hostname or "")
        (parts.hostname or "").encode("idna")  # as the resolver does: no empty or too long label
    except ValueError:
        return False
    return port is None or port > 0


def is_redis_address(value: str) -> bool:
    """Whether redis-py and Celery can use a value that matches `REDIS_URL`."""
    if not is_address(value):
        return False
    parts = urlsplit(value)
    if parts.scheme == "unix" or not parts.query:
        return True
    try:
        given = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=True)
    except ValueError:
        return False
    return parts.scheme == "rediss" and all(
        name in TLS_PARAMETERS and re.fullmatch(TLS_PARAMETERS[name], value) for name, value in given
    )


def without_password(url: str) -> str:
    """An address of the settings with `***` in place of its password."""
    return _SECRETS.sub(r"\1:***@", url)


def without_path(url: str) -> str:
    """An address with `***` in place of its path and query, which may be a secret."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}{'/***' if parts.path or parts.query else ''}"
