"""Hooks of every request: one authorizes the caller, one adds headers to the response."""

from __future__ import annotations

from flask import Flask, Request, Response, current_app, g

from api.access.authenticator import Authenticator
from api.access.caller import Caller
from api.access.rejected_attempts import render_error
from api.access.session_request import check_own_page, keeps_session_alive, session_token
from api.access.session_store import SessionStore
from api.http.client_facts import client_facts
from api.http.errors import Forbidden, InvalidApiKey
from api.http.route_access import Access, access_of
from api.http.stoker_flask import current_request
from api.inference.dialects.measurements import NOT_RUN
from api.services import service
from store.errors import StokerError
from telemetry.request_ids import RequestIds, current_ids

OF_GENERATIONS = frozenset(
    (
        "responses.create_response",
        "chat.create_chat_completion",
        "completions.create_completion",
        "embeddings.create_embeddings",
        "rerank.create_rerank",
        "audio.create_transcription",
        "audio.create_translation",
        "audio.create_speech",
        "images.create_image",
        "images.edit_image",
        "comfyui.run_workflow",
        "anthropic.create_message",
        "ollama.create_chat",
        "ollama.create_text",
        "ollama.create_ollama_vectors",
        "ollama.create_ollama_vector",
        "llama_server.create_native_completion",
        "llama_server.create_infill",
    )
)
"""The endpoints whose answers have what was measured, errors included."""

OF_FILES = frozenset(("static", "ui"))
"""The endpoints whose answers are files of the project, the same for everyone."""

OF_RESPONSES = ("responses", "queues", "jobs")
"""The groups of routes in which `id` is that of a response."""


def install(app: Flask) -> None:
    """Register the hooks and the error handler for all routes of the app."""
    app.register_error_handler(StokerError, render_error)
    app.before_request(authorize_request)
    app.after_request(add_headers)


def authorize_request() -> None:
    """Find the caller and check its access. Raises `InvalidApiKey`, `Forbidden` or `InvalidRequest`."""
    request, authenticator = current_request(), service(Authenticator)
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
        g.caller = caller = _identify(request, authenticator, access)
        ids.tenant = caller.tenant.name
        if request.endpoint in OF_GENERATIONS:
            ids.client = client_facts(request.environ, ids.request_id, ids.route or "", caller.key.id)
        if request.view_args and "id" in request.view_args and request.blueprint in OF_RESPONSES:
            ids.ask_for_response(request.view_args["id"])


def _identify(request: Request, authenticator: Authenticator, access: Access) -> Caller:
    token = None if authenticator.open else session_token(request.environ)
    if token is None:
        return authenticator.identify(request.headers, access, request.remote_addr)
    check_own_page(request)
    g.session, used = service(SessionStore).use(token, renews=keeps_session_alive(request))
    try:
        return authenticator.identify_session(used, request.headers, access)
    except InvalidApiKey:  # its key was revoked or is past its end, or its person has no tenant any more
        service(SessionStore).drop(token)
        raise


def request_ids() -> RequestIds:
    """The ids of the current request. A plain WSGI server sets none: they are made here."""
    ids = current_ids.get()
    if ids is None:
        ids = g.get("request_ids") or RequestIds()
        g.request_ids = ids
    return ids


def add_headers(response: Response) -> Response:
    """Add the request's id, and that no cache stores the answer and no browser guesses its type.

    An invalid request for a generation has neither waited nor run: its answer says that, too.

    OpenAI's SDKs read `x-request-id`, Anthropic's `request-id`. The files of the documentation and of the UI
    are no secret: they keep the `Cache-Control` that they have.
    """
    headers, endpoint = response.headers, current_request().endpoint
    is_bare = not headers  # a detached response
    # no view sets these: `add` does not look for them
    request_id = request_ids().request_id
    headers.add("x-request-id", request_id)
    headers.add("request-id", request_id)
    headers.add("X-Content-Type-Options", "nosniff")
    if response.status_code >= 400 and endpoint in OF_GENERATIONS:
        headers.extend(NOT_RUN)
    if is_bare:
        headers.add("Cache-Control", "no-store")
    elif endpoint not in OF_FILES or "Cache-Control" not in headers:
        headers["Cache-Control"] = "no-store"
    return response
