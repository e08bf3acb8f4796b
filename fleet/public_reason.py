"""Why a load failed, for tenants: as `public_reason` of `lua/include/replica.lua` says it to requests."""

from __future__ import annotations

import re

LOAD_FAILURES = frozenset({"load_failed", "load_timeout", "out_of_memory"})
"""Codes whose message says something about the model; that of others is about hosts and processes."""

MAX_BYTES = 300
_HIDDEN = (
    re.compile(r'"[^"]*[/\\][^"]*"'),
    re.compile(r"'[^']*[/\\][^']*'"),
    re.compile(r"\S*[/\\]\S*"),
    re.compile(r"\d+\.\d+\.\d+\.\d+[:\d]*"),
)


def public_reason(code: str, message: str | None) -> str | None:
    """The message of a failed load without quoted texts that have a path, paths and IP addresses, cut off.

    None for other codes: only the code is public.
    """
    if code not in LOAD_FAILURES or not message:
        return None
    for pattern in _HIDDEN:
        message = pattern.sub("...", message)
    text = message.encode()
    return message if len(text) <= MAX_BYTES else text[:MAX_BYTES].decode(errors="ignore") + "..."
