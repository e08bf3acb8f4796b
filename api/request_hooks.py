"""What happens around every request: it gets an id, its caller is found, and its answer carries the id."""

from __future__ import annotations

import secrets

from flask import Flask, Response, current_app, g, request

from api.auth.access import Access, access_of
from api.errors import Forbidden
from api.services import services


def install(app: Flask) -> None:
    """Put the guard around all routes of the app."""
    app.before_request(guard)
    app.after_request(sign)


def guard() -> None:
    """Let the request through, or raise `InvalidApiKey`, `Forbidden` or `InvalidRequest`."""
    if request.endpoint is None:
        return  # no such route: the error handler says so
    access = access_of(current_app.view_functions.get(request.endpoint))
    if access is None:
        raise Forbidden("this route is closed")  # nobody said who may use it
    if access is not Access.PUBLIC:
        g.caller = services().authenticator.identify(request.headers, access)


def request_id() -> str:
    """The id of the request that is answered now."""
    if "request_id" not in g:
        g.request_id = f"req_{secrets.token_hex(16)}"
    return str(g.request_id)


def sign(response: Response) -> Response:
    """Put the request's id on the answer: OpenAI's SDKs read `x-request-id`, Anthropic's `request-id`."""
    response.headers["x-request-id"] = response.headers["request-id"] = request_id()
    return response
