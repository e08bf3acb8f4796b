"""The audit chain: who changed what, in an order that cannot be rewritten unseen.

Each record carries the SHA-256 of the one before it and of itself, so that a changed, removed or inserted
record breaks the chain from there on. It lives in one Redis Stream, `{prefix}:audit`, bounded to the latest
`KEPT` records; the chain of what is left stays verifiable.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson
import redis

KEPT = 100_000
GENESIS = "0" * 64


@dataclass(frozen=True, slots=True)
class Record:
    """One change: `actor` is a tenant, `action` a verb (load, unload), `subject` a model."""

    actor: str
    action: str
    subject: str
    detail: str
    at: float
    previous: str
    digest: str


class Audit:
    """Appends to the chain and reads it."""

    def __init__(self, client: redis.Redis, prefix: str) -> None:
        self._client: Any = client
        self._key = f"{{{prefix}}}:audit"

    def record(self, actor: str, action: str, subject: str, detail: str = "") -> Record:
        """Append a record. Two processes that do so at once get two places in the chain."""

        def append(pipeline: Any) -> Record:
            last = pipeline.xrevrange(self._key, count=1)
            previous = _read(last[0][1]).digest if last else GENESIS
            body: dict[str, Any] = {
                "actor": actor,
                "action": action,
                "subject": subject,
                "detail": detail,
                "at": time.time(),
            }
            made = Record(**body, previous=previous, digest=_digest(body, previous))
            pipeline.multi()
            pipeline.xadd(self._key, _write(made), maxlen=KEPT, approximate=True)
            return made

        made: Record = self._client.transaction(append, self._key, value_from_callable=True)
        return made

    def records(self) -> Iterator[Record]:
        """All records kept, the oldest first."""
        for _, fields in self._client.xrange(self._key):
            yield _read(fields)

    def broken_at(self) -> int | None:
        """The index of the first record that does not follow from the one before it; None when all do."""
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


def _write(record: Record) -> dict[str, bytes]:
    return {"record": orjson.dumps(record)}


def _read(fields: dict[bytes, bytes]) -> Record:
    return Record(**orjson.loads(fields[b"record"]))
