"""Loads and unloads models of a running platform, and formats their state."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from config.commands import with_runnable_commands
from stoker.client import ApiClient, ApiClientError, in_path
from stoker.tables import align
from stoker.terminal import TerminalOutput

POLL_S = 0.2
RUNNING_STATUSES = ("pending", "running")
CANCEL, LEAVE = "cancel", "leave"
CANCEL_OR_LEAVE = {"c": CANCEL, "cancel": CANCEL, "": LEAVE, "l": LEAVE, "leave": LEAVE}
FINAL_STATES = {"load": "loaded", "unload": "unloaded", "flush": "flushed", "remove": "removed"}
PROGRESSIVE = {"remove": "removing"}
MEASURED = "observed_load_delta"
"""The source of a memory estimate that was measured (Runtime Admin API, `vram_estimate_source`)."""

COLUMNS = ("name", "state", "replicas", "running", "waiting", "memory")


def admin_models(client: ApiClient) -> list[dict[str, Any]]:
    """Return the rows of all models, as administrators see them. Raises `ApiClientError`."""
    rows: list[dict[str, Any]] = client.get("/v1/admin/models").get("models", [])
    return rows


def request_operation(client: ApiClient, kind: str, name: str, **body: object) -> dict[str, Any]:
    """Request a load or an unload. Returns the model with its `operation`. Raises `ApiClientError`."""
    try:
        return client.post(f"/v1/admin/models/{in_path(name)}/{kind}", body)
    except ApiClientError as error:
        raise type(error)(in_words_of_options(str(error)), error.status, error.code) from error


def show_operation(  # noqa: PLR0913 - the row, and how to show it
    client: ApiClient,
    kind: str,
    row: Mapping[str, Any],
    screen: TerminalOutput,
    *,
    wait: bool,
    options: str = "",
) -> dict[str, Any]:
    """Show the operation of a model; with `wait`, follow it to its end. Raises `ApiError` if it fails.

    Returns the model's `name` and `runtime_state`, and the operation, None without one.

    After Ctrl-C the operation goes on, unless the user cancels the load; `KeyboardInterrupt` is
    raised again. `options` are words that commands in messages need (` --url ...`).
    """
    operation = row.get("operation") or {}
    if wait and operation.get("kind") == kind and operation.get("status") in RUNNING_STATUSES:
        try:
            ended = follow_operation(client, operation, screen)
        except KeyboardInterrupt:
            _leave_or_cancel(client, operation, screen, options)
            raise
        return {"name": row.get("name"), "runtime_state": FINAL_STATES[kind], "operation": ended}
    screen.line(f"{row.get('name')}: {row.get('runtime_state')}")
    return {name: row.get(name) for name in ("name", "runtime_state", "operation")}


def in_words_of_options(message: str) -> str:
    """Return a message of the API with the command line's options in place of the request's fields."""
    return message.replace("as evictModel", "with --evict").replace("evictModel", "--evict")


def _leave_or_cancel(
    client: ApiClient, operation: Mapping[str, Any], screen: TerminalOutput, options: str
) -> None:
    """Cancel a load if the user says so; otherwise say that the operation goes on, and how to follow it."""
    screen.done()
    name, kind = str(operation["model"]), str(operation["kind"])
    if kind == "load":
        question = f"{name} is still loading. Cancel the load (c), or leave it running (Enter)? "
        if screen.choose(question, CANCEL_OR_LEAVE, LEAVE) == CANCEL:
            row = client.delete(f"/v1/admin/operations/{operation['id']}")
            if row["operation"] is None:  # the load was to restore replicas of a model that serves
                screen.line(f"{name}: the load was cancelled; {row['runtime_state']}")
            else:
                follow_operation(client, row["operation"], screen, "the load was cancelled; unloaded")
            return
    words = shlex.quote(name) + options
    cancel = f", `stoker unload {words}` cancels it" if kind == "load" else ""
    follow = f"`stoker {kind} {words}` follows it again"
    screen.line(with_runnable_commands(f"{name}: the {kind} continues; {follow}{cancel}"))


def follow_operation(
    client: ApiClient,
    operation: Mapping[str, Any],
    screen: TerminalOutput,
    outcome: str | None = None,
    line: Callable[[Mapping[str, Any]], str] | None = None,
) -> Mapping[str, Any]:
    """Show the progress of an operation until its end, and return it then.

    Raises `ApiError` if it fails or is cancelled. `outcome` is shown when it is completed (default: the state
    of the model), and `line` makes the line about a running one.
    """
    start = time.monotonic()
    while True:
        status = operation.get("status")
        name, kind = subject_of(operation), str(operation.get("kind"))
        if status == "completed":
            words = outcome or FINAL_STATES.get(kind, kind)
            screen.line(f"{name}: {words} ({time.monotonic() - start:.1f} s)")
            return operation
        if status == "cancelled":
            screen.done()
            raise ApiClientError(f"{name}: the {kind} was cancelled")
        if status == "failed":
            screen.done()
            raise ApiClientError(f"{name}: the {kind} failed: {in_words_of_options(_reason(operation))}")
        screen.status((line or progress_line)(operation))
        time.sleep(POLL_S)
        operation = client.get(f"/v1/admin/operations/{operation['id']}")


def subject_of(operation: Mapping[str, Any]) -> str:
    """Return what an operation is about: its model, or the scope of a flush in words."""
    scope = operation.get("scope") or {}
    if scope.get("tag"):
        return f"tag {scope['tag']} of tenant {scope['tenant']}"
    if scope.get("tenant"):
        return f"tenant {scope['tenant']}"
    return str(operation.get("model") or "all caches")


def progress_line(operation: Mapping[str, Any]) -> str:
    """Return one line about a running operation."""
    share = operation.get("progress")
    done = f" {100 * share:.0f} %" if isinstance(share, (int, float)) and share > 0 else ""
    stage = operation.get("stage")
    left = operation.get("eta_s")
    eta = f", about {left:.0f} s left" if isinstance(left, (int, float)) and left >= 1 else ""
    kind = str(operation.get("kind"))
    doing = PROGRESSIVE.get(kind, f"{kind}ing")
    return f"{subject_of(operation)}: {doing}{done}{f' ({stage})' if stage else ''}{eta}"


def model_table(models: list[dict[str, Any]], now: float | None = None) -> list[str]:
    """The models and their states, as lines of a table, with the error of a failed model below its row.

    `now` is the time from which the seconds until a restart count (Unix time; default: the present).
    """
    lines = align([COLUMNS, *(_row(model) for model in models)])
    below = ["", *(_error(model, time.time() if now is None else now) for model in models)]
    return [line for pair in zip(lines, below, strict=True) for line in pair if line]


def status_lines(listed: Mapping[str, Any], now: float | None = None) -> list[str]:
    """Return the lines of `stoker status` for what the API lists; `now` as in `model_table`."""
    return [*model_table(listed.get("models", []), now), *unreadable_lines(listed.get("unreadable", []))]


def unreadable_lines(models: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a line for each added model that the host of the API cannot use: why, and what removes it."""
    return [
        with_runnable_commands(
            f"{model['name']} cannot be used: {model['problem']}; "
            f"`stoker models remove {shlex.quote(model['name'])}` removes it"
        )
        for model in models
    ]


