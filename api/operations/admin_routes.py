"""/v1/admin: the Runtime Admin API."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

from flask import Response

from api.access.authority import authority_of, authorization_of_caller
from api.access.caller import current_caller
from api.access.governed_admin import AdminChange, check_not_governed
from api.http.error_codes import STORAGE
from api.http.errors import NotFound, UnprocessableRequest
from api.http.http_responses import json_response
from api.http.openapi import RouteGroup
from api.http.parameters import PREFER
from api.http.prefer import Answer, answer_at_end
from api.http.route_access import Access
from api.operations.additions_schema import AddedModel
from api.operations.admin_schema import AdminModelList, ChangedModel, GpuMemory, ModelDetail, OperationObject
from api.operations.load_schema import LoadRequestBody, load_change, requested_load
from api.operations.serializers import (
    serialize_memory,
    serialize_model,
    serialize_operation,
    serialize_replicas,
)
from api.services import AppServices, current_services, service
from config.settings import ModelDefinition
from fleet.fleet import Fleet
from fleet.load_request import LoadOutcome
from fleet.operation import Operation
from governance.audit import AuditLog
from governance.authorization import Authorization
from store.errors import StokerError

logger = logging.getLogger("api")

routes = RouteGroup("admin", __name__)

_NAME = {"name": ("The model's name; it may contain slashes.", "stoker-demo")}


@routes.endpoint("/v1/admin/models", access=Access.READ, responses={200: AdminModelList}, errors=STORAGE)
def list_admin_models() -> Response:
    """List the models with their live state

    `definition` and the `configured_` fields are the configuration, the other fields the current state.
    `runtime_state` is `unloaded`, `loading`, `loaded` (answers requests), `unloading` (finishes those it has)
    or `failed` (`last_error` has the reason). The effective value of a live field is that of `load_override`
    if the key is there, null included, else that of `definition`.
    """
    fleet = service(Fleet)
    models = [serialize_model(row) for row in fleet.rows()]
    unreadable = [
        {"name": name, "problem": model.problem} for name, model in fleet.catalogue.unreadable.items()
    ]
    return json_response({"models": models, "unreadable": unreadable})


@routes.endpoint(
    "/v1/admin/models/<model:name>",
    access=Access.READ,
    responses={200: ModelDetail},
    path=_NAME,
    errors=("unknown_model", *STORAGE),
)
def retrieve_admin_model(name: str) -> Response:
    """Fetch one model with its live state

    The same row as in the list, and its replicas with their workers and GPUs in `replica_list`.
    """
    fleet = service(Fleet)
    row = fleet.row(name)
    replicas = serialize_replicas(row, fleet.workers(), fleet.engines(name))
    return json_response(serialize_model(row) | {"replica_list": replicas})


@routes.endpoint("/v1/admin/gpu-memory", access=Access.READ, responses={200: GpuMemory}, errors=STORAGE)
def show_gpu_memory() -> Response:
    """Show the GPUs' memory and the models' share of it

    As the workers measured it within the last seconds. If a GPU cannot be read, or there is none, `error` has
    the reason.
    """
    services = current_services()
    rows, workers = services[Fleet].rows(), services[Fleet].workers()
    return json_response(serialize_memory(rows, workers))


@routes.endpoint(
    "/v1/admin/models/<path:name>/load",
    "POST",
    access=Access.OPERATE,
    body=LoadRequestBody,
    examples={"As configured": {}, "One replica": {"replicas": 1}},
    invalid_body=UnprocessableRequest,
    responses={200: ChangedModel, 202: ChangedModel},
    path=_NAME,
    headers=(PREFER,),
    errors=(
        "governance_required",
        "unknown_model",
        "model_unloading",
        "model_loading",
        "invalid_load_request",
        "insufficient_memory",
        "no_worker",
        "cooling_down",
        *STORAGE,
    ),
)
def load_model(body: dict[str, Any], name: str) -> Response:
    """Load a model

    202 when a load has begun: poll `operation`, follow `/v1/admin/events`, or send `Prefer: wait=N` and get
    200 with the model's state when the load has ended, `loaded` or `failed`. 200 when the model is loaded or
    loading already. The replicas are all-or-nothing: if one fails, the model is `failed` and the others stop.
    If replicas of a loaded model are missing, the load restores them (202), and the others serve meanwhile.

    `replicas` and the fields of the model's backend (`load_constraints`) apply to this load only. 422: a
    field is unknown, of another type, or under its minimum. 400 `invalid_load_request`: its value is wrong
    for this model or has no effect, fields contradict each other, or the model is loaded already. 409: the
    model is being unloaded, or the memory does not suffice (`insufficient_memory`, with the numbers). With
    `evictModel` that model is unloaded first; this is 400 as well while the model itself is loaded or
    loading.
    """
    services = current_services()
    fleet, model = services[Fleet], services[Fleet].definition(name)
    check_not_governed(services, current_caller(), load_change(name, body))
    return _operation_response(model, fleet.load(name, requested_load(body), _by_key()))


@routes.endpoint(
    "/v1/admin/models/<path:name>/unload",
    "POST",
    access=Access.OPERATE,
    responses={200: ChangedModel, 202: ChangedModel},
    path=_NAME,
    headers=(PREFER,),
    errors=("governance_required", "unknown_model", *STORAGE),
)
def unload_model(name: str) -> Response:
    """Unload a model, or cancel its load

    202 when an unload has begun: poll `operation`, follow `/v1/admin/events`, or send `Prefer: wait=N`. 200
    when the model is unloaded or unloading already, or has no engine to wait for. Waiting requests end with
    `model_unloading`, running ones may finish (for `limits.unload_timeout_s`), then the engines end and their
    memory is free. A load under way is cancelled: its engines are killed, and its operation ends `cancelled`.
    """
    services = current_services()
    fleet = services[Fleet]
    model = fleet.definition(name)  # a dynamic model leaves the catalogue with its unload
    proposed = AdminChange("unload", name, "model-unload", {"modelId": name})
    check_not_governed(services, current_caller(), proposed)
    return _operation_response(model, fleet.unload(name, _by_key()))


@routes.endpoint(
    "/v1/admin/operations/<id>",
    access=Access.READ,
    responses={200: OperationObject},
    path={"id": "The operation's id."},
    errors=("not_found", *STORAGE),
)
def retrieve_operation(id: str) -> Response:
    """Poll an operation

    Its progress (0 to 1), its stage, the remaining time estimated from earlier operations, and its result or
    error. It is stored for a day after its end.
    """
    operation = service(Fleet).operation(id)
    if operation is None:
        raise NotFound(f"there is no operation {id}", param="id")
    return json_response(serialize_operation(operation))


@routes.endpoint(
    "/v1/admin/operations/<id>",
    "DELETE",
    access=Access.OPERATE,
    responses={200: (ChangedModel, AddedModel), 202: ChangedModel},
    path={"id": "The operation's id."},
    headers=(PREFER,),
    errors=("not_found", "operation_not_cancellable", *STORAGE),
)
def cancel_operation(id: str) -> Response:
    """Cancel a load or a download

    As an unload of its model, if this load is still under way: the load ends `cancelled`, and `operation` is
    the unload that ends its engines. 200 when it is cancelled already. 409 `operation_not_cancellable`: it
    has ended otherwise, or is neither a load nor a download. After a load that restores replicas of a loaded
    model, `operation` is null: the model stays loaded without them. A cancelled operation can be read for a
    day.

    A download ends `cancelled` at once, and registers no model; what it has written stays for a later one.
    """
    services = current_services()
    operation = services[Fleet].operation(id)
    if operation is None:
        raise NotFound(f"there is no operation {id}", param="id")
    services[Fleet].check_cancellable(operation)
    if operation.kind == "download":
        ended = services[Fleet].registered.cancel(operation, _by_key())
        services[AuditLog].sync()
        return json_response({"model": ended.model, "operation": serialize_operation(ended)})
    model = services[Fleet].definition(operation.model)
    return _operation_response(model, services[Fleet].cancel_load(operation, _by_key()))


def _by_key() -> Authorization:
    return authorization_of_caller(current_caller())


def _operation_response(model: ModelDefinition, outcome: LoadOutcome) -> Response:
    """Notify the workers, wait if the client prefers that, and answer with the model's row."""
    from tasks.definitions import notify_workers  # noqa: PLC0415 - Celery is a heavy import, and only this needs it

    services, tenant = current_services(), current_caller().tenant.name
    notify_workers(outcome)
    if outcome.begun or outcome.cancelled:
        services[AuditLog].sync()
    else:
        _record_unchanged(services, model, outcome)
    if outcome.operation is None:
        return json_response(*_changed_model(services, model, outcome, None))
    return answer_at_end(
        services, outcome.operation, tenant, partial(_changed_model, services, model, outcome)
    )


def _record_unchanged(services: AppServices, model: ModelDefinition, outcome: LoadOutcome) -> None:
    """Record an accepted request after which nothing had to be done: no script has."""
    detail = {"operation": outcome.operation.id} if outcome.operation else {}
    event = authority_of(current_caller()).event(outcome.kind, model.name, "done", detail)
    try:
        services[AuditLog].record(event)
    except StokerError:
        logger.exception("the %s of %s is missing from the audit chain", outcome.kind, model.name)


def _changed_model(
    services: AppServices, model: ModelDefinition, outcome: LoadOutcome, operation: Operation | None
) -> Answer:
    """The model's row with the operation."""
    body = serialize_model(services[Fleet].row_of(model))
    body["operation"] = serialize_operation(operation) if operation else None
    if not outcome.begun or operation is None or operation.status.is_terminal:
        return body, 200, {}
    return body, 202, {"Location": f"/v1/admin/operations/{operation.id}"}
