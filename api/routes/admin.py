"""/v1/admin: the Runtime Admin API, as far as loading and unloading go."""

from __future__ import annotations

import logging
from typing import Any

import redis
from flask import Response

from api.access import Access
from api.answering import json_response
from api.auth import caller
from api.capabilities import thinking_modes
from api.context import rooms
from api.errors import NotFound, UnprocessableRequest
from api.openapi import Family
from api.routes.outcomes import STORAGE
from api.schemas.admin import AdminModelList, ChangedModel, LoadRequest, OperationObject
from config.backends import BACKENDS
from fleet.models import Change, ModelRow
from fleet.operation import Operation
from fleet.states import ModelState

logger = logging.getLogger("api")

routes = Family("admin", __name__, description="Load, unload and look at models; for administrators.")

_NAME = {"name": "The model's name; it may hold slashes."}


@routes.endpoint("/v1/admin/models", access=Access.ADMIN, answers={200: AdminModelList}, errors=STORAGE)
def list_admin_models() -> Response:
    """List the models with their live state

    `definition` is what the configuration says, the rest is how it is now: `unloaded`, `loading`, `loaded`
    (answers requests), `unloading` (finishes those it has) or `failed` (`last_error` says why).
    """
    return json_response({"models": [_show(row) for row in rooms().fleet.rows()]})


@routes.endpoint(
    "/v1/admin/models/<path:name>/load",
    "POST",
    access=Access.ADMIN,
    body=LoadRequest,
    mistaken=UnprocessableRequest,
    answers={200: ChangedModel, 202: ChangedModel},
    path=_NAME,
    errors=("unknown_model", "model_unloading", "invalid_load_request", "no_worker", *STORAGE),
)
def load_model(body: dict[str, Any], name: str) -> Response:
    """Load a model

    202 when a load has begun: poll `operation`. 200 when the model is loaded or loading already. The replicas
    are all-or-nothing: if one fails, the model is `failed`.
    """
    return _answer(name, rooms().fleet.load(name, body.get("replicas")))


@routes.endpoint(
    "/v1/admin/models/<path:name>/unload",
    "POST",
    access=Access.ADMIN,
    answers={200: ChangedModel, 202: ChangedModel},
    path=_NAME,
    errors=("unknown_model", "model_loading", *STORAGE),
)
def unload_model(name: str) -> Response:
    """Unload a model

    202 when an unload has begun: poll `operation`. 200 when the model is unloaded or unloading already. What
    waits is cancelled, what runs may finish.
    """
    return _answer(name, rooms().fleet.unload(name))


@routes.endpoint(
    "/v1/admin/operations/<id>",
    access=Access.ADMIN,
    answers={200: OperationObject},
    path={"id": "The operation's id."},
    errors=("not_found", *STORAGE),
)
def retrieve_operation(id: str) -> Response:
    """Poll a load or unload

    Its progress (0 to 1), stage, and error if it failed. Kept for a day after its end.
    """
    operation = rooms().fleet.operation(id)
    if operation is None:
        raise NotFound(f"there is no operation {id}", param="id")
    return json_response(_show_operation(operation))


def _answer(name: str, change: Change) -> Response:
    from tasks.lifecycle import ring  # noqa: PLC0415 - Celery is a heavy import, and only this needs it

    _record(name, change)
    ring(change)
    operation = _show_operation(change.operation) if change.operation else None
    shown = _show(rooms().fleet.row(name)) | {"operation": operation}
    return json_response(shown, 202 if change.assignments else 200)


def _record(name: str, change: Change) -> None:
    if not change.operation or not change.assignments:
        return
    try:
        rooms().audit.record(caller().tenant.name, change.operation.kind, name, change.operation.id)
    except redis.RedisError:
        # it has begun already; refusing now would only hide it
        logger.exception("%s %s is missing in the audit chain", change.operation.id, name)


def _show_operation(operation: Operation) -> dict[str, Any]:
    return {
        "id": operation.id,
        "object": "operation",
        "kind": operation.kind,
        "model": operation.model,
        "status": str(operation.status),
        "stage": operation.stage,
        "progress": operation.progress,
        "error": operation.error,
        "created_at": operation.created_at,
        "finished_at": operation.finished_at,
    }


def _show(row: ModelRow) -> dict[str, Any]:
    model = row.definition
    return {
        "name": row.name,
        "resolved_backend": model.backend,
        "configured_enabled": model.enabled,
        "runtime_state": str(row.state),
        "is_loaded": row.state is ModelState.LOADED,
        "replicas": row.replicas,
        "replica_max": model.replica_max,
        "loaded_replicas": row.loaded_replicas,
        "inflight_requests": row.inflight,
        "queue_depth": row.queue_depth,
        "runtime_inflight": row.inflight,
        "configured_target_inflight": model.target_inflight,
        "effective_target_inflight": model.target_inflight,
        "last_error": row.last_error,
        "operation_id": row.operation_id,
        "loaded_at": row.loaded_at,
        "load_constraints": BACKENDS[model.backend].load_constraints,
        "capabilities": {
            "modalities": ["text"],
            "multi_turn": True,
            "thinking_modes": list(thinking_modes(model)),
        },
        "definition": {
            "backend": model.backend,
            "device": model.device,
            "prompt_format": model.prompt_format,
            "enabled": model.enabled,
            "replicas": model.replicas,
            "replica_max": model.replica_max,
            "target_inflight": model.target_inflight,
            **_live_options(row),
        },
    }


def _live_options(row: ModelRow) -> dict[str, Any]:
    """The backend's fields that a load may change; the others hold paths and arguments."""
    live = BACKENDS[row.definition.backend].load_constraints
    return {name: row.definition.options.get(name) for name in live}
