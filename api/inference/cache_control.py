"""The headers `X-Cache-Mode` and `X-Cache-Tag` of a request for a generation, and its `prompt_cache_key`.

They choose how its prompt meets the engine's prefix cache. The tag alone opens nothing: it is one of the
inputs of the cache namespace (`governance.cache_namespaces`), which the tenant is an input of, too.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any, Protocol

from api.http.errors import InvalidRequest
from generation.generation import CacheMode

CACHE_MODES = ("prefix", "none", "auto")
MAX_TAG_CHARS = 64
MAX_KEY_CHARS = 512
"""The longest `prompt_cache_key`."""

KEY_TAG_PREFIX = "pck-"

_MODE: dict[str, CacheMode] = {"prefix": "prefix", "none": "none", "auto": "prefix"}
_TAG = re.compile(rf"[\x21-\x7e]{{1,{MAX_TAG_CHARS}}}")


class Headers(Protocol):
    """Header fields by case-insensitive name."""

    def get(self, name: str, /) -> str | None:
        """The field's value; None when there is no such field."""
        ...


def cache_mode_of(headers: Headers) -> CacheMode:
    """The mode for an `X-Cache-Mode` header. Raises `InvalidRequest`.

    `auto`, the default, is `prefix`: every engine that can reuse a prefix does.
    """
    value = headers.get("X-Cache-Mode")
    if value is None:
        return "prefix"
    mode = _MODE.get(value.strip().lower())
    if mode is None:
        raise InvalidRequest(f"X-Cache-Mode must be one of {', '.join(CACHE_MODES)}", param="X-Cache-Mode")
    return mode


def cache_tag_of(headers: Headers) -> str | None:
    """The tag of an `X-Cache-Tag` header, None without one. Raises `InvalidRequest`."""
    tag = headers.get("X-Cache-Tag")
    if tag is not None and not _TAG.fullmatch(tag):
        raise InvalidRequest(
            f"X-Cache-Tag must be 1 to {MAX_TAG_CHARS} visible ASCII characters", param="X-Cache-Tag"
        )
    return tag


def cache_tag_of_key(body: Mapping[str, Any]) -> str | None:
    """The tag that the `prompt_cache_key` of a body stands for: `pck-` and 40 hex digits of its SHA-256."""
    key: str | None = body.get("prompt_cache_key")
    if not key:
        return None
    return KEY_TAG_PREFIX + hashlib.sha256(key.encode()).hexdigest()[:40]
