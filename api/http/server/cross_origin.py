"""Lets web pages of other origins read answers (CORS; Fetch standard, "HTTP extensions").

Every answer of the server has these header fields, errors and streams included. A preflight request carries
no key: it is answered before the key is looked for. Cookies are never allowed
(`Access-Control-Allow-Credentials` is not sent), so that a page has no more access than its key.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

ANY = "*"
METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE"
PREFLIGHT_AGE_S = 7200
"""How long a browser may reuse a preflight: Chrome's limit."""

MAX_HEADERS_CHARS = 4096
_HEADER_NAMES = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+(?: *, *[A-Za-z0-9!#$%&'*+.^_`|~-]+)*")

_LIMITS = [
    f"{name}-{kind}"
    for kind in ("requests", "tokens")
    for name in ("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset")
] + [
    f"anthropic-ratelimit-{kind}-{part}"
    for kind in ("requests", "tokens")
    for part in ("limit", "remaining", "reset")
]
EXPOSED = ", ".join(
    [
        *("x-request-id", "request-id", "retry-after", "x-should-retry"),
        *_LIMITS,
        *("x-queue-wait-ms", "x-gpu-time-ms", "x-cache-hit", "x-cache-tokens-reused"),
        *("location", "etag", "allow", "content-disposition", "preference-applied"),
    ]
)
"""The fields of answers that a page may read; browsers hide all but a few others."""

Field = tuple[str, str]

_ORIGIN = "HTTP_ORIGIN"


def origin_of(wsgi: Mapping[str, Any]) -> dict[str, Any]:
    """The part of an environ that `CrossOrigin.fields` needs."""
    return {_ORIGIN: wsgi[_ORIGIN]} if _ORIGIN in wsgi else {}


class CrossOrigin:
    """The header fields for the allowed origins; `*` allows all."""

    def __init__(self, origins: Collection[str]) -> None:
        self._any = ANY in origins
        self._origins = frozenset(origins)

    def fields(self, wsgi: Mapping[str, Any]) -> list[Field]:
        """The fields of the answer to the request of this environ."""
        if self._any:
            return [("Access-Control-Allow-Origin", ANY), ("Access-Control-Expose-Headers", EXPOSED)]
        origin = wsgi.get(_ORIGIN)
        if origin not in self._origins:
            return [("Vary", "Origin")]
        return [
            ("Vary", "Origin"),
            ("Access-Control-Allow-Origin", origin),
            ("Access-Control-Expose-Headers", EXPOSED),
        ]

    def preflight(self, method: str, wsgi: Mapping[str, Any]) -> dict[str, str] | None:
        """The further fields of the answer to a preflight request; None for any other request.

        A preflight of another origin is any other request: it is answered as before.
        """
        origin = wsgi.get(_ORIGIN)
        if method != "OPTIONS" or origin is None or "HTTP_ACCESS_CONTROL_REQUEST_METHOD" not in wsgi:
            return None
        if not self._any and origin not in self._origins:
            return None
        fields = {
            "Access-Control-Allow-Methods": METHODS,
            "Access-Control-Max-Age": str(PREFLIGHT_AGE_S),
        }
        wanted = wsgi.get("HTTP_ACCESS_CONTROL_REQUEST_HEADERS", "")
        if len(wanted) <= MAX_HEADERS_CHARS and _HEADER_NAMES.fullmatch(wanted):
            fields["Access-Control-Allow-Headers"] = wanted
        if wsgi.get("HTTP_ACCESS_CONTROL_REQUEST_PRIVATE_NETWORK") == "true" and not self._any:
            fields["Access-Control-Allow-Private-Network"] = "true"
        return fields
