"""/v1/admin: what a load or an unload would do, before it is asked for."""

from __future__ import annotations

from typing import Any

from flask import Response

from api.access.governed_admin import governed_refusal
from api.http.error_codes import STORAGE
from api.http.errors import UnprocessableRequest
from api.http.http_responses import json_response
from api.http.openapi import RouteGroup
from api.http.route_access import Access
from api.operations.load_schema import LoadRequestBody, load_change, requested_load
from api.operations.operation_plans_schema import LoadPlan, UnloadPlan
from api.services import current_services, service
from fleet.fleet import Fleet
from fleet.plan import plan_load, plan_problem, plan_unload

routes = RouteGroup("load_plans", __name__)

_NAME = {"name": ("The model's name; it may contain slashes.", "stoker-demo")}


@routes.endpoint(
    "/v1/admin/models/<path:name>/load/plan",
    "POST",
    access=Access.READ,
    body=LoadRequestBody,
    examples={"As configured": {}, "One replica": {"replicas": 1}},
    invalid_body=UnprocessableRequest,
    responses={200: LoadPlan},
    path=_NAME,
    errors=("unknown_model", "invalid_load_request", *STORAGE),
)
def plan_admin_load(body: dict[str, Any], name: str) -> Response:
    """Show what a load would do, without doing it

    The body is that of the load, and is refused as there (422, 400 `invalid_load_request`). The memory that
    it needs, its parts and what is free, the workers chosen, the model that is unloaded first with the
    requests that would drain, the context, the expected duration. What only this moment refuses is in
    `problem`: `insufficient_memory` with the numbers (and in `evictions` the models that would make room),
    `no_worker`, a conflict of states, `governance_required` where an administrator has to propose it. The
    same document as that of `GET /v1/models/load/plan`.
    """
    services = current_services()
    fleet = services[Fleet]
    plan = plan_load(fleet, fleet.definition(name), requested_load(body))
    refusal = governed_refusal(services, load_change(name, body))
    if refusal is None:
        return json_response(plan.document())
    return json_response({**plan.document(), "begins": False, "problem": plan_problem(refusal)})


@routes.endpoint(
    "/v1/admin/models/<path:name>/unload/plan",
    access=Access.READ,
    responses={200: UnloadPlan},
    path=_NAME,
    errors=("unknown_model", *STORAGE),
)
def plan_admin_unload(name: str) -> Response:
    """Show what an unload would do, without doing it

    The running requests, which may finish, the waiting ones, which fail, and how long another load takes
    (`reload`).
    """
    return json_response(plan_unload(service(Fleet), name).document())
