"""Options of request bodies that several dialects have."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from api.http.errors import InvalidRequest
from api.inference.dialects.request_fields import SWITCHES


def reject_field(body: dict[str, Any], name: str, *, unless: Sequence[Any] = ()) -> None:
    """Raise `InvalidRequest` (unsupported_parameter) unless the field is absent, null or one of `unless`.

    For fields that would change the answer; unsupported fields that would not are ignored.
    """
    value = body.get(name)
    if value is not None and value not in unless:
        raise InvalidRequest(f"{name} is not supported", code="unsupported_parameter", param=name)


_EFFORTS = {
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "high",
    "max": "high",
}


def effort_of(effort: str | None) -> str | None:
    """The effort as one of `REASONING_EFFORTS`, the ones that chat templates know; None for any other."""
    return None if effort is None else _EFFORTS.get(effort)


def thinking_of(body: Mapping[str, Any], effort: str | None) -> str:
    """The thinking mode: the field `thinking`, else disabled for an effort of `none`, else default.

    For the others, which name an amount of thinking, see `effort_of`.
    """
    thinking: str | Mapping[str, str] | None = body.get("thinking")
    if thinking is not None:
        return thinking if isinstance(thinking, str) else SWITCHES[thinking["type"]]
    return "disabled" if effort == "none" else "default"


def cache_tag_of_key(body: Mapping[str, Any]) -> str | None:
    """The tag that the `prompt_cache_key` of a body stands for: `pck-` and 40 hex digits of its SHA-256."""
    key: str | None = body.get("prompt_cache_key")
    if not key:
        return None
    return "pck-" + hashlib.sha256(key.encode()).hexdigest()[:40]
