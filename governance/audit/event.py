"""What an audit record tells of one change or attempt, and its form in `audit_pending`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

MAX_TEXT = 256
"""Characters of the actor, the authority, the action, the subject and the outcome, and of a text in the
detail.
"""

MAX_DETAIL = 2048
"""Bytes of the detail as JSON."""

MAX_ITEMS = 64
MAX_DEPTH = 4
MAX_INTEGER = 2**53 - 1
"""The largest integer of RFC 8785."""

CUT = "… (cut)"
PLATFORM = "platform"


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """A change or an attempt.

    `actor` is a tenant, or `platform`. `authority` is how it was authorised: `admin key`, `op token`,
    `proposal` or `platform`. `action` is a verb (`load`, `unload`, `flush`, `cancel`, `create_key`, ...),
    `subject` what it is done to, `outcome` one of `begun`, `completed`, `failed`, `cancelled`, `done` and
    `refused`. `detail` has the rest: the operation, the code and message of a failure, the precise reason of
    a refusal, the signers.
    """

    actor: str
    authority: str
    action: str
    subject: str
    outcome: str
    detail: Mapping[str, Any] = field(default_factory=dict)

    def bounded(self) -> AuditEvent:
        """The event with texts and detail of at most the sizes above; what was cut ends with `CUT`."""
        return AuditEvent(
            actor=_text(self.actor),
            authority=_text(self.authority),
            action=_text(self.action),
            subject=_text(self.subject),
            outcome=_text(self.outcome),
            detail=_detail(self.detail),
        )


@dataclass(frozen=True, slots=True)
class PendingEvent:
    """An event of `audit_pending`: the id of its entry ("" for one that has none), and its time (Unix
    seconds).
    """

    entry: str
    at: float
    event: AuditEvent


def script_arguments(event: AuditEvent) -> dict[str, bytes | str]:
    """The event as arguments of a script: by (JSON), action, subject, outcome, detail (JSON)."""
    event = event.bounded()
    by = orjson.dumps({"actor": event.actor, "authority": event.authority})
    return {
        "by": by,
        "action": event.action,
        "subject": event.subject,
        "outcome": event.outcome,
        "detail": orjson.dumps(event.detail),
    }


def parse_pending(entry: bytes, fields: Mapping[bytes, bytes]) -> PendingEvent:
    """Parse an entry of `audit_pending`. Never raises: an entry that is damaged must not stop those behind
    it.
    """
    text = {key.decode(errors="replace"): value.decode(errors="replace") for key, value in fields.items()}
    by, detail = _object(text.get("by", "")), _object(text.get("detail", ""))
    actor, authority = str(by.pop("actor", "")), str(by.pop("authority", ""))
    at_us = text.get("at_us", "")
    action, subject, outcome = (text.get(name, "") for name in ("action", "subject", "outcome"))
    event = AuditEvent(actor, authority, action, subject, outcome, {**detail, **by})
    at = int(at_us) / 1e6 if at_us.isdigit() and len(at_us) < 17 else 0.0
    return PendingEvent(entry.decode(), at, event.bounded())


def _object(text: str) -> dict[str, Any]:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {"text": text}
    return value if isinstance(value, dict) else {"value": value}


def _text(value: str) -> str:
    value = value.encode(errors="replace").decode()  # no lone surrogates
    return value if len(value) <= MAX_TEXT else value[: MAX_TEXT - len(CUT)] + CUT


def _detail(detail: Mapping[str, Any]) -> dict[str, Any]:
    bounded: dict[str, Any] = _bounded(detail, 0)
    text = orjson.dumps(bounded)
    if len(text) <= MAX_DETAIL:
        return bounded
    kept: dict[str, Any] = {}
    size = len(orjson.dumps({"cut": CUT}))
    for name, value in bounded.items():
        size += len(orjson.dumps({name: value}))
        if size > MAX_DETAIL:
            break
        kept[name] = value
    return {**kept, "cut": CUT}


def _bounded(value: Any, depth: int) -> Any:
    if value is None or (isinstance(value, bool | int | float) and abs(value) <= MAX_INTEGER):
        return value  # a number of RFC 8785: neither infinite nor NaN
    if depth < MAX_DEPTH and isinstance(value, Mapping):
        items = list(value.items())[:MAX_ITEMS]
        return {_text(str(name)): _bounded(item, depth + 1) for name, item in items}
    if depth < MAX_DEPTH and isinstance(value, list | tuple):
        return [_bounded(item, depth + 1) for item in value[:MAX_ITEMS]]
    return _text(str(value))
