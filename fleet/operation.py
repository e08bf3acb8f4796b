"""Operations: loads, unloads, flushes, downloads and removals under way or ended, polled by id."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from fleet.flush import FlushScope
from fleet.states import OperationStatus

OPERATION_KINDS = ("load", "unload", "flush", "download", "remove")

DOWNLOAD_SHARE = 0.8
"""The share of a load's progress that a download has, when the files are downloaded."""

MIN_PROGRESS = 0.02
"""The progress of a first load from which on its remaining time is estimated."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One load, unload, flush, download or removal.

    `progress` is from 0 to 1; `stage` is a few words for people; times are unix seconds by Redis' clock.
    `eta_s` is the expected remaining time by the duration of earlier operations: None before the first one,
    and after the end. `memory_mib` is the measured memory that a load took or an unload frees, None if it
    could not be measured. `gpu_memory_mib` is the part of it on GPUs; of an unload it is measured right
    before the engines end. `context_tokens` is the limit of one request, prompt and answer together, None if
    the engine does not report it. `evicts` is the model that is unloaded first. `override` has the options
    that a load was asked to override, None for an unload. `authority` is how the caller was authorised:
    `Authorization.record`.

    `restores` is whether a load restores missing replicas of a loaded model: `replicas` is then their number.

    A flush has its `scope`; its `model` is "" unless that is one model. `entries` and `memory_mib` are then
    what all engines removed, None if one did not count it; `reason` says why.
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
    gpu_memory_mib: int | None = None
    context_tokens: int | None = None
    eta_s: float | None = None
    duration_s: float | None = None
    evicts: str | None = None
    override: Mapping[str, Any] | None = None
    authority: Mapping[str, Any] | None = None
    scope: FlushScope | None = None
    entries: int | None = None
    reason: str | None = None
    restores: bool = False
    source: str | None = None
    deleted_bytes: int | None = None
    files_mib: int | None = None

    def task_ids(self, most: int) -> list[str]:
        """The ids of the Celery tasks of its replicas, the first `most` of them."""
        return [task_id(self.id, index) for index in range(min(self.replicas, most))]


def task_id(operation: str, index: int) -> str:
    """The id of the Celery task of one replica: that of the operation for the first one."""
    return operation if index == 0 else f"{operation}.{index}"


def new_operation_id(kind: str) -> str:
    """Return a new id; the Celery task of the first replica has the same id."""
    return f"{kind}_{secrets.token_hex(12)}"


def begun_operation(id: str, model: str, scope: FlushScope | None = None) -> Operation:
    """Describe an operation that has just begun, for a caller that cannot read it from Redis."""
    kind = id.partition("_")[0]
    begun = OperationStatus.PENDING
    return Operation(id, kind, model, begun, "begun", 0.0, None, time.time(), None, scope=scope)


def parse_operation(id: str, row: dict[bytes, bytes], now: float) -> Operation:
    """Parse the Redis hash of an operation. `now` is Redis' clock, in unix seconds."""
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
        memory_mib=_memory_mib(text),
        gpu_memory_mib=int(text["gpu_memory_mib"]) if "gpu_memory_mib" in text else None,
        context_tokens=int(text["context_tokens"]) if "context_tokens" in text else None,
        eta_s=None if status.is_terminal else _eta_s(text, now),
        duration_s=None if finished is None else finished - created,
        evicts=text.get("evicts"),
        override=orjson.loads(text["override"]) if text.get("override") else None,
        authority=orjson.loads(text["authority"]) if "authority" in text else None,
        scope=FlushScope.from_json(text["scope"]) if "scope" in text else None,
        entries=int(text["entries"]) if text.get("entries") else None,
        reason=text.get("reason"),
        restores=text.get("restores") == "1",
        source=text.get("source"),
        files_mib=int(text["files_mib"]) if "files_mib" in text else None,
        deleted_bytes=int(text["deleted_bytes"]) if "deleted_bytes" in text else None,
    )


def _memory_mib(text: dict[str, str]) -> int | None:
    """The measured memory; a flush sums KiB, since one entry may take less than a MiB."""
    if text.get("memory_kib"):
        return round(int(text["memory_kib"]) / 1024)
    return int(text["memory_mib"]) if "memory_mib" in text else None


def _eta_s(text: dict[str, str], now: float) -> float | None:
    """What is left of a download, and of the usual duration since workers were assigned; not below 0.

    A first load has no usual duration: what is left follows from its progress, which engines report by the
    bytes that they have read, and from the time that this took.
    """
    download = max(0.0, int(text["downloads_until_us"]) / 1e6 - now) if "downloads_until_us" in text else 0.0
    began = int(text["began_us"]) / 1e6 if "began_us" in text else now
    if "expected_ms" in text:
        return download + max(0.0, began + int(text["expected_ms"]) / 1000 - now)
    if download or text["kind"] != "load":
        return download or None
    done = float(text["progress"])
    if "downloads_until_us" in text:
        done = (done - DOWNLOAD_SHARE) / (1 - DOWNLOAD_SHARE)
    return (now - began) * (1 - done) / done if MIN_PROGRESS <= done < 1 else None
