"""GET /v1/media/{id}/{name}: the result of a job, by a signed URL."""

from __future__ import annotations

from functools import partial

from flask import Response, request

from api.files.file_content import FileContent
from api.http.detached import DetachedResponse
from api.http.open_streams import OpenStreams
from api.http.openapi import RouteGroup
from api.http.parameters import query_parameter
from api.http.route_access import Access
from api.inference.media.results import Results, media_type, open_result
from api.services import current_services

routes = RouteGroup("media", __name__)

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Disposition": "attachment",
    "Cache-Control": "private, no-store",
}
PUBLIC_TENANT = "@media"
"""Downloads by a URL have no tenant; together they take the room of one."""


@routes.endpoint(
    "/v1/media/<id>/<name>",
    access=Access.PUBLIC,
    responses={200: None},
    rows="application/octet-stream",
    path={"id": "The id of the response.", "name": "The name of the file."},
    query=(
        query_parameter("expires", "The end of its validity (Unix seconds)."),
        query_parameter("signature", "The signature of the URL."),
    ),
    errors=("not_found", "server_busy", "too_many_streams", "storage_unavailable"),
)
def retrieve_media(id: str, name: str) -> Response:
    """Fetch a result

    The bytes of an image. The URL comes from an answer and needs no key; it is valid as long as the response
    is kept (`responses.retention_s`).
    """
    services = current_services()
    expires, signature = request.args.get("expires", ""), request.args.get("signature", "")
    path = services[Results].find(id, name, expires, signature)
    content = FileContent(partial(open_result, path), media_type(name), HEADERS)
    streams = services[OpenStreams]
    return DetachedResponse(lambda connection: content.serve(streams, PUBLIC_TENANT, None, connection))
