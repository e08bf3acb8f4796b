"""What the history of requests keeps of a request's headers: a fixed list, cut to short texts.

No other header is kept: `Authorization`, cookies and headers with a client's own texts (`Idempotency-Key`,
`X-Conversation-Id`, `X-Cache-Tag`) may be secret or name a person. Of an Idempotency-Key only its presence is
kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson

from api.http.request_headers import environ_key

MAX_VALUE = 120
"""Of each header so many characters are kept."""

KEPT_HEADERS = {
    "userAgent": "User-Agent",
    "sdkVersion": "X-Stainless-Package-Version",
    "sdkRuntime": "X-Stainless-Runtime-Version",
    "retryCount": "X-Stainless-Retry-Count",
    "apiVersion": "anthropic-version",
    "priority": "X-Priority",
    "timeoutMs": "X-Request-Timeout-Ms",
    "contentType": "Content-Type",
}
"""The headers that are kept, by their names in the record."""

_KEYS = [(name, environ_key(header)) for name, header in KEPT_HEADERS.items()]
_UNPRINTABLE = re.compile(r"[^\x20-\x7e]")


def client_facts(environ: Mapping[str, Any], request_id: str, path: str, key: str) -> bytes:
    """What is kept of a request, as JSON on one line: at most about 1.5 KB.

    `path` is the pattern of its path, `key` the id of its API key, "" without one.
    """
    facts: dict[str, Any] = {"requestId": request_id, "path": path}
    if key:
        facts["key"] = key
    if "HTTP_IDEMPOTENCY_KEY" in environ:
        facts["hasIdempotencyKey"] = True
    for name, field in _KEYS:
        if (value := environ.get(field)) is not None:
            facts[name] = _UNPRINTABLE.sub("?", value[:MAX_VALUE])
    return orjson.dumps(facts)
