"""What a loaded engine reports once for llama-server's /props: its template, its tokens and its defaults.

A template may have 64 KiB, so the properties of a model have a key of their own, which nothing else reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

MAX_TEMPLATE_BYTES = 64 << 10
MAX_TEXT_BYTES = 1024
MAX_ENTRIES = 128

Scalar = bool | int | float | str | None


def encode_properties(properties: Mapping[str, Any] | None) -> bytes:
    """The JSON for Redis; b"" without properties. Whatever is larger than it may be is left out."""
    if not properties:
        return b""
    template = properties.get("chat_template")
    kept: dict[str, Any] = {
        name: _bounded(properties.get(name)) for name in ("params", "chat_template_caps")
    } | {name: _text(properties.get(name)) for name in ("bos_token", "eos_token")}
    fits = isinstance(template, str) and len(template.encode("utf-8", "replace")) <= MAX_TEMPLATE_BYTES
    return orjson.dumps({**kept, "chat_template": template if fits else ""})


def decode_properties(data: bytes | None) -> Mapping[str, Any]:
    """The properties in Redis, each empty if the engine reports none."""
    none = {"params": {}, "chat_template_caps": {}, "bos_token": "", "eos_token": "", "chat_template": ""}
    return {**none, **(orjson.loads(data) if data else {})}


def _bounded(given: object) -> dict[str, Scalar | list[str]]:
    """The entries with short plain values, or lists of short texts: no paths of files, no adapters."""
    if not isinstance(given, Mapping):
        return {}
    kept = {str(name): value for name, value in given.items() if _is_plain(value)}
    return dict(list(kept.items())[:MAX_ENTRIES])


def _is_plain(value: object) -> bool:
    if isinstance(value, list):
        return bool(value) and len(value) <= MAX_ENTRIES and all(isinstance(one, str) for one in value)
    return isinstance(value, bool | int | float) or (isinstance(value, str) and len(value) <= MAX_TEXT_BYTES)


def _text(given: object) -> str:
    return given if isinstance(given, str) and len(given) <= MAX_TEXT_BYTES else ""
