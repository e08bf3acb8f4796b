"""GET /v1/admin/events: changes of the models as they happen."""

from __future__ import annotations

from flask import Response, request

from api.access.authenticator import Authenticator
from api.access.caller import current_caller
from api.access.session_request import current_session
from api.access.session_watch import SessionWatch
from api.http.detached import DetachedResponse
from api.http.error_codes import STORAGE
from api.http.errors import InvalidRequest
from api.http.open_streams import OpenStreams
from api.http.openapi import RouteGroup
from api.http.parameters import LAST_EVENT_ID, boolean_parameter, is_stream_id
from api.http.route_access import Access
from api.http.server.client_connection import ClientConnection
from api.http.shutdown_flag import ShutdownFlag
from api.operations.events_schema import EVENTS
from api.operations.model_events import ModelFeed, ModelFollower, send_current
from api.services import current_services
from config.settings import Settings

routes = RouteGroup("events", __name__)

_FOLLOW = {
    "name": "follow",
    "in": "query",
    "description": "False: send the current state, and end.",
    "schema": {"type": "boolean"},
}


@routes.endpoint(
    "/v1/admin/events",
    access=Access.READ,
    responses={},
    streams=True,
    events=EVENTS,
    blocking=False,
    query=(_FOLLOW,),
    headers=(LAST_EVENT_ID,),
    errors=("server_busy", *STORAGE),
)
def follow_events() -> Response:
    """Follow changes of the models

    Server-sent events, so that a UI need not poll. First one `model` for each model (`{"type": "model",
    "model": ...}`, the object of `GET /v1/admin/models`) and one `gpu_memory` (the body of `GET
    /v1/admin/gpu-memory`); then again whenever one differs. `model_removed` names a dynamic model that was
    unloaded. `operation` reports the progress of a load or unload. `state` reports each change of a model's
    state (`from`, `to`, `at`, `operation_id`, and why it failed), `proposal` each change of a proposal (its
    creation, a signature, its status `from` and `to`). These two carry an `id:`, as does the last of the
    first events; a client that reconnects with the latest one in `Last-Event-ID` gets the changes that it
    missed, among the latest 1,000. Lines that begin with `:` keep the connection alive.
    """
    after = request.headers.get("Last-Event-ID")
    if after is not None and not is_stream_id(after):
        raise InvalidRequest("Last-Event-ID is not the id of an event of this stream", param="Last-Event-ID")
    services, caller, session = current_services(), current_caller(), current_session()
    follow = request.args.get("follow") is None or boolean_parameter("follow")

    async def serve(connection: ClientConnection) -> None:
        def is_running() -> bool:
            if not services[ShutdownFlag].is_running() or not services[Authenticator].is_valid(caller):
                return False
            return session is None or services[SessionWatch].is_live(session)

        follower = ModelFollower(connection, services[Settings].api.keep_alive_s, is_running)
        with services[OpenStreams].hold(follower, caller.tenant.name), services[SessionWatch].hold(session):
            if follow:
                await follower.follow(services[ModelFeed], after)
            else:
                await send_current(connection, services[ModelFeed], after)

    return DetachedResponse(serve)
