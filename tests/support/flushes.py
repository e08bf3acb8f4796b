"""Requests of two tenants to a running platform, and flushes of their cached prefixes."""

from __future__ import annotations

from typing import Any

from config.tenants import digest_of
from tests.support.platform import Platform, preferred_wait

KEYS = {"a": "sk-tenant-a-for-tests", "b": "sk-tenant-b-for-tests"}
TENANTS = {name: {"api_keys_sha256": [digest_of(key)]} for name, key in KEYS.items()}
"""Local settings: the tenants a and b."""

PROMPT = "What is the capital of Norway, and what are those of Sweden, Finland, Denmark and Iceland? " * 4


def reused(platform: Platform, tenant: str, model: str, tag: str | None = None) -> int:
    """Send a tenant's request; returns how many tokens of its prompt were reused."""
    headers = {} if tag is None else {"X-Cache-Tag": tag}
    messages = [{"role": "user", "content": PROMPT}]
    body = {"model": model, "messages": messages, "max_tokens": 4, "temperature": 0}
    status, answer, measured = platform.request("POST", "/v1/chat/completions", body, KEYS[tenant], **headers)
    assert status == 200, answer
    count = int(measured["X-Cache-Tokens-Reused"])
    assert measured["X-Cache-Hit"] == ("true" if count else "false")
    return count


def flush(platform: Platform, **scope: str) -> dict[str, Any]:
    """Flush, and wait for the end; returns the operation."""
    status, operation, _ = platform.request(
        "POST", "/v1/admin/cache/flush", scope, platform.keys["admin_key"], Prefer=preferred_wait(30)
    )
    assert status == 200, operation
    assert operation["status"] == "completed", operation
    found: dict[str, Any] = operation
    return found
