"""/v1/admin/models: administrators add and remove models."""

from __future__ import annotations

from functools import partial
from typing import Any

from flask import Response

from api.access.authority import authorization_of_caller
from api.access.caller import current_caller
from api.access.governed_admin import AdminChange, check_not_governed
from api.http.error_codes import STORAGE
from api.http.errors import UnprocessableRequest
from api.http.http_responses import json_response
from api.http.openapi import RouteGroup
from api.http.parameters import PREFER
from api.http.prefer import Answer, answer_at_end
from api.http.route_access import Access
from api.operations.additions_schema import AddedModel, AdditionBody, AdditionPlanObject
from api.operations.model_additions import Addition, add_model, plan_model, remove_model
from api.operations.serializers import serialize_operation
from api.services import current_services
from config.settings import ADD, REMOVE
from fleet.load_request import LoadOutcome
from fleet.operation import Operation

routes = RouteGroup("additions", __name__)

HUB = ("hub_unreachable", "hub_busy", "hub_not_found", "hub_access_denied", "hub_refused")
PLANS = ("invalid_addition", "model_not_allowed", "model_not_downloaded", *HUB, *STORAGE)
CONFLICTS = ("set_by_configuration", "model_changing", "model_busy")


@routes.endpoint(
    "/v1/admin/models",
    "POST",
    access=Access.ADMIN,
    body=AdditionBody,
    examples={"A file": {"source": "models/stoker-demo.gguf", "name": "my-demo"}},
    invalid_body=UnprocessableRequest,
    responses={200: AddedModel, 201: AddedModel, 202: AddedModel},
    headers=(PREFER,),
    errors=(
        "governance_required",
        "model_exists",
        "too_many_models",
        "too_many_downloads",
        "no_worker",
        *CONFLICTS,
        *PLANS,
    ),
)
def add_admin_model(body: dict[str, Any]) -> Response:
    """Add a model

    201 when its files are there: it is registered, and stays until it is removed. 202 when a worker downloads
    them first: poll `operation`, follow `/v1/admin/events`, or send `Prefer: wait=N`; the model is registered
    at its end, and by nothing else. `DELETE /v1/admin/operations/{id}` cancels it; what was downloaded stays,
    and the same addition continues there. While it is under way, the same addition returns this operation.

    Fields that `configuration` does not have get defaults (`POST /v1/admin/models/plan` shows them, with
    reasons). 409 `model_exists`: a model of this name was added with another definition; with `replace` its
    definition changes while it is not loaded, and of the same files the fields that are not given stay. 409
    `set_by_configuration`: the configuration has this name.
    """
    services, tenant = current_services(), current_caller().tenant.name
    addition = Addition.of_body(body)
    subject = addition.name or addition.source
    check_not_governed(services, current_caller(), AdminChange("add", subject, ADD, addition.body()))
    plan = plan_model(services, addition)
    name, outcome = add_model(services, addition, plan, authorization_of_caller(current_caller()))
    if outcome.operation is None:
        return json_response({"model": name, "operation": None}, 201)
    return answer_at_end(services, outcome.operation, tenant, partial(_answer, name))


@routes.endpoint(
    "/v1/admin/models/plan",
    "POST",
    access=Access.READ,
    body=AdditionBody,
    examples={"A file": {"source": "models/stoker-demo.gguf", "name": "my-demo"}},
    invalid_body=UnprocessableRequest,
    responses={200: AdditionPlanObject},
    errors=PLANS,
)
def plan_admin_model(body: dict[str, Any]) -> Response:
    """Show what an addition would make

    The files, what would be downloaded, the complete configuration, each default with its reason, and whether
    a replica fits into the memory of a worker now. Nothing is changed. The body is that of the addition.
    """
    services = current_services()
    return json_response(plan_model(services, Addition.of_body(body)).to_dict())


@routes.endpoint(
    "/v1/admin/models/<model:name>",
    "DELETE",
    access=Access.ADMIN,
    responses={200: AddedModel, 202: AddedModel},
    path={"name": ("The model's name; it may contain slashes.", "stoker-demo")},
    headers=(PREFER,),
    errors=("governance_required", "unknown_model", *CONFLICTS, *STORAGE),
)
def remove_admin_model(name: str) -> Response:
    """Remove a model that was added

    It leaves the catalogue at once. 202: each host deletes the files that the platform has downloaded for it
    and that no other model uses; `result` has their number and size. 409 `model_busy`: it is loaded; unload
    it first. 409 `set_by_configuration`: the configuration names it. 404: it was not added.
    """
    services, tenant = current_services(), current_caller().tenant.name
    check_not_governed(services, current_caller(), AdminChange("remove", name, REMOVE, {"name": name}))
    outcome = remove_model(services, name, authorization_of_caller(current_caller()))
    return _operation_answer(name, outcome, tenant)


def _operation_answer(name: str, outcome: LoadOutcome, tenant: str) -> Response:
    if outcome.operation is None:  # a removal has always one
        raise RuntimeError("a removal began without an operation")
    return answer_at_end(current_services(), outcome.operation, tenant, partial(_answer, name))


def _answer(name: str, operation: Operation) -> Answer:
    body = {"model": name, "operation": serialize_operation(operation)}
    if operation.status.is_terminal:
        return body, 200, {}
    return body, 202, {"Location": f"/v1/admin/operations/{operation.id}"}
