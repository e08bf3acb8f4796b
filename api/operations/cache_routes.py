"""/v1/admin/cache: operators flush prefix caches."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from flask import Response

from api.access.authority import authorization_of_caller
from api.access.caller import current_caller
from api.access.governed_admin import AdminChange, check_not_governed, governed_refusal
from api.http.error_codes import STORAGE
from api.http.errors import UnprocessableRequest
from api.http.http_responses import json_response
from api.http.openapi import RouteGroup
from api.http.parameters import PREFER
from api.http.prefer import Answer, answer_at_end
from api.http.route_access import Access
from api.operations.admin_schema import OperationObject
from api.operations.flush_schema import FlushBody, FlushPlan
from api.operations.serializers import serialize_operation
from api.services import current_services
from config.settings import FLUSH
from fleet.fleet import Fleet
from fleet.flush import FlushScope
from fleet.operation import Operation
from fleet.plan import plan_flush
from governance.audit import AuditLog

routes = RouteGroup("cache", __name__)


@routes.endpoint(
    "/v1/admin/cache/flush",
    "POST",
    access=Access.OPERATE,
    body=FlushBody,
    examples={
        "A model": {"scope": "model", "model": "stoker-demo"},
        "A tenant": {"scope": "tenant", "tenant": "acme"},
    },
    invalid_body=UnprocessableRequest,
    responses={200: OperationObject, 202: OperationObject},
    headers=(PREFER,),
    errors=("governance_required", "unknown_model", "invalid_flush", "too_many_flushes", *STORAGE),
)
def flush_cache(body: dict[str, Any]) -> Response:
    """Flush prefix caches

    202 with the operation: poll it, or send `Prefer: wait=N`. It first waits until all API processes name new
    cache namespaces; then the engines free what they hold. When it is `completed`, no request reuses a prefix
    from before. Running requests go on, and leave nothing behind. `result` has what the engines counted, or
    null and a `reason`. A tenant or a tag of which nothing is cached is no error.

    404: an unknown model. 400 `invalid_flush`: a field that the scope needs is missing, or one does not
    belong to it. 409 `too_many_flushes`: 100 of them are under way.
    """
    from tasks.definitions import notify_workers  # noqa: PLC0415 - Celery is a heavy import, and only this needs it

    services, tenant = current_services(), current_caller().tenant.name
    scope = _checked_scope(body)
    check_not_governed(services, current_caller(), _change(scope))
    outcome = services[Fleet].flush(scope, authorization_of_caller(current_caller()))
    notify_workers(outcome)
    services[AuditLog].sync()
    if outcome.operation is None:  # a flush has always one
        raise RuntimeError("a flush began without an operation")
    return answer_at_end(services, outcome.operation, tenant, _answer)


@routes.endpoint(
    "/v1/admin/cache/flush/plan",
    "POST",
    access=Access.READ,
    body=FlushBody,
    examples={"A model": {"scope": "model", "model": "stoker-demo"}},
    invalid_body=UnprocessableRequest,
    responses={200: FlushPlan},
    errors=("unknown_model", "invalid_flush", *STORAGE),
)
def plan_cache_flush(body: dict[str, Any]) -> Response:
    """Show what a flush would affect

    The loaded models, their replicas and running requests, and the cache namespaces. Nothing is changed. The
    body is checked as that of a flush. `problem` is why the flush would be refused at this moment:
    `governance_required` where it needs a proposal or an opToken.
    """
    services = current_services()
    scope = _checked_scope(body)
    if scope.model is not None:
        services[Fleet].definition(scope.model)
    fields = {"modelId": scope.model, "tenantId": scope.tenant, "tag": scope.tag}
    shown = plan_flush(services[Fleet], {"scope": scope.kind} | fields).shown
    refusal = governed_refusal(services, _change(scope))
    plan = {
        "scope": asdict(scope),
        "begins": refusal is None,
        "problem": None if refusal is None else {"code": refusal.code, "message": refusal.message},
        "namespaces": scope.namespaces,
        "models": [
            {"model": one["modelId"], "replicas": one["replicas"], "running_requests": one["runningRequests"]}
            for one in shown["byModel"]
        ],
        "replicas": shown["replicas"],
        "running_requests": shown["runningRequests"],
    }
    return json_response(plan)


def _checked_scope(body: dict[str, Any]) -> FlushScope:
    """The scope that a body names. Raises `InvalidFlush`."""
    scope = FlushScope(body["scope"], body.get("model"), body.get("tenant"), body.get("tag"))
    scope.check()
    return scope


def _change(scope: FlushScope) -> AdminChange:
    return AdminChange("flush", str(scope), FLUSH, _proposed(scope))


def _proposed(scope: FlushScope) -> dict[str, str]:
    """The body of a proposal of the same."""
    fields = {"scope": scope.kind, "modelId": scope.model, "tenantId": scope.tenant, "tag": scope.tag}
    return {name: value for name, value in fields.items() if value is not None}


def _answer(operation: Operation) -> Answer:
    body = serialize_operation(operation)
    if operation.status.is_terminal:
        return body, 200, {}
    return body, 202, {"Location": f"/v1/admin/operations/{operation.id}"}
