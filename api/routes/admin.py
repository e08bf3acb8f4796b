"""/v1/admin: the Runtime Admin API."""

from __future__ import annotations

import logging
from typing import Any

import redis
from flask import Response

from api.auth.access import Access
from api.auth.authenticator import current_caller
from api.errors import NotFound, UnprocessableRequest
from api.http_responses import json_response
from api.openapi import RouteGroup
from api.prefer import requested_wait_s, wait_for_operation
from api.routes.error_codes import STORAGE
from api.routes.parameters import PREFER
from api.schemas.admin import AdminModel, AdminModelList, ChangedModel, GpuMemory, OperationObject
from api.schemas.load import EVICT, LoadRequestBody
from api.serializers import serialize_memory, serialize_model, serialize_operation
from api.services import current_services
from fleet.load_request import LoadOutcome, LoadRequest

logger = logging.getLogger("api")

routes = RouteGroup("admin", __name__, description="Load, unload and inspect models; for administrators.")

_NAME = {"name": "The model's name; it may contain slashes."}


@routes.endpoint("/v1/admin/models", access=Access.ADMIN, responses={200: AdminModelList}, errors=STORAGE)
def list_admin_models() -> Response:
    """List the models with their live state

    `definition` and the `configured_` fields are the configuration, the other fields the current state.
    `runtime_state` is `unloaded`, `loading`, `loaded` (answers requests), `unloading` (finishes those it has)
    or `failed` (`last_error` has the reason). The effective value of a live field is that of `load_override`
    if the key is there, null included, else that of `definition`.
    """
    services = current_services()
    rows = services.fleet.rows(count_running=True)
    return json_response({"models": [serialize_model(row, services.settings) for row in rows]})


@routes.endpoint(
    "/v1/admin/models/<path:name>",
    access=Access.ADMIN,
    responses={200: AdminModel},
    path=_NAME,
    errors=("unknown_model", *STORAGE),
)
def retrieve_admin_model(name: str) -> Response:
    """Fetch one model with its live state

    The same row as in the list.
    """
    services = current_services()
    return json_response(serialize_model(services.fleet.row(name), services.settings))


@routes.endpoint("/v1/admin/gpu-memory", access=Access.ADMIN, responses={200: GpuMemory}, errors=STORAGE)
def show_gpu_memory() -> Response:
    """Show the GPUs' memory and the models' share of it

    As the workers measured it within the last seconds. If a GPU cannot be read, or there is none, `error` has
    the reason.
    """
    services = current_services()
    rows, workers = services.fleet.rows(), services.fleet.workers()
    return json_response(serialize_memory(rows, workers, services.settings))


@routes.endpoint(
    "/v1/admin/models/<path:name>/load",
    "POST",
    access=Access.ADMIN,
    body=LoadRequestBody,
    invalid_body=UnprocessableRequest,
    responses={200: ChangedModel, 202: ChangedModel},
    path=_NAME,
    headers=(PREFER,),
    errors=(
        "unknown_model",
        "model_unloading",
        "model_loading",
        "invalid_load_request",
        "insufficient_memory",
        "no_worker",
        *STORAGE,
    ),
)
def load_model(body: dict[str, Any], name: str) -> Response:
    """Load a model

    202 when a load has begun: poll `operation`, follow `/v1/admin/events`, or send `Prefer: wait=N` and get
    200 with the model's state when the load has ended, `loaded` or `failed`. 200 when the model is loaded or
    loading already. The replicas are all-or-nothing: if one fails, the model is `failed` and the others stop.

    `replicas` and the fields of the model's backend (`load_constraints`) apply to this load only. 422: a
    field is unknown, of another type, or under its minimum. 400 `invalid_load_request`: its value is wrong
    for this model, fields contradict each other, or the model is loaded already. 409: the model is being
    unloaded, or the memory does not suffice (`insufficient_memory`, with the numbers). With `evictModel` that
    model is unloaded first.
    """
    override = {key: value for key, value in body.items() if key not in ("replicas", EVICT)}
    load_request = LoadRequest(replicas=body.get("replicas"), override=override, evict=body.get(EVICT))
    return _operation_response(name, current_services().fleet.load(name, load_request))


@routes.endpoint(
    "/v1/admin/models/<path:name>/unload",
    "POST",
    access=Access.ADMIN,
    responses={200: ChangedModel, 202: ChangedModel},
    path=_NAME,
    headers=(PREFER,),
    errors=("unknown_model", "model_loading", *STORAGE),
)
def unload_model(name: str) -> Response:
    """Unload a model

    202 when an unload has begun: poll `operation`, follow `/v1/admin/events`, or send `Prefer: wait=N`. 200
    when the model is unloaded or unloading already. Waiting requests end with `model_unloading`, running ones
    may finish (for `limits.unload_timeout_s`), then the engines end and their memory is free.
    """
    return _operation_response(name, current_services().fleet.unload(name))


@routes.endpoint(
    "/v1/admin/operations/<id>",
    access=Access.ADMIN,
    responses={200: OperationObject},
    path={"id": "The operation's id."},
    errors=("not_found", *STORAGE),
)
def retrieve_operation(id: str) -> Response:
    """Poll a load or unload

    Its progress (0 to 1), its stage, the remaining time estimated from earlier operations, and its result or
    error. It is stored for a day after its end.
    """
    operation = current_services().fleet.operation(id)
    if operation is None:
        raise NotFound(f"there is no operation {id}", param="id")
    return json_response(serialize_operation(operation))


def _operation_response(name: str, outcome: LoadOutcome) -> Response:
    """Record, notify the workers, wait if the client prefers that, and answer with the model's row."""
    from tasks.definitions import notify_workers  # noqa: PLC0415 - Celery is a heavy import, and only this needs it

    services = current_services()
    for begun in filter(None, (outcome.eviction, outcome)):
        _audit(begun)
    notify_workers(outcome)
    operation, headers = outcome.operation, {}
    wait_s = requested_wait_s()
    if wait_s and operation and (awaited := wait_for_operation(services, operation, wait_s)):
        operation, headers = awaited, {"Preference-Applied": f"wait={wait_s}"}
    body = serialize_model(services.fleet.row(name), services.settings)
    body["operation"] = serialize_operation(operation) if operation else None
    pending = outcome.begun and operation is not None and not operation.status.is_terminal
    if pending and operation:
        headers["Location"] = f"/v1/admin/operations/{operation.id}"
    return json_response(body, 202 if pending else 200, headers)


def _audit(outcome: LoadOutcome) -> None:
    operation = outcome.operation
    if not operation or not outcome.begun:
        return
    try:
        tenant = current_caller().tenant.name
        current_services().audit.record(tenant, operation.kind, operation.model, operation.id)
    except redis.RedisError:
        # the operation has begun already; an error response would only hide it
        logger.exception("%s %s is missing in the audit chain", operation.id, operation.model)
