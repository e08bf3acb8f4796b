"""GET /v1/admin/models/{name}/log: what the engines of a model printed."""

from __future__ import annotations

from flask import Response, request

from api.http.error_codes import STORAGE
from api.http.errors import InvalidRequest
from api.http.http_responses import json_response
from api.http.openapi import RouteGroup
from api.http.parameters import LIMIT, MAX_PAGE, integer_parameter, stream_position
from api.http.route_access import Access
from api.operations.engine_log_schema import EngineLog
from api.services import current_services
from fleet.engine_log import LogLine
from fleet.fleet import Fleet

routes = RouteGroup("engine_log", __name__)

MAX_NAME = 300

_AFTER = {
    "name": "after",
    "in": "query",
    "description": "The `last_id` of the answer before: only what came after it.",
    "schema": {"type": "string", "pattern": "^[0-9]{1,20}-[0-9]{1,20}$"},
}


def _filter(name: str, about: str) -> dict[str, object]:
    schema = {"type": "string", "maxLength": MAX_NAME}
    return {"name": name, "in": "query", "description": about, "schema": schema}


@routes.endpoint(
    "/v1/admin/models/<path:name>/log",
    access=Access.READ,
    responses={200: EngineLog},
    path={"name": ("The model's name; it may contain slashes.", "stoker-demo")},
    query=(
        _filter("replica", "Only what this replica's engine printed."),
        _filter("operation", "Only what the engines printed that this load started."),
        _AFTER,
        LIMIT,
    ),
    errors=("unknown_model", *STORAGE),
)
def read_engine_log(name: str) -> Response:
    """Read what a model's engines printed

    Without `after` the latest lines; with it those that came later, so that a page can follow the log. The
    platform keeps the latest 2,000 lines of a model for a day after the last one, also after a load has
    failed, and after the unload of a dynamic model. It takes at most 100 lines per second of an engine; what
    is left out is counted. An engine of a remote backend has no log.
    """
    services, limit = current_services(), integer_parameter("limit", MAX_PAGE)
    page = services[Fleet].engine_logs.read(
        name,
        100 if limit is None else limit,
        after=stream_position("after"),
        replica=_name("replica"),
        operation=_name("operation"),
    )
    if not page.lines and not services[Fleet].engine_logs.has(name):
        services[Fleet].definition(name)
    body = {
        "object": "list",
        "data": [_serialize(line) for line in page.lines],
        "has_more": page.has_more,
        "has_gap": page.has_gap,
        "first_id": page.lines[0].id if page.lines else None,
        "last_id": page.last,
    }
    return json_response(body)


def _name(parameter: str) -> str | None:
    given = request.args.get(parameter)
    if given is not None and len(given) > MAX_NAME:
        raise InvalidRequest(f"{parameter} must have at most {MAX_NAME} characters", param=parameter)
    return given


def _serialize(line: LogLine) -> dict[str, object]:
    return {
        "id": line.id,
        "at": line.at,
        "replica": line.origin.replica,
        "worker": line.origin.worker,
        "operation_id": line.origin.operation or None,
        "text": line.text,
        "omitted_bytes": line.omitted_bytes,
    }
