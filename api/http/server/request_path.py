"""One path for each route.

Clients join a base URL and a path with two slashes, or end one with a slash; and those of llama-server use
its second paths.
"""

from __future__ import annotations

import re

_SLASHES = re.compile(rb"/{2,}")

PAGES = (b"/ui/", b"/docs/")
"""Below them a slash at the end has a meaning: the addresses in pages are relative."""

CANONICAL = {
    b"/chat/completions": b"/v1/chat/completions",
    b"/chat/completions/control": b"/v1/chat/completions/control",
    b"/chat/completions/input_tokens": b"/v1/chat/completions/input_tokens",
    b"/completions": b"/completion",
    b"/reranking": b"/v1/rerank",
    b"/responses": b"/v1/responses",
    b"/responses/input_tokens": b"/v1/responses/input_tokens",
    b"/v1/reranking": b"/v1/rerank",
}
"""The second paths of routes, which llama-server has (tools/server/server.cpp)."""


def one_path(path: bytes) -> bytes:
    """The path with single slashes, and none at its end (that of a page keeps it); one path for each route.

    RFC 3986, 6.2.3, lets a server treat such paths as one. It is the path before its %-escapes are decoded.
    """
    if b"//" in path:
        path = _SLASHES.sub(b"/", path)
    if path.endswith(b"/") and not path.startswith(PAGES):
        path = path[:-1] or b"/"
    return CANONICAL.get(path, path)
