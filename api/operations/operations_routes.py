"""GET /v1/admin/operations: running and past operations."""

from __future__ import annotations

from flask import Response, request

from api.http.error_codes import STORAGE
from api.http.errors import InvalidRequest
from api.http.http_responses import json_response
from api.http.openapi import RouteGroup
from api.http.parameters import AFTER, LIMIT, MAX_PAGE, choice_parameter, chosen, integer_parameter
from api.http.route_access import Access
from api.operations.admin_schema import OperationList
from api.operations.serializers import serialize_operation
from api.services import current_services
from config.settings import Settings
from fleet.fleet import Fleet
from fleet.operation import OPERATION_KINDS
from fleet.operation_index import OPEN, OperationFilter
from fleet.states import OperationStatus

routes = RouteGroup("operations", __name__)

STATUSES = (OPEN, *map(str, OperationStatus))
MAX_NAME = 256

_MODEL = {
    "name": "model",
    "in": "query",
    "description": "Only the operations of this model, and the flushes of it alone.",
    "schema": {"type": "string", "maxLength": MAX_NAME},
}


@routes.endpoint(
    "/v1/admin/operations",
    access=Access.READ,
    responses={200: OperationList},
    query=(
        choice_parameter("kind", "Only the operations of this kind.", OPERATION_KINDS),
        _MODEL,
        choice_parameter(
            "status", "Only the operations with this status; `open`: `pending` and `running`.", STATUSES
        ),
        LIMIT,
        AFTER,
    ),
    errors=STORAGE,
)
def list_operations() -> Response:
    """List operations: loads, unloads, flushes, downloads and removals

    The newest first: those under way, and those that have ended within a day; of many the latest 10,000. A
    download that a load makes is a stage of it. About 1,000 operations are looked at for a page: with a
    filter it may have fewer than `limit`, or none, and `has_more`. 400: `after` has expired; begin with the
    first page.
    """
    services = current_services()
    limit = integer_parameter("limit", MAX_PAGE)
    after, model = request.args.get("after", ""), request.args.get("model")
    if model is not None and len(model) > MAX_NAME:
        raise InvalidRequest(f"model must have at most {MAX_NAME} characters", param="model")
    wanted = OperationFilter(chosen("kind", OPERATION_KINDS), model, chosen("status", STATUSES))
    page = services[Fleet].operation_index.page(100 if limit is None else limit, after, wanted)
    if page is None:
        raise InvalidRequest("after is not the id of a listed operation: it may have expired", param="after")
    body = {
        "object": "list",
        "data": [serialize_operation(one) for one in page.operations],
        "has_more": page.has_more,
        "first_id": page.operations[0].id if page.operations else None,
        "last_id": page.last,
        "flower_url": services[Settings].flower.url,
    }
    return json_response(body)
