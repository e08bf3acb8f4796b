"""Inference receipts: what was asked, what was answered, by which model, and who approved that model.

A receipt is made when it is asked for, from what the ledger holds of the response, and lasts as long. Of the
request only the SHA-256 of its body was stored, and only for tenants with `receipts`; other tenants cost
nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
import redis
import rfc8785

from governance.authorization import BY_PLATFORM
from store.scripts import redis_errors_translated
from streams.events import Event, TextDelta, ToolCallDelta, VectorDelta, decode_all
from streams.log import WHOLE_PAGE, log_key

PREFIX = b"stoker-receipt-v1\n"
"""What is signed begins with it, so that a signature of something else is none of a receipt."""

MAX_LOADS = 100
"""The loads of a model that are known (`store/redis_keys.md`: loads)."""


@dataclass(frozen=True, slots=True)
class Load:
    """A load of a model that ended well: the operation, its end (Unix seconds), who it was authorised by.

    `definition` is the digest of the model's definition with the load's override ("" if it is not known).
    """

    operation: str
    at: float
    definition: str
    authority: Mapping[str, Any]

    def as_json(self) -> dict[str, Any]:
        """The load as a receipt has it."""
        return {"operation": self.operation, "loadedAt": self.at, **self.authority}


def answer_digests(events: Iterable[Event]) -> dict[str, str]:
    """The digests of an answer, which a client can compute from what it received.

    `textSha256` is that of the answer's whole text in UTF-8. `sha256` is that of the canonical form (RFC
    8785) of `{"text": ..., "toolCalls": [{"name": ..., "arguments": ...}, ...]}`; an answer of vectors has
    their base64 forms, too: `{"text": "", "toolCalls": [], "vectors": [...]}`.
    """
    text: list[str] = []
    names: dict[int, str] = {}
    arguments: dict[int, list[str]] = {}
    vectors: dict[int, str] = {}
    for event in events:
        if isinstance(event, TextDelta):
            text.append(event.text)
        elif isinstance(event, ToolCallDelta):
            names[event.index] = names.get(event.index) or event.name or ""
            arguments.setdefault(event.index, []).append(event.arguments)
        elif isinstance(event, VectorDelta):
            vectors[event.index] = event.base64.decode()
    whole = "".join(text)
    calls = [{"name": names[at], "arguments": "".join(arguments[at])} for at in sorted(names)]
    form: dict[str, Any] = {"text": whole, "toolCalls": calls}
    if vectors:
        form["vectors"] = [vectors[at] for at in sorted(vectors)]
    return {
        "textSha256": hashlib.sha256(whole.encode()).hexdigest(),
        "sha256": hashlib.sha256(rfc8785.dumps(form)).hexdigest(),
    }


def load_of(loads: Sequence[Load], at: float) -> tuple[Load | None, Load | None]:
    """The load by which a model served at a time (Unix seconds), and the one that approved it.

    `loads` are in their order, the latest last. After a crash or a restart the platform loads a model again
    by itself: the approval is then that of the latest earlier load of the same definition that a caller asked
    for.
    """
    until = [load for load in loads if load.at <= at]
    if not until:
        return None, None
    served = until[-1]
    approved = (
        load
        for load in reversed(until)
        if load.definition == served.definition and load.authority.get("authority") != BY_PLATFORM
    )
    return served, next(approved, None)


class Receipts:
    """Makes receipts. Methods raise `StorageUnavailable`."""

    def __init__(self, client: redis.Redis, prefix: str) -> None:
        self._client: Any = client
        self._prefix = prefix

    def read(self, response: str, tenant: str) -> dict[str, Any] | None:
        """The receipt of a response, unsigned; None if the tenant has no response with one by that id."""
        fields = ("tenant", "receipt", "model", "status", "admitted_us", "claimed_us", "ended_us")
        with redis_errors_translated():
            values = self._client.hmget(f"{{{self._prefix}}}:job:{response}", fields)
        row = {name: value.decode() for name, value in zip(fields, values, strict=True) if value is not None}
        if row.get("tenant") != tenant or "receipt" not in row:
            return None
        claimed = int(row["claimed_us"]) / 1e6 if "claimed_us" in row else None
        served, approved = (None, None) if claimed is None else load_of(self._loads(row["model"]), claimed)
        return {
            "object": "receipt",
            "responseId": response,
            "tenant": tenant,
            "model": row["model"],
            "status": row["status"],
            "admittedAt": int(row["admitted_us"]) / 1e6,
            "endedAt": int(row["ended_us"]) / 1e6 if "ended_us" in row else None,
            "requestSha256": row["receipt"],
            "answer": answer_digests(self._events(response)) if "ended_us" in row else None,
            "definition": served.definition or None if served else None,
            "loadedBy": served.as_json() if served else None,
            "approvedBy": approved.as_json() if approved else None,
        }

    def _loads(self, model: str) -> list[Load]:
        with redis_errors_translated():
            entries = self._client.xrange(f"{{{self._prefix}}}:loads:{model}", count=MAX_LOADS)
        return [_parse_load(fields) for _, fields in entries]

    def _events(self, response: str) -> list[Event]:
        found: list[bytes] = []
        first = "-"
        while first:
            with redis_errors_translated():
                page = self._client.xrange(log_key(self._prefix, response), first, count=WHOLE_PAGE)
            found += [fields[b"e"] for _, fields in page]
            first = f"({page[-1][0].decode()}" if len(page) == WHOLE_PAGE else ""
        return decode_all(found)


def _parse_load(fields: Mapping[bytes, bytes]) -> Load:
    return Load(
        operation=fields[b"operation"].decode(),
        at=int(fields[b"at_us"]) / 1e6,
        definition=fields[b"definition"].decode(),
        authority=orjson.loads(fields[b"authority"]),
    )
