"""Hooks of every request: one authorizes the caller, one adds headers to the response."""

from __future__ import annotations

from flask import Flask, Response, current_app, g, request

from api.auth.access import Access, access_of
from api.errors import Forbidden
from api.services import current_services
from telemetry.request_ids import RequestIds, current_ids


def install(app: Flask) -> None:
    """Register the hooks for all routes of the app."""
    app.before_request(authorize_request)
    app.after_request(add_headers)


def authorize_request() -> None:
    """Find the caller and check its access. Raises `InvalidApiKey`, `Forbidden` or `InvalidRequest`."""
    authenticator = current_services().authenticator
    ids = request_ids()
    if request.url_rule is not None:
        ids.route = request.url_rule.rule
    if authenticator.open_mode is not None:
        authenticator.open_mode.check(request.headers.get("Host"), request.headers.get("Origin"))
    if request.endpoint is None:
        return  # no such route: the error handler answers 404
    access = access_of(current_app.view_functions.get(request.endpoint))
    if access is None:
        raise Forbidden("this route is closed")  # its view declares no access
    if access is not Access.PUBLIC:
        g.caller = authenticator.identify(request.headers, access, request.remote_addr)
        ids.tenant = g.caller.tenant.name
        if request.blueprint == "responses" and request.view_args:
            ids.response_id = request.view_args["id"]


def request_ids() -> RequestIds:
    """The ids of the current request. A plain WSGI server sets none: they are made here."""
    ids = current_ids.get()
    if ids is None:
        ids = g.get("request_ids") or RequestIds()
        g.request_ids = ids
    return ids


def add_headers(response: Response) -> Response:
    """Add the request's id, and that no cache stores the answer and no browser guesses its type.

    OpenAI's SDKs read `x-request-id`, Anthropic's `request-id`. The files of the documentation are no secret:
    they keep Flask's `Cache-Control`.
    """
    headers = response.headers
    headers["x-request-id"] = headers["request-id"] = request_ids().request_id
    headers["X-Content-Type-Options"] = "nosniff"
    if request.endpoint != "static":
        headers["Cache-Control"] = "no-store"
    return response
