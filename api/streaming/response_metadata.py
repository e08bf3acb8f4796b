"""What is kept beside an event log so that its answer can be rendered again: time of birth and the echo."""

from __future__ import annotations

from typing import Any

import orjson

from api.dialects.base import Head, ParsedRequest
from scheduler.job import JobRow


def keep(parsed: ParsedRequest, created_at: int) -> bytes:
    """The bytes that go into the job."""
    return orjson.dumps({"at": created_at, "echo": parsed.echo})


def head_of(row: JobRow) -> Head:
    """The head of a response that is in the ledger: the same that its first reader saw."""
    kept: dict[str, Any] = orjson.loads(row.echo)
    return Head(row.id, kept.get("at", int(row.created_at)), row.model, kept.get("echo", {}))
