"""A record of the chain: its bytes, its digest, and what can be wrong with it.

A record is one JSON object in the canonical form of RFC 8785. Its `digest` is the SHA-256, in hex, of the
same object without `digest`; `previous` is the digest of the record before, so a digest is one of all records
up to there. The bytes are compared with the canonical form as well: no byte of a record can change unnoticed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
import rfc8785

from governance.audit.event import PendingEvent

GENESIS = "0" * 64
"""The `previous` of record 1."""

FIELDS = (
    "number",
    "at",
    "actor",
    "authority",
    "action",
    "subject",
    "outcome",
    "detail",
    "entry",
    "previous",
    "digest",
)


class DamagedRecord(Exception):
    """A line that is no record; the text says why."""


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One record. `at` is Unix time in seconds, `entry` its id in `audit_pending` ("" for one that never
    waited).

    `line` has the bytes of the record, without a line's end. The other fields are those of `AuditEvent`.
    """

    number: int
    at: float
    actor: str
    authority: str
    action: str
    subject: str
    outcome: str
    detail: Mapping[str, Any]
    entry: str
    previous: str
    digest: str
    line: bytes


def make_record(pending: PendingEvent, number: int, previous: str) -> AuditRecord:
    """The record of an event, as the one after the digest `previous`."""
    event = pending.event
    values: dict[str, Any] = {
        "number": number,
        "at": pending.at,
        "actor": event.actor,
        "authority": event.authority,
        "action": event.action,
        "subject": event.subject,
        "outcome": event.outcome,
        "detail": dict(event.detail),
        "entry": pending.entry,
        "previous": previous,
    }
    digest = hashlib.sha256(rfc8785.dumps(values)).hexdigest()
    values["digest"] = digest
    return AuditRecord(**values, line=rfc8785.dumps(values))


def parse_record(line: bytes) -> AuditRecord:
    """Parse the bytes of a record, which must be exactly those that `make_record` makes.

    Raises `DamagedRecord`.
    """
    try:
        values = orjson.loads(line)
    except orjson.JSONDecodeError:
        raise DamagedRecord("it is not valid JSON") from None
    if not isinstance(values, dict) or sorted(values) != sorted(FIELDS):
        raise DamagedRecord("it does not have the fields of a record")
    try:
        canonical = rfc8785.dumps(values)
        digest = values.pop("digest")
        expected = hashlib.sha256(rfc8785.dumps(values)).hexdigest()
    except (rfc8785.CanonicalizationError, UnicodeError, RecursionError):
        raise DamagedRecord("it has no canonical form") from None
    if digest != expected:
        raise DamagedRecord("its digest does not match its content")
    if canonical != line:
        raise DamagedRecord("its bytes are not the canonical form of its content")
    if not isinstance(values["number"], int) or isinstance(values["number"], bool):
        raise DamagedRecord("its number is not an integer")
    return AuditRecord(**values, digest=digest, line=line)
