"""GET /v1/admin/events: changes of the models as they happen."""

from __future__ import annotations

import re

from flask import Response, request

from api.auth.access import Access
from api.auth.caller import current_caller
from api.detached import DetachedResponse
from api.errors import InvalidRequest
from api.openapi import RouteGroup
from api.routes.error_codes import STORAGE
from api.routes.parameters import LAST_EVENT_ID, boolean_parameter
from api.server.client_connection import ClientConnection
from api.services import current_services
from api.streaming.model_events import ModelFollower, send_current

routes = RouteGroup("events", __name__, description="Changes of the models; for administrators.")

_ID = re.compile(r"\d{1,20}-\d{1,20}")
_FOLLOW = {
    "name": "follow",
    "in": "query",
    "description": "False: send the current state, and end.",
    "schema": {"type": "boolean"},
}


def _is_id(text: str) -> bool:
    """Whether the text has the form of a Redis stream's entry id: two numbers of 64 bits."""
    return _ID.fullmatch(text) is not None and all(int(part) < 1 << 64 for part in text.split("-"))


@routes.endpoint(
    "/v1/admin/events",
    access=Access.ADMIN,
    responses={},
    streams=True,
    blocking=False,
    query=(_FOLLOW,),
    headers=(LAST_EVENT_ID,),
    errors=("server_busy", *STORAGE),
)
def follow_events() -> Response:
    """Follow changes of the models

    Server-sent events, so that a UI need not poll. First one `model` for each model (`{"type": "model",
    "model": ...}`, the object of `GET /v1/admin/models`) and one `gpu_memory` (the body of `GET
    /v1/admin/gpu-memory`); then again whenever one differs. `operation` reports the progress of a load or
    unload. `state` reports each change of a model's state (`from`, `to`, `at`, `operation_id`, and why it
    failed); these carry an `id:`, and a client that reconnects with it in `Last-Event-ID` gets those that it
    missed, among the latest 1,000. Lines that begin with `:` keep the connection alive.
    """
    after = request.headers.get("Last-Event-ID")
    if after is not None and not _is_id(after):
        raise InvalidRequest("Last-Event-ID is not the id of an event of this stream", param="Last-Event-ID")
    services, caller = current_services(), current_caller()
    follow = request.args.get("follow") is None or boolean_parameter("follow")

    async def serve(connection: ClientConnection) -> None:
        def is_running() -> bool:
            return services.shutdown.is_running() and services.registry.is_valid(caller.key)

        follower = ModelFollower(connection, services.settings.api.keep_alive_s, is_running)
        with services.streams.hold(follower, caller.tenant.name):
            if follow:
                await follower.follow(services.model_feed, after)
            else:
                await send_current(connection, services.model_feed, after)

    return DetachedResponse(serve)
