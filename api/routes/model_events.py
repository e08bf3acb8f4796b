"""GET /v1/admin/events: what happens to the models, as it happens."""

from __future__ import annotations

import re

from flask import Response, request

from api.auth.access import Access
from api.errors import InvalidRequest
from api.openapi import Family
from api.routes.error_responses import STORAGE
from api.routes.parameters import LAST_EVENT_ID, flag
from api.services import services
from api.streaming import sse
from api.streaming.model_events import Feed
from api.streaming.respond import take_seat

routes = Family("events", __name__, description="What happens to the models, for administrators.")

_ID = re.compile(r"\d{1,20}-\d{1,20}")
_FOLLOW = {
    "name": "follow",
    "in": "query",
    "description": "False: tell what is there now, and end.",
    "schema": {"type": "boolean"},
}


def _is_id(text: str) -> bool:
    """Whether it may be a place in a stream: two numbers of 64 bits."""
    return _ID.fullmatch(text) is not None and all(int(part) < 1 << 64 for part in text.split("-"))


@routes.endpoint(
    "/v1/admin/events",
    access=Access.ADMIN,
    answers={},
    streams=True,
    query=(_FOLLOW,),
    headers=(LAST_EVENT_ID,),
    errors=("server_busy", *STORAGE),
)
def follow_events() -> Response:
    """Follow what happens

    Server-sent events, so that a UI need not poll. First one `model` for each model (`{"type": "model",
    "model": ...}`, the row of `GET /v1/admin/models`) and one `gpu_memory` (the body of `GET
    /v1/admin/gpu-memory`); then again whenever one differs. `operation` tells how far a load or unload is.
    `state` tells each change of a model's state (`from`, `to`, `at`, `operation_id`, and why it failed);
    these carry an `id:`, and a client that comes back with it in `Last-Event-ID` hears those that it
    missed, as far as they are kept (the latest 1,000). Lines that begin with `:` keep the connection alive.
    """
    after = request.headers.get("Last-Event-ID")
    if after is not None and not _is_id(after):
        raise InvalidRequest("Last-Event-ID is none of an event of this stream", param="Last-Event-ID")
    here = services()
    follow = request.args.get("follow") is None or flag("follow")
    here.changes.last()  # while there can still be an error: is Redis there?
    here.start()
    take_seat(here)
    feed = Feed(here, after, follow=follow)
    watch = here.disconnects.watch(request.environ.get("gunicorn.socket"), feed.hang_up)
    left = False

    def leave() -> None:
        nonlocal left
        if not left:
            left = True
            here.disconnects.forget(watch)
            here.permits.give_back()

    response = Response(feed.stream(leave), headers=sse.HEADERS)
    response.call_on_close(leave)  # beside the generator's own end: one that never began has none
    return response
