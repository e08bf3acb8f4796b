"""Load and unload models of a running platform, and show what is loaded."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from stoker.client import ApiError, Client, in_path
from stoker.screen import Screen

POLL_S = 0.2
UNDER_WAY = ("pending", "running")
DONE = {"load": "loaded", "unload": "unloaded"}
COLUMNS = ("name", "state", "replicas", "running", "waiting")


def change(client: Client, kind: str, name: str, **body: object) -> dict[str, Any]:
    """Ask for a load or an unload; the model's row with its `operation`. Raises `ApiError`."""
    return client.post(f"/v1/admin/models/{in_path(name)}/{kind}", body)


def show_change(client: Client, kind: str, row: Mapping[str, Any], screen: Screen, *, wait: bool) -> None:
    """Show what came of it, at its end if `wait`. Raises `ApiError` when it fails."""
    operation = row.get("operation") or {}
    if wait and operation.get("kind") == kind and operation.get("status") in UNDER_WAY:
        follow(client, operation, screen)
    else:
        screen.line(f"{row.get('name')}: {row.get('runtime_state')}")


def follow(client: Client, operation: Mapping[str, Any], screen: Screen) -> None:
    """Show how an operation gets on until its end. Raises `ApiError` when it fails."""
    began = time.monotonic()
    while True:
        status = operation.get("status")
        name, kind = operation.get("model"), str(operation.get("kind"))
        if status == "completed":
            screen.line(f"{name}: {DONE.get(kind, kind)} ({time.monotonic() - began:.1f} s)")
            return
        if status == "failed":
            screen.done()
            raise ApiError(f"{name}: the {kind} failed: {_reason(operation)}")
        screen.status(progress(operation))
        time.sleep(POLL_S)
        operation = client.get(f"/v1/admin/operations/{operation['id']}")


def progress(operation: Mapping[str, Any]) -> str:
    """One line about an operation that is under way."""
    share = operation.get("progress")
    done = f" {100 * share:.0f} %" if isinstance(share, (int, float)) and share > 0 else ""
    stage = operation.get("stage")
    return f"{operation.get('model')}: {operation.get('kind')}ing{done}{f' ({stage})' if stage else ''}"


def table(models: list[dict[str, Any]]) -> list[str]:
    """The models and their states, as lines of a table; why one failed stands below it."""
    rows = [COLUMNS, *(_row(model) for model in models)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(COLUMNS))]
    lines: list[str] = []
    for row, model in zip(rows, [{}, *models], strict=True):
        lines.append("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        if model.get("last_error"):
            lines.append(f"  {model['last_error']}")
    return lines


def _row(model: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        str(model.get("name")),
        str(model.get("runtime_state")),
        f"{model.get('loaded_replicas', 0)}/{model.get('replicas', 0)}",
        str(model.get("inflight_requests", 0)),
        str(model.get("queue_depth", 0)),
    )


def _reason(operation: Mapping[str, Any]) -> str:
    error = operation.get("error")
    return str(error.get("message", error)) if isinstance(error, Mapping) else str(error or "no reason given")
