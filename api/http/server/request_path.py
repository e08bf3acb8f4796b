"""One path for each route: clients join a base URL and a path with two slashes, or end one with a slash."""

from __future__ import annotations

import re

_SLASHES = re.compile(rb"/{2,}")

PAGES = (b"/ui/", b"/docs/")
"""Below them a slash at the end has a meaning: the addresses in pages are relative."""


def one_path(path: bytes) -> bytes:
    """The path with single slashes and none at its end; that of a page keeps it.

    RFC 3986, 6.2.3, lets a server treat such paths as one. It is the path before its %-escapes are decoded.
    """
    if b"//" in path:
        path = _SLASHES.sub(b"/", path)
    if path.endswith(b"/") and not path.startswith(PAGES):
        return path[:-1] or b"/"
    return path
