"""Hooks of every request: one authorizes the caller, one adds headers to the response."""

from __future__ import annotations

import random

from flask import Flask, Response, current_app, g, request

from api.auth.access import Access, access_of
from api.errors import Forbidden
from api.services import current_services


def install(app: Flask) -> None:
    """Register the hooks for all routes of the app."""
    app.before_request(authorize_request)
    app.after_request(add_headers)


def authorize_request() -> None:
    """Find the caller and check its access. Raises `InvalidApiKey`, `Forbidden` or `InvalidRequest`."""
    authenticator = current_services().authenticator
    if authenticator.open_mode is not None:
        authenticator.open_mode.check(request.headers.get("Host"), request.headers.get("Origin"))
    if request.endpoint is None:
        return  # no such route: the error handler answers 404
    access = access_of(current_app.view_functions.get(request.endpoint))
    if access is None:
        raise Forbidden("this route is closed")  # its view declares no access
    if access is not Access.PUBLIC:
        g.caller = authenticator.identify(request.headers, access, request.remote_addr)


def request_id() -> str:
    """The id of the current request."""
    if "request_id" not in g:
        # not secret; `secrets` would make a system call
        g.request_id = f"req_{random.getrandbits(128):032x}"
    return str(g.request_id)


def add_headers(response: Response) -> Response:
    """Add the request's id, and that no cache stores the answer and no browser guesses its type.

    OpenAI's SDKs read `x-request-id`, Anthropic's `request-id`. The files of the documentation are no secret:
    they keep Flask's `Cache-Control`.
    """
    headers = response.headers
    headers["x-request-id"] = headers["request-id"] = request_id()
    headers["X-Content-Type-Options"] = "nosniff"
    if request.endpoint != "static":
        headers["Cache-Control"] = "no-store"
    return response
