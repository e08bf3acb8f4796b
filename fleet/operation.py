"""Loads and unloads under way, polled by id."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from fleet.states import OperationStatus


@dataclass(frozen=True, slots=True)
class Operation:
    """One load or unload. `progress` 0..1, `stage` in a few words, times in unix seconds by Redis' clock."""

    id: str
    kind: str
    model: str
    status: OperationStatus
    stage: str
    progress: float
    error: str | None
    created_at: float
    finished_at: float | None


def operation_id(kind: str) -> str:
    """A new id; it is also the id of the Celery task of the first replica."""
    return f"{kind}_{secrets.token_hex(12)}"


def from_row(id: str, row: dict[bytes, bytes]) -> Operation:
    """Read a ledger row."""
    text = {key.decode(): value.decode() for key, value in row.items()}
    return Operation(
        id=id,
        kind=text["kind"],
        model=text["model"],
        status=OperationStatus(text["status"]),
        stage=text["stage"],
        progress=float(text["progress"]),
        error=text.get("error"),
        created_at=int(text["created_us"]) / 1e6,
        finished_at=int(text["finished_us"]) / 1e6 if "finished_us" in text else None,
    )
