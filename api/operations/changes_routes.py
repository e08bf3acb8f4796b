"""GET /v1/admin/changes: the latest changes of models' states, added models, proposals and alerts."""

from __future__ import annotations

from flask import Response, request

from api.http.error_codes import STORAGE
from api.http.errors import InvalidRequest
from api.http.http_responses import json_response
from api.http.openapi import RouteGroup
from api.http.parameters import LIMIT, MAX_PAGE, integer_parameter, stream_position
from api.http.route_access import Access
from api.operations.events_schema import ChangeList
from api.operations.serializers import serialize_change
from api.services import service
from fleet.fleet import Fleet

routes = RouteGroup("changes", __name__)

MAX_NAME = 256

_MODEL = {
    "name": "model",
    "in": "query",
    "description": "Only the changes of this model.",
    "schema": {"type": "string", "maxLength": MAX_NAME},
}
_BEFORE = {
    "name": "before",
    "in": "query",
    "description": "The `last_id` of the page before.",
    "schema": {"type": "string", "pattern": "^[0-9]{1,20}-[0-9]{1,20}$"},
}


@routes.endpoint(
    "/v1/admin/changes",
    access=Access.READ,
    responses={200: ChangeList},
    query=(_MODEL, LIMIT, _BEFORE),
    errors=STORAGE,
)
def list_changes() -> Response:
    """List what changed lately

    The newest first: the changes of models' states, of added models, proposals and alerts that
    `/v1/admin/events` reports as `state`, `catalogue`, `proposal` and `alert`, of which the platform keeps
    the latest 1,000 or so. With `model` those of one model only.
    """
    limit, model = integer_parameter("limit", MAX_PAGE), request.args.get("model")
    if model is not None and len(model) > MAX_NAME:
        raise InvalidRequest(f"model must have at most {MAX_NAME} characters", param="model")
    found, has_more = service(Fleet).state_changes.history(
        100 if limit is None else limit, stream_position("before"), model
    )
    data = [serialize_change(one) for one in found]
    ids: list[str | None] = [one.id for one in found] or [None]
    body = {"object": "list", "data": data, "has_more": has_more, "first_id": ids[0], "last_id": ids[-1]}
    return json_response(body)
