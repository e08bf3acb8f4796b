"""The audit log of administrative changes, a hash chain in which later tampering is detected.

Each record has the SHA-256 digest of the record before it and its own, so that a changed, removed or inserted
record breaks the chain. The log is one Redis stream, `{prefix}:audit`, bounded to the latest `MAX_RECORDS`
records; the remaining chain stays verifiable.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson
import redis

MAX_RECORDS = 100_000
GENESIS = "0" * 64


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One change: `actor` is a tenant, `action` a verb, `subject` a model, `at` unix time.

    A verb is load, unload or cancel (of the load that `detail` names).
    """

    actor: str
    action: str
    subject: str
    detail: str
    at: float
    previous: str
    digest: str


class AuditLog:
    """Appends to the log and reads it."""

    def __init__(self, client: redis.Redis, prefix: str) -> None:
        self._client: Any = client
        self._key = f"{{{prefix}}}:audit"

    def record(self, actor: str, action: str, subject: str, detail: str = "") -> AuditRecord:
        """Append a record. Of two concurrent calls, one is repeated, so that the chain has both records."""

        def append(pipeline: Any) -> AuditRecord:
            _, record = self._next(pipeline, actor, action, subject, detail)
            pipeline.multi()
            pipeline.xadd(self._key, _encode(record), maxlen=MAX_RECORDS, approximate=True)
            return record

        appended: AuditRecord = self._client.transaction(append, self._key, value_from_callable=True)
        return appended

    def next_record(self, actor: str, action: str, subject: str, detail: str) -> tuple[str, bytes]:
        """The id of the last entry ("" without one), and the record to append after it, as it is stored.

        For a script that appends it together with the change that it records.
        """
        last, record = self._next(self._client, actor, action, subject, detail)
        return last, _encode(record)["record"]

    def _next(
        self, client: Any, actor: str, action: str, subject: str, detail: str
    ) -> tuple[str, AuditRecord]:
        last = client.xrevrange(self._key, count=1)
        previous = _decode(last[0][1]).digest if last else GENESIS
        body: dict[str, Any] = {
            "actor": actor,
            "action": action,
            "subject": subject,
            "detail": detail,
            "at": time.time(),
        }
        record = AuditRecord(**body, previous=previous, digest=_digest(body, previous))
        return last[0][0].decode() if last else "", record

    def records(self) -> Iterator[AuditRecord]:
        """All records in the stream, the oldest first."""
        for _, fields in self._client.xrange(self._key):
            yield _decode(fields)

    def broken_at(self) -> int | None:
        """The index of the first record whose digest does not match it or its predecessor; None if all do."""
        previous: str | None = None
        for index, item in enumerate(self.records()):
            body = {key: getattr(item, key) for key in ("actor", "action", "subject", "detail", "at")}
            if item.digest != _digest(body, item.previous) or previous not in (None, item.previous):
                return index
            previous = item.digest
        return None


def _digest(body: dict[str, Any], previous: str) -> str:
    text = orjson.dumps(body, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(previous.encode() + text).hexdigest()


def _encode(record: AuditRecord) -> dict[str, bytes]:
    return {"record": orjson.dumps(record)}


def _decode(fields: dict[bytes, bytes]) -> AuditRecord:
    return AuditRecord(**orjson.loads(fields[b"record"]))