def model_details(model: Mapping[str, Any]) -> list[str]:
    """Return lines with the state of a model, where it comes from, and its configuration."""
    definition = model.get("definition") or {}
    origin = model.get("origin") or {}
    added = (
        "added" if model.get("registered") else "until its unload" if model.get("dynamic") else "configured"
    )
    head = {
        "name": model.get("name"),
        "state": model.get("runtime_state"),
        "error": model.get("last_error"),
        "replicas": f"{model.get('loaded_replicas', 0)}/{model.get('replicas', 0)}",
        "memory": memory_cell(model),
        "defined": added,
        "repository": origin.get("repository"),
        "revision": origin.get("revision"),
    }
    rows = [(name, str(value)) for name, value in head.items() if value not in (None, "")]
    fields = [(name, _value(value)) for name, value in definition.items() if value is not None]
    return [*align(rows), "", *align(fields)] if fields else align(rows)


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def memory_table(usage: Mapping[str, Any]) -> list[str]:
    """Return lines with the memory of the GPUs, of the workers on the CPU and of each model.

    A GPU has the workers that use it and its UUID, by which they are pinned to it. The reason why GPUs are
    missing is between them, if there is one.
    """
    devices = [
        (f"gpu {gpu['index']}", str(gpu["name"]), str(gpu["used_over_total"]), _pinned(gpu))
        for gpu in usage["gpus"]
    ]
    devices += [
        ("cpu", f"worker {worker['name']}", _used_over_total(worker), "")
        for worker in usage.get("workers", [])
        if worker["device"] == "cpu"
    ]
    models = [
        (str(model["name"]), str(model["runtime_state"]), memory_cell(model)) for model in usage["models"]
    ]
    lines = align([("device", "name", "memory", "used by"), *devices]) if devices else []
    lines += [str(usage["error"])] if usage.get("error") else []
    return [*lines, "", *align([("model", "state", "memory"), *models])]


def memory_cell(model: Mapping[str, Any]) -> str:
    """Return the memory of a model, and whether it is in use, was measured before, or is estimated."""
    mib = model.get("vram_estimate_mib")
    if mib is None:
        return ""
    if model.get("vram_estimate_source") != MEASURED:
        return f"{mib} MiB estimated"
    return f"{mib} MiB {'in use' if model.get('is_loaded') else 'at its last load'}"


def _pinned(gpu: Mapping[str, Any]) -> str:
    """Return the workers of a GPU and its UUID."""
    return f"{', '.join(map(str, gpu['workers']))} ({gpu['uuid']})"


def _used_over_total(worker: Mapping[str, Any]) -> str:
    """Return the memory of a worker in the form that GPUs have."""
    total, free = worker["total_mib"], worker["free_mib"]
    return "not read yet" if total is None or free is None else f"{total - free}MiB / {total}MiB"


def _error(model: Mapping[str, Any], now: float) -> str:
    """The last error of a model, and when it is started again."""
    error, restart_at = model.get("last_error"), model.get("restart_at")
    if not error or restart_at is None:
        return f"  {error}" if error else ""
    return f"  {error}; it is started again in {max(0, restart_at - now):.0f} s"


def _row(model: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        str(model.get("name")),
        str(model.get("runtime_state")),
        f"{model.get('loaded_replicas', 0)}/{model.get('replicas', 0)}",
        str(model.get("inflight_requests", 0)),
        str(model.get("queue_depth", 0)),
        memory_cell(model),
    )


def _reason(operation: Mapping[str, Any]) -> str:
    error = operation.get("error")
    return str(error.get("message", error)) if isinstance(error, Mapping) else str(error or "no reason given")
