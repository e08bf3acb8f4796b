"""Query parameters and headers that several routes take, as OpenAPI has them."""

from __future__ import annotations

from typing import Any

from flask import request

from api.errors import InvalidRequest
from config.settings import PRIORITIES


def _header(name: str, about: str, **schema: Any) -> dict[str, Any]:
    return {"name": name, "in": "header", "description": about, "schema": {"type": "string", **schema}}


PRIORITY = _header(
    "X-Priority",
    "The priority to wait in; never above the tenant's own bound. Normal unless set.",
    enum=list(PRIORITIES),
)
IDEMPOTENCY_KEY = _header(
    "Idempotency-Key",
    "A repeat under the same key, with the same body and within 15 minutes, gets the first one's response.",
    minLength=1,
    maxLength=255,
    pattern="^[!-~]+$",
)
PREFER = _header(
    "Prefer",
    "`wait=N` (RFC 7240): wait up to N seconds, at most 600, for the end instead of polling.",
    pattern="^wait=[0-9]{1,3}$",
)
LAST_EVENT_ID = _header(
    "Last-Event-ID", "The id of the last event that was heard of.", pattern="^[0-9]{1,20}-[0-9]{1,20}$"
)
STREAM = {
    "name": "stream",
    "in": "query",
    "description": "Answer with server-sent events: all from the first one, then those still to come.",
    "schema": {"type": "boolean"},
}
STARTING_AFTER = {
    "name": "starting_after",
    "in": "query",
    "description": "With `stream`: only the events with a `sequence_number` over this one.",
    "schema": {"type": "integer", "minimum": 0, "maximum": 2**31 - 1},
}


def flag(name: str) -> bool:
    """A boolean of the query; False unless given. Raises `InvalidRequest`."""
    value = request.args.get(name)
    if value is None:
        return False
    if value.lower() not in ("true", "false"):
        raise InvalidRequest(f"{name} must be true or false", param=name)
    return value.lower() == "true"


def whole(name: str, most: int = 2**31 - 1) -> int | None:
    """An integer from 0 to `most` of the query, None unless given. Raises `InvalidRequest`."""
    value = request.args.get(name)
    if value is None:
        return None
    if not (value.isascii() and value.isdigit() and len(value) <= 10 and int(value) <= most):
        raise InvalidRequest(f"{name} must be an integer from 0 to {most}", param=name)
    return int(value)
