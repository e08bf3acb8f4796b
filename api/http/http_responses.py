"""Makes the HTTP responses that all routes share: a JSON body, and an error in the API's envelope."""

from __future__ import annotations

import logging
from collections.abc import Mapping

import orjson
from flask import Response, g, request

from api.http.anthropic_errors import VERSION_HEADER
from api.http.error_rendering import error_body, render_error
from api.http.errors import internal_error
from store.errors import StokerError
from telemetry.text import without_keys

logger = logging.getLogger("api")


def json_response(body: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON response."""
    return Response(orjson.dumps(body), status, headers, content_type="application/json")


def error_response(error: StokerError) -> Response:
    """An error of the platform, with the status and headers of the error table."""
    ids = g.get("request_ids")  # those of a plain WSGI server
    to_anthropic = VERSION_HEADER in request.headers
    body = error_body(error, request.path, ids and ids.request_id, to_anthropic=to_anthropic)
    rendered = render_error(error, body)
    return json_response(rendered.body, rendered.status, rendered.headers)


def unexpected_error_response(error: Exception) -> Response:
    """An `internal_error` for an unexpected exception; only the log has the details."""
    logger.error("%s %s failed", request.method, without_keys(request.path), exc_info=error)
    return error_response(internal_error())
