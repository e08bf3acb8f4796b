"""POST and DELETE of /models: llama-server's router adds and removes models of its cache."""

from __future__ import annotations

from typing import Any

from flask import Response, request

from api.access.authority import authorization_of_caller
from api.access.caller import current_caller
from api.access.governed_admin import AdminChange, check_not_governed
from api.http.error_codes import STORAGE
from api.http.errors import InvalidRequest, NotFound
from api.http.http_responses import json_response
from api.http.openapi import RouteGroup
from api.http.parameters import query_parameter
from api.http.route_access import Access
from api.inference.resumable.schema import LlamaServerError
from api.operations.model_additions import Addition, add_model, plan_model, remove_model
from api.operations.router.routes import NOT_FOUND, download_of
from api.operations.router.schema import NewModel, Success
from api.services import AppServices, current_services
from config.settings import ADD, REMOVE
from fleet.dynamic_model import is_name
from fleet.fleet import Fleet
from governance.audit import AuditLog
from store.errors import Rejected

routes = RouteGroup("router_adding", __name__)

_MODEL = query_parameter("model", "Its name.", example="my-demo")


@routes.endpoint(
    "/models",
    "POST",
    access=Access.ADMIN,
    body=NewModel,
    examples={"A file of a hub": {"model": "ggml-org/gemma-3-4b-it-GGUF:Q4_K_M"}},
    responses={200: Success},
    errors=("governance_required", "no_worker", *STORAGE),
    error_body=LlamaServerError,
)
def download_router_model(body: dict[str, Any]) -> Response:
    """Download a model, as llama-server's router

    The download begins, and the model is there when it has ended: `/models/sse` shows both. 400 if there is
    a model of this name, or nothing to download. Everything else about the model is the choice of the
    platform; `POST /v1/admin/models` takes more.
    """
    _add(current_services(), body["model"])
    return json_response({"success": True})


@routes.endpoint(
    "/models",
    "DELETE",
    access=Access.ADMIN,
    responses={200: Success},
    query=(_MODEL,),
    errors=("governance_required", "not_found", "model_busy", *STORAGE),
    error_body=LlamaServerError,
)
def remove_router_model() -> Response:
    """Remove a model that was added, as llama-server's router

    And its files, if no other model uses them. A download under way is cancelled. 400 for a model of the
    configuration or of a presets file, 409 for one that is not unloaded.
    """
    _remove(current_services(), request.args.get("model", ""))
    return json_response({"success": True})


def _add(services: AppServices, source: str) -> None:
    fleet, caller = services[Fleet], current_caller()
    name = source if is_name(source) else None
    if name is not None and (fleet.catalogue.get(name) or download_of(fleet, name)):
        raise _exists(name)
    addition = Addition(source, name)
    check_not_governed(services, caller, AdminChange("add", source, ADD, addition.body()))
    try:
        plan = plan_model(services, addition)
    except Rejected as error:
        raise InvalidRequest(
            f"model validation failed, unable to download: {error.message}", param="model"
        ) from None
    add_model(services, addition, plan, authorization_of_caller(caller))


def _remove(services: AppServices, name: str) -> None:
    fleet, caller = services[Fleet], current_caller()
    authorization = authorization_of_caller(caller)
    if not name:
        raise InvalidRequest("model must be a non-empty string", param="model")
    if (download := download_of(fleet, name)) is not None:
        fleet.registered.cancel(download, authorization)
        services[AuditLog].sync()
        return
    model = fleet.registered.read().get(name)
    is_unreadable = name in fleet.catalogue.unreadable
    if model is None and not is_unreadable and fleet.catalogue.get(name) is None:
        raise NotFound(NOT_FOUND, param="model")
    if (model is None and not is_unreadable) or (model is not None and model.origin.preset):
        raise InvalidRequest(f"model name={name} is not removable (not from cache)", param="model")
    check_not_governed(services, caller, AdminChange("remove", name, REMOVE, {"name": name}))
    remove_model(services, name, authorization)


def _exists(name: str) -> InvalidRequest:
    return InvalidRequest(f"model '{name}' already exists", param="model")
