"""Formats tenants and API keys for people, and reads the end date of a key."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from stoker.tables import align

LIMIT_FIELDS = (
    "rate_limit",
    "token_limit",
    "max_running",
    "max_waiting",
    "max_streams",
    "max_readers",
    "max_bytes",
    "budget_tokens",
    "budget_gpu_s",
    "budget_soft",
)
UNITS_S = {"m": 60, "h": 3600, "d": 86_400}
DURATION = re.compile(r"([0-9]{1,6})([mhd])")


class InvalidTime(ValueError):
    """Raised for a text that is no time in the future; the text is one sentence."""


def unix_time(text: str) -> int:
    """Return the Unix time of `30d`, `12h`, `90m` from now, or of an ISO date (UTC). Raises `InvalidTime`."""
    match = DURATION.fullmatch(text)
    if match is not None:
        return int(time.time()) + int(match[1]) * UNITS_S[match[2]]
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidTime(f"{text} is neither a duration such as 30d nor a date such as 2027-01-31") from None
    return int((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp())


def tenant_table(tenants: Sequence[Mapping[str, Any]]) -> list[str]:
    """The tenants as lines of a table; below a tenant what a command set and the configuration overrides."""
    lines = align(
        [("name", "weight", "priority", "limits", "keys", "set by"), *(_tenant(row) for row in tenants)]
    )
    below = ["", *(_ignored(row) for row in tenants)]
    return [line for pair in zip(lines, below, strict=True) for line in pair if line]


def key_table(keys: Sequence[Mapping[str, Any]]) -> list[str]:
    """The keys as lines of a table."""
    columns = ("id", "tenant", "scopes", "models", "ends with", "expires", "last use", "label")
    return align([columns, *(_key(row) for row in keys)])


def _tenant(row: Mapping[str, Any]) -> tuple[str, ...]:
    limits = [f"{name}={row[name]}" for name in LIMIT_FIELDS if row.get(name) is not None]
    sources = ["configuration"] if row["is_configured"] else []
    sources += ["command"] if row["created_at"] is not None else []
    return (
        str(row["name"]),
        f"{row['weight']:g}",
        str(row["max_priority"]),
        " ".join(limits) or "-",
        str(row["keys"]),
        ", ".join(sources),
    )


def _ignored(row: Mapping[str, Any]) -> str:
    ignored = ", ".join(row.get("ignored") or ())
    return f"  the configuration sets {ignored}; the values set by commands are ignored" if ignored else ""


def _key(row: Mapping[str, Any]) -> tuple[str, ...]:
    expires = _moment(row["expires_at"], "never")
    return (
        str(row["id"]),
        str(row["tenant"]),
        ",".join(row["scopes"]),
        "all" if row["models"] is None else ",".join(row["models"]),
        str(row["hint"]) or "-",
        f"{expires} (expired)" if row["has_expired"] else expires,
        _moment(row["last_used_at"], "-"),
        "(configuration)" if row["is_configured"] else str(row["label"]),
    )


def _moment(at: float | None, none: str) -> str:
    return none if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")
