"""Loads and unloads under way, polled by id."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass

from fleet.states import OperationStatus


@dataclass(frozen=True, slots=True)
class Operation:
    """One load or unload.

    `progress` 0..1, `stage` in a few words, times in unix seconds by Redis' clock. `eta_s` is how long it
    will still take by what earlier ones took: None before there was one, and at the end. `memory_mib` is what
    the load was seen to take or the unload gives back, None when it could not be measured. `context_tokens`
    is what one request may have since a load, prompt and answer together, None where its engine does not
    say. `evicts` is the model that a load has unloaded first.
    """

    id: str
    kind: str
    model: str
    status: OperationStatus
    stage: str
    progress: float
    error: str | None
    created_at: float
    finished_at: float | None
    code: str | None = None
    replicas: int = 1
    memory_mib: int | None = None
    context_tokens: int | None = None
    eta_s: float | None = None
    duration_s: float | None = None
    evicts: str | None = None


def operation_id(kind: str) -> str:
    """A new id; it is also the id of the Celery task of the first replica."""
    return f"{kind}_{secrets.token_hex(12)}"


def new_operation(id: str, model: str) -> Operation:
    """One that has just begun, for whoever cannot ask the ledger for it."""
    kind = id.partition("_")[0]
    return Operation(id, kind, model, OperationStatus.PENDING, "begun", 0.0, None, time.time(), None)


def from_row(id: str, row: dict[bytes, bytes], now: float) -> Operation:
    """Read a ledger row; `now` is Redis' clock, in unix seconds."""
    text = {key.decode(): value.decode() for key, value in row.items()}
    status = OperationStatus(text["status"])
    created = int(text["created_us"]) / 1e6
    finished = int(text["finished_us"]) / 1e6 if "finished_us" in text else None
    return Operation(
        id=id,
        kind=text["kind"],
        model=text["model"],
        status=status,
        stage=text["stage"],
        progress=float(text["progress"]),
        error=text.get("error"),
        created_at=created,
        finished_at=finished,
        code=text.get("code"),
        replicas=int(text.get("replicas", 1)),
        memory_mib=int(text["memory_mib"]) if "memory_mib" in text else None,
        context_tokens=int(text["context_tokens"]) if "context_tokens" in text else None,
        eta_s=None if status.is_terminal else _eta_s(text, now),
        duration_s=None if finished is None else finished - created,
        evicts=text.get("evicts"),
    )


def _eta_s(text: dict[str, str], now: float) -> float | None:
    """What is left of the usual time, which counts from when the workers had it; 0 when it is over."""
    if "expected_ms" not in text:
        return None
    began = int(text["began_us"]) / 1e6 if "began_us" in text else now
    return max(0.0, began + int(text["expected_ms"]) / 1000 - now)
