"""/v1/responses: create, fetch, resume, cancel and delete a response."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from flask import Response

from api.auth.access import Access
from api.auth.authenticator import current_caller
from api.dialects import responses
from api.errors import NotFound
from api.http_responses import json_response
from api.openapi import RouteGroup
from api.routes.error_codes import GENERATION, STORAGE
from api.routes.parameters import (
    IDEMPOTENCY_KEY,
    PRIORITY,
    STARTING_AFTER,
    STREAM,
    boolean_parameter,
    integer_parameter,
)
from api.schemas.responses import DeletedResponse, ResponseObject, ResponsesRequest
from api.services import current_services
from api.streaming.respond import generate, open_stream, stream_response
from api.streaming.stored_response import decode_metadata, follow_from_start, read_events, wait_for_end
from scheduler.job import JobRow, Status
from streams.events import Event

routes = RouteGroup("responses", __name__, description="OpenAI's Responses API.")

_ID = {"id": "The response's id."}


@routes.endpoint(
    "/v1/responses",
    "POST",
    access=Access.TENANT,
    body=ResponsesRequest,
    responses={200: ResponseObject},
    streams=True,
    headers=(PRIORITY, IDEMPOTENCY_KEY),
    errors=GENERATION,
)
def create_response(body: dict[str, Any]) -> Response:
    """Create a response

    Generates a response to `input` (or `messages`). With `stream: true` it comes as events while the model
    generates; with `background: true` the answer comes at once with the status `queued`, and the response can
    be fetched later. A client that disconnects ends the generation, unless it is in the background.

    A failure is an HTTP error, or `response.failed` once the stream has begun. A cancelled response ends its
    stream with `response.incomplete`; the response in it has the status `cancelled`.
    """
    return generate(responses, body)


@routes.endpoint(
    "/v1/responses/<id>",
    access=Access.TENANT,
    responses={200: ResponseObject},
    streams=True,
    path=_ID,
    query=(STREAM, STARTING_AFTER),
    errors=("not_found", "server_busy", *STORAGE),
)
def retrieve_response(id: str) -> Response:
    """Fetch a response

    As it is now; with `stream=true` all its events from the first one, or those after `starting_after`, and
    then those to come. Works for as long as the response is stored, on any API process.
    """
    row = _stored(id)
    if boolean_parameter("stream"):
        after = integer_parameter("starting_after")
        return _resume(row, -1 if after is None else after)
    return json_response(_serialize(row, read_events(current_services(), id)))


@routes.endpoint(
    "/v1/responses/<id>",
    "DELETE",
    access=Access.TENANT,
    responses={200: DeletedResponse},
    path=_ID,
    errors=("not_found", *STORAGE),
)
def delete_response(id: str) -> Response:
    """Delete a response

    A response that has not ended is cancelled first.
    """
    _stored(id)
    current_services().ledger.delete(id, current_caller().tenant.name)
    return json_response({"id": id, "object": "response", "deleted": True})


@routes.endpoint(
    "/v1/responses/<id>/cancel",
    "POST",
    access=Access.TENANT,
    responses={200: ResponseObject},
    path=_ID,
    errors=("not_found", *STORAGE),
)
def cancel_response(id: str) -> Response:
    """Cancel a response

    Ends a response, in the background or not; one that has ended stays as it is. Answers with the response
    once it has ended, or as it is after two seconds.
    """
    services, row = current_services(), _own(id)
    status = services.ledger.cancel(id, current_caller().tenant.name)
    if status is None:
        raise _not_found(id)
    # the row from before: the ledger drops the echo of an ended response that is not stored
    return json_response(_serialize(replace(row, status=status), wait_for_end(services, id)))


def _own(id: str) -> JobRow:
    """The caller's response with that id. Raises `NotFound`, also for the response of another tenant."""
    row = current_services().ledger.lookup(id, current_caller().tenant.name)
    if row is None or row.dialect != responses.NAME:
        raise _not_found(id)
    return row


def _stored(id: str) -> JobRow:
    row = _own(id)
    if not row.store:
        raise _not_found(id)
    return row


def _not_found(id: str) -> NotFound:
    return NotFound(f"there is no response {id}", param="id")


def _serialize(row: JobRow, events: list[Event]) -> dict[str, Any]:
    waiting = row.status in (Status.QUEUED, Status.DISPATCHED)
    return responses.response_object(decode_metadata(row), events, "queued" if waiting else "in_progress")


def _resume(row: JobRow, after: int) -> Response:
    services = current_services()
    with services.permits.acquire() as permit:
        response_stream = open_stream(services, follow_from_start(services, row.id), permit)
    return stream_response(response_stream, responses.stream_renderer(decode_metadata(row)), after)
