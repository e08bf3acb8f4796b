"""Makes the HTTP responses that all routes share: a JSON body, and an error in the API's envelope."""

from __future__ import annotations

import logging
from collections.abc import Mapping

import orjson
from flask import Response, g, request

from api.http.anthropic_errors import VERSION_HEADER
from api.http.error_bodies import error_body
from api.http.errors import ApiError, headers_of, kind_of
from api.http.refusals import count_refusal
from store.errors import StokerError
from telemetry.text import without_keys

logger = logging.getLogger("api")


def json_response(body: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON response."""
    return Response(orjson.dumps(body), status, headers, content_type="application/json")


def error_response(error: StokerError) -> Response:
    """An error of the platform, with the status and headers of the error table."""
    count_refusal(error)
    ids = g.get("request_ids")  # those of a plain WSGI server
    to_anthropic = VERSION_HEADER in request.headers
    body = error_body(error, request.path, ids and ids.request_id, to_anthropic=to_anthropic)
    return json_response(body, kind_of(error.code).status, headers_of(error))


def unexpected_error_response(error: Exception) -> Response:
    """An `internal_error` for an unexpected exception; only the log has the details."""
    logger.error("%s %s failed", request.method, without_keys(request.path), exc_info=error)
    return error_response(
        ApiError("an internal error; the platform's log has the details", code="internal_error")
    )
