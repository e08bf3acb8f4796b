"""/v1/responses: make, fetch, resume, cancel and delete a response."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from flask import Response

from api.admission import join
from api.auth.access import Access
from api.auth.authenticator import caller
from api.dialects import responses
from api.errors import NotFound
from api.openapi import Family
from api.routes.error_responses import GENERATION, STORAGE
from api.routes.parameters import IDEMPOTENCY_KEY, PRIORITY, STARTING_AFTER, STREAM, flag, whole
from api.schemas.responses import DeletedResponse, ResponseObject, ResponsesRequest
from api.services import services
from api.streaming.respond import generate, json_response, response_stream_for, stream_response, take_seat
from api.streaming.response_log import read_events, wait_for_end
from api.streaming.response_metadata import head_of
from scheduler.job import JobRow, Status
from streams.events import Event

routes = Family("responses", __name__, description="OpenAI's Responses API.")

_ID = {"id": "The response's id."}


@routes.endpoint(
    "/v1/responses",
    "POST",
    access=Access.TENANT,
    body=ResponsesRequest,
    answers={200: ResponseObject},
    streams=True,
    headers=(PRIORITY, IDEMPOTENCY_KEY),
    errors=GENERATION,
)
def create_response(body: dict[str, Any]) -> Response:
    """Make a response

    Generates a response to `input` (or `messages`). With `stream: true` it comes as events while the model
    speaks; with `background: true` the answer comes at once with the status `queued`, to be fetched later. A
    client that hangs up ends the generation, unless it is in the background.

    One that the model fails is an HTTP error, or `response.failed` where the stream had begun. One that was
    cancelled ends its stream with `response.incomplete`; the response in it has the status `cancelled`.
    """
    return generate(responses, body)


@routes.endpoint(
    "/v1/responses/<id>",
    access=Access.TENANT,
    answers={200: ResponseObject},
    streams=True,
    path=_ID,
    query=(STREAM, STARTING_AFTER),
    errors=("not_found", "server_busy", *STORAGE),
)
def retrieve_response(id: str) -> Response:
    """Fetch a response

    As far as it has come; with `stream=true` all its events from the first one, or those after
    `starting_after`, and then what is still to come. Works as long as the response is kept, on any API
    process.
    """
    row = _stored(id)
    if flag("stream"):
        return _resume(row, -1 if (number := whole("starting_after")) is None else number)
    return json_response(_show(row, read_events(services(), id)))


@routes.endpoint(
    "/v1/responses/<id>",
    "DELETE",
    access=Access.TENANT,
    answers={200: DeletedResponse},
    path=_ID,
    errors=("not_found", *STORAGE),
)
def delete_response(id: str) -> Response:
    """Delete a response

    Forgets it; one that is still going on is cancelled first.
    """
    _stored(id)
    services().ledger.delete(id, caller().tenant.name)
    return json_response({"id": id, "object": "response", "deleted": True})


@routes.endpoint(
    "/v1/responses/<id>/cancel",
    "POST",
    access=Access.TENANT,
    answers={200: ResponseObject},
    path=_ID,
    errors=("not_found", *STORAGE),
)
def cancel_response(id: str) -> Response:
    """Cancel a response

    Ends it if it is still going on, in the background or not; one that has ended stays as it is. Answers with
    the response once it has ended, or after two seconds as it is then.
    """
    here, row = services(), _own(id)
    status = here.ledger.cancel(id, caller().tenant.name)
    if status is None:
        raise _not_found(id)
    here.start()
    # the row as it was: once it has ended, the echo of what is not stored is gone
    return json_response(_show(replace(row, status=status), wait_for_end(here, id)))


def _own(id: str) -> JobRow:
    """The caller's response of that id. Raises `NotFound`, for another tenant's too."""
    row = services().ledger.lookup(id, caller().tenant.name)
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


def _show(row: JobRow, events: list[Event]) -> dict[str, Any]:
    waits = row.status in (Status.QUEUED, Status.DISPATCHED)
    return responses.answer(head_of(row), events, "queued" if waits else "in_progress")


def _resume(row: JobRow, after: int) -> Response:
    here = services()
    here.start()
    take_seat(here)
    try:
        cursor = join(here, row.id)
    except BaseException:
        here.permits.give_back()
        raise
    return stream_response(response_stream_for(here, cursor), responses.rendering(head_of(row)), after)
