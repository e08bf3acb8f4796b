"""The history of requests: what is kept of those that have ended, and of those that were refused.

A record has no prompt, no answer and no message of an error, which may quote the request. Its two lines are
what `finish_job` writes of an ended job: what is kept with it, and what is counted of it
(`history` in the settings has its bounds).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from config.settings import HistorySettings
from scheduler.job import Status
from store.calls import Call
from store.script_arguments import NamedArguments

REFUSED = "refused"
"""The status of a request that got no job."""

STATUSES = (*(str(status) for status in Status if status.is_terminal), REFUSED)

MAX_READ = 200
"""One call looks at most at so many records: two milliseconds, in which Redis does nothing else."""

_KEPT = re.compile(rb"(\S+) (\d+) (\d+|-) (\d+|-) (\S+) (\S+) (\S+) (\d+|-) (\S+) (.*)")
_COUNTED = re.compile(rb"(\S+) (\S+) (\S+) (\S+) (\S+) (\S+) (\d+) (-?\d+) (-?\d+) (\S+) (-?\d+) (.*)")
_WORD = re.compile(r"[\x21-\x7e]{1,128}")


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """A request in the history. Times are Unix seconds by Redis' clock.

    `status` is one of `STATUSES`. `dispatched_at` is the last dispatch, None without one. Until then it has
    waited; `load_ms` of that for its replica to be up, which was loaded or restarted meanwhile. `first_ms` is
    the time from the dispatch to the first output. `moved_from` is the replica that was lost, after which it
    was dispatched again. `usage` is what the engine counted, as `streams.events.Usage` writes it, `client`
    what the request's headers tell (`api.http.client_facts`).
    """

    id: str
    tenant: str
    model: str | None
    dialect: str | None
    priority: str | None
    status: str
    code: str | None
    finish_reason: str | None
    ended_at: float
    admitted_at: float | None = None
    dispatched_at: float | None = None
    dispatches: int = 0
    load_ms: int | None = None
    first_ms: int | None = None
    worker: str | None = None
    replica: str | None = None
    moved_from: str | None = None
    usage: Mapping[str, Any] = field(default_factory=dict)
    client: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RecordCursor:
    """Where a page begins: behind the record that ended then (us) with this id."""

    ended_us: int
    id: str


@dataclass(frozen=True, slots=True)
class RecordFilter:
    """Which records are wanted; None: all. `since_us` and `until_us` bound their ends, both included."""

    tenant: str | None = None
    model: str | None = None
    status: str | None = None
    code: str | None = None
    since_us: int | None = None
    until_us: int | None = None


@dataclass(frozen=True, slots=True)
class RecordPage:
    """Some records, the latest end first, and where the next page begins; `following` is None at the end."""

    records: tuple[RequestRecord, ...]
    following: RecordCursor | None


@dataclass(frozen=True, slots=True)
class RefusedRequest:
    """A refused request, by the clock of the API process (us). `client` is JSON on one line."""

    id: str
    tenant: str
    model: str | None
    code: str
    refused_us: int
    client: bytes = b""

    def lines(self) -> tuple[bytes, bytes]:
        """The record's two lines."""
        model = self.model if self.model is not None and _WORD.fullmatch(self.model) else "-"
        kept = f"{self.id} {self.refused_us} - - - - - - - ".encode() + self.client
        counted = f"{self.tenant} {model} - {REFUSED} {self.code} - 0 0 0 - 0 ".encode()
        return kept, counted


def history_bounds(history: HistorySettings) -> dict[str, int]:
    """The arguments of a script that keeps records."""
    return {
        "history_s": history.retention_s,
        "history_requests": history.max_requests_per_tenant,
        "history_bytes": history.max_bytes,
    }


def list_requests(
    wanted: RecordFilter, cursor: RecordCursor | None, most: int, history: HistorySettings
) -> Call[RecordPage]:
    """Return a page of the history, the latest end first.

    A page may have fewer records than `most`, or none, and another one follow.
    """
    until_us = wanted.until_us
    if cursor is not None:
        until_us = cursor.ended_us
    arguments: NamedArguments = {
        "tenant": wanted.tenant or "",
        "model": wanted.model or "",
        "status": wanted.status or "",
        "code": wanted.code or "",
        "since_us": "" if wanted.since_us is None else wanted.since_us,
        "until_us": "" if until_us is None else until_us,
        "before_id": "" if cursor is None else cursor.id,
        "kept_us": history.retention_s * 1_000_000,
        "most": most,
        "most_read": MAX_READ,
    }
    return Call("list_requests", arguments, _parse_page)


def read_request(id: str) -> Call[RequestRecord | None]:
    """Return the record of a request; None for one that the history does not have."""
    return Call("read_request", {"id": id}, lambda reply: None if not reply else parse_record(reply))


def _parse_page(reply: Sequence[Any]) -> RecordPage:
    texts, ended_us, id = reply
    records = tuple(record for text in texts if (record := parse_record(text)) is not None)
    return RecordPage(records, RecordCursor(int(ended_us), id.decode()) if id else None)


def parse_record(text: bytes) -> RequestRecord | None:
    """Return a record; None if it is unreadable."""
    kept_line, _, counted_line = text.partition(b"\n")
    kept, counted = _KEPT.fullmatch(kept_line), _COUNTED.fullmatch(counted_line)
    if kept is None or counted is None:
        return None
    id, ended, admitted, claimed, dialect, worker, replica, load, moved_from, client = _words_of(kept)
    tenant, model, priority, status, code, reason, dispatches, _, _, first_ms, _, usage = _words_of(counted)
    return RequestRecord(
        id=str(id),
        tenant=str(tenant),
        model=model,
        dialect=dialect,
        priority=priority,
        status=str(status),
        code=code,
        finish_reason=reason,
        ended_at=_seconds(ended) or 0.0,
        admitted_at=_seconds(admitted),
        dispatched_at=_seconds(claimed),
        dispatches=int(dispatches or 0),
        load_ms=int(load) // 1000 if load else None,
        first_ms=int(first_ms) if first_ms else None,
        worker=worker,
        replica=replica,
        moved_from=moved_from,
        usage=_json(usage),
        client=_json(client),
    )


def _words_of(line: re.Match[bytes]) -> list[str | None]:
    """The words of a line; None for those that are missing."""
    return [None if word in (b"-", b"") else word.decode(errors="replace") for word in line.groups()]


def _seconds(us: str | None) -> float | None:
    return None if us is None else int(us) / 1e6


def _json(text: str | None) -> dict[str, Any]:
    try:
        values = orjson.loads(text or "{}")
    except orjson.JSONDecodeError:
        return {}
    return values if isinstance(values, dict) else {}
