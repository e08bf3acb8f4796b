"""The places of a job's prefix keys in `prefixes:<model>` (scheduler/lua/include/prefixes.lua).

A tenant has one of `BUCKETS` parts of the table, so that it displaces little of what others have there. Each
part has `PLACES`: the caches of some replicas hold a few hundred conversations, with about four keys each.
"""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

from generation.prefix_keys import PrefixKey

BUCKETS = 64
PLACES = 1024


def prefix_fields(tenant: str, keys: Sequence[PrefixKey], *, is_measured: bool = False) -> str:
    """The keys as the scripts read them: `field tag tokens` of each, separated by spaces.

    `whole` follows when the prompt is measured (`generation.prefix_keys.is_measured`).
    """
    if not keys:
        return ""
    bucket = crc32(tenant.encode()) % BUCKETS
    fields = " ".join(
        f"{bucket}.{int.from_bytes(digest[:2], 'big') % PLACES} {digest[2:].hex()} {tokens}"
        for digest, tokens in keys
    )
    return f"{fields} whole" if is_measured else fields
