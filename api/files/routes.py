"""/v1/files: OpenAI's Files API."""

from __future__ import annotations

from functools import partial
from operator import attrgetter
from typing import Any

from flask import Response

from api.access.caller import current_caller
from api.files.file_content import FileContent
from api.files.record import OUTPUT_PURPOSE, PURPOSES
from api.files.schema import DeletedFile, FileList, FileObject
from api.files.store import FileStore
from api.files.upload import MAX_LIFETIME_S, MIN_LIFETIME_S, file_rules, store_file
from api.files.upload_sink import read_form
from api.http.detached import DetachedResponse
from api.http.error_codes import STORAGE
from api.http.http_responses import json_response
from api.http.open_streams import OpenStreams
from api.http.openapi import RouteGroup
from api.http.parameters import (
    ORDERS,
    choice_parameter,
    chosen,
    page_request,
    page_size_parameter,
    query_parameter,
)
from api.http.route_access import Access
from api.services import current_services, service
from config.limits import limits_of
from config.settings import Settings

routes = RouteGroup("files", __name__)

MAX_PAGE = 10_000
_ID = {"file_id": "The file's id."}

FORM: dict[str, Any] = {
    "type": "object",
    "required": ["file", "purpose"],
    "properties": {
        "file": {"type": "string", "format": "binary", "description": "The file, with its name."},
        "purpose": {"type": "string", "enum": list(PURPOSES), "example": "batch"},
        "expires_after[anchor]": {"type": "string", "enum": ["created_at"]},
        "expires_after[seconds]": {
            "type": "integer",
            "minimum": MIN_LIFETIME_S,
            "maximum": MAX_LIFETIME_S,
            "description": "How long the file is kept. Unless set, one of the purpose `batch` is kept for 30"
            " days, another one until it is deleted.",
        },
    },
}


@routes.endpoint(
    "/v1/files",
    "POST",
    access=Access.INFERENCE,
    form=FORM,
    examples={"The input of a batch": {"purpose": "batch"}},
    responses={200: FileObject},
    errors=(
        "invalid_request",
        "unsupported_media_type",
        "request_too_large",
        "file_quota_exceeded",
        "too_many_uploads",
        "server_busy",
        *STORAGE,
    ),
)
def upload_file() -> Response:
    """Upload a file

    A form with the file and its purpose: `batch` for the input of a batch; the others are stored, and can be
    read again. At most `files.max_file_bytes`, within the tenant's quotas.
    """
    services = current_services()
    with read_form(services, file_rules(services[Settings].files)) as form:
        record = store_file(form, services[FileStore])
    return json_response(record.as_object())


@routes.endpoint(
    "/v1/files",
    access=Access.INFERENCE,
    responses={200: FileList},
    errors=("storage_unavailable",),
    query=(
        choice_parameter("purpose", "Only files of this purpose.", (*PURPOSES, OUTPUT_PURPOSE)),
        choice_parameter("order", "By the time of the upload; `desc` unless set.", ORDERS),
        page_size_parameter("files", MAX_PAGE, MAX_PAGE),
        query_parameter("after", "The id of the last file of the page before."),
    ),
)
def list_files() -> Response:
    """List the files

    Those of the tenant, the latest first.
    """
    purpose = chosen("purpose", (*PURPOSES, OUTPUT_PURPOSE))
    records = service(FileStore).all_of(current_caller().tenant.name)
    if chosen("order", ORDERS) != "asc":
        records.reverse()
    page, keys = page_request(MAX_PAGE, MAX_PAGE).of(
        records, attrgetter("id"), "a file", lambda record: purpose in (None, record.purpose)
    )
    return json_response({"data": [record.as_object() for record in page], **keys})


@routes.endpoint(
    "/v1/files/<file_id>",
    access=Access.INFERENCE,
    responses={200: FileObject},
    path=_ID,
    errors=("not_found", "storage_unavailable"),
)
def retrieve_file(file_id: str) -> Response:
    """Fetch a file's object

    Its name, purpose, size and times.
    """
    record = service(FileStore).get(current_caller().tenant.name, file_id)
    return json_response(record.as_object())


@routes.endpoint(
    "/v1/files/<file_id>/content",
    access=Access.INFERENCE,
    responses={200: None},
    rows="application/octet-stream",
    path=_ID,
    errors=("not_found", "server_busy", "too_many_streams", "storage_unavailable"),
)
def retrieve_file_content(file_id: str) -> Response:
    """Fetch a file's content

    The bytes as they were uploaded, or as a batch has written them.
    """
    services, tenant = current_services(), current_caller().tenant
    limits = limits_of(tenant, services[Settings])
    store = services[FileStore]
    store.get(tenant.name, file_id)
    content = FileContent(partial(store.open, tenant.name, file_id), "application/octet-stream")
    streams = services[OpenStreams]
    return DetachedResponse(lambda connection: content.serve(streams, tenant.name, limits, connection))


@routes.endpoint(
    "/v1/files/<file_id>",
    "DELETE",
    access=Access.INFERENCE,
    responses={200: DeletedFile},
    path=_ID,
    errors=("not_found", *STORAGE),
)
def delete_file(file_id: str) -> Response:
    """Delete a file

    A batch that has begun keeps its input.
    """
    service(FileStore).delete(current_caller().tenant.name, file_id)
    return json_response({"id": file_id, "object": "file", "deleted": True})
