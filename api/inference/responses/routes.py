"""/v1/responses: create, fetch, resume, cancel and delete a response; count its input tokens; compact."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from operator import itemgetter
from typing import Any

from flask import Response

from api.access.caller import current_caller
from api.http.answers import send_json
from api.http.detached import DetachedResponse
from api.http.error_codes import GENERATION, IN_CONVERSATION, STORAGE, TOKEN_COUNT
from api.http.errors import NotFound
from api.http.openapi import RouteGroup
from api.http.parameters import (
    ITEM_LIST,
    ITEM_PAGE,
    MAX_ITEM_PAGE,
    ORDERS,
    STARTING_AFTER,
    STREAM,
    boolean_parameter,
    chosen,
    integer_parameter,
    page_request,
)
from api.http.route_access import Access
from api.http.server.client_connection import ClientConnection
from api.http.server.while_connected import while_connected
from api.inference.answer.large_reads import LogReads
from api.inference.answer.stored_response import send_stored, stream_from_start, wait_for_end
from api.inference.answer.streaming_reader import StreamingReader
from api.inference.conversations.previous_response import NOT_FOUND
from api.inference.conversations.settling import settle_response
from api.inference.count_tokens import count_tokens
from api.inference.dialects.base import decode_metadata
from api.inference.dialects.sealed_summaries import INVALID
from api.inference.exchange import generate
from api.inference.generation_headers import ANSWER_HEADERS, GENERATION_HEADERS
from api.inference.responses import dialect as responses
from api.inference.responses.compact import compact
from api.inference.responses.input_items import input_items
from api.inference.responses.schema import (
    CompactedResponse,
    CompactRequest,
    DeletedResponse,
    InputItemList,
    InputTokensObject,
    ResponseObject,
    ResponsesRequest,
)
from api.inference.resumable.running_request import RunningRequest, running_request
from api.services import current_services, service
from config.limits import Limits, limits_of
from config.settings import Settings
from generation.generation import Generation
from scheduler.job import JobRow
from scheduler.ledger import AsyncLedger

routes = RouteGroup("responses", __name__)

_ID = {"id": "The response's id."}


@routes.endpoint(
    "/v1/responses",
    "POST",
    access=Access.INFERENCE,
    body=ResponsesRequest,
    examples={
        "A question": {"model": "stoker-demo", "input": "What is Stoker?"},
        "A stream": {
            "model": "stoker-demo",
            "instructions": "Answer in one sentence.",
            "input": "What is Stoker?",
            "stream": True,
        },
        "In the background": {"model": "stoker-demo", "input": "What is Stoker?", "background": True},
    },
    responses={200: ResponseObject},
    streams=True,
    blocking=False,
    headers=ANSWER_HEADERS,
    errors=(NOT_FOUND, INVALID, *IN_CONVERSATION, *GENERATION),
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
    "/v1/responses/input_tokens",
    "POST",
    access=Access.INFERENCE,
    body=ResponsesRequest,
    examples={"A question": {"model": "stoker-demo", "input": "What is Stoker?"}},
    responses={200: InputTokensObject},
    blocking=False,
    headers=GENERATION_HEADERS,
    errors=(NOT_FOUND, INVALID, *IN_CONVERSATION, *TOKEN_COUNT),
)
def count_input_tokens(body: dict[str, Any]) -> Response:
    """Count the input tokens of a response

    The number of input tokens that the same request to `/v1/responses` has. The model counts, so it has to be
    loaded; nothing is generated or stored, and the tokens count for no limit.
    """
    return count_tokens(
        responses, body, lambda tokens: {"object": "response.input_tokens", "input_tokens": tokens}
    )


@routes.endpoint(
    "/v1/responses/compact",
    "POST",
    access=Access.INFERENCE,
    body=CompactRequest,
    examples={
        "A conversation": {
            "model": "stoker-demo",
            "input": [
                {"role": "user", "content": "What is Stoker?"},
                {"role": "assistant", "content": "A platform that serves models."},
                {"role": "user", "content": "On which hardware?"},
            ],
        }
    },
    responses={200: CompactedResponse},
    blocking=False,
    headers=GENERATION_HEADERS,
    errors=(NOT_FOUND, INVALID, *GENERATION),
)
def compact_conversation(body: dict[str, Any]) -> Response:
    """Compact a conversation

    The model summarises the conversation. The answer has the messages of the user, and the summary in an
    encrypted item: together they are the input of the next request, in place of the whole conversation.
    """
    return compact(body)


@routes.endpoint(
    "/v1/responses/<id>",
    access=Access.INFERENCE,
    responses={200: ResponseObject},
    streams=True,
    blocking=False,
    path=_ID,
    query=(STREAM, STARTING_AFTER),
    errors=("not_found", "server_busy", "too_many_streams", *STORAGE),
)
def retrieve_response(id: str) -> Response:
    """Fetch a response

    As it is now; with `stream=true` all its events from the first one, or those after `starting_after`, and
    then those to come. Works for as long as the response is stored, on any API process.
    """
    services, caller = current_services(), current_caller()
    limits = current_limits()
    is_streamed, after = boolean_parameter("stream"), integer_parameter("starting_after")

    async def send_answer(connection: ClientConnection) -> None:
        found = await services[AsyncLedger].lookup(id, caller.tenant.name, caller.person_id)
        row = _check_stored(id, found)
        if is_streamed:
            reader = StreamingReader(connection, services[Settings], after=-1 if after is None else after)
            await stream_from_start(services, reader, row, responses, limits)
        else:
            await while_connected(
                connection, send_stored(services, connection, row, responses.response_object)
            )

    return DetachedResponse(send_answer)


@routes.endpoint(
    "/v1/responses/<id>",
    "DELETE",
    access=Access.INFERENCE,
    responses={200: DeletedResponse},
    blocking=False,
    path=_ID,
    errors=("not_found", "server_busy", "too_many_streams", *STORAGE),
)
def delete_response(id: str) -> Response:
    """Delete a response

    A response that has not ended is cancelled first. What it added to a conversation stays there. The texts
    of the request that the history keeps (`keep_texts` of a tenant) are deleted, also those of a response
    that is not stored, or not any more (these by a key alone).
    """
    services, tenant = current_services(), current_caller().tenant.name
    person = current_caller().person_id

    async def send_answer(connection: ClientConnection) -> None:
        ledger = services[AsyncLedger]
        row = await ledger.lookup(id, tenant, person)
        if row is None and person:  # whose texts the history has is not known any more
            raise _not_found(id)
        if row is not None and row.store:
            row = _check_stored(id, row)
            if (conversation := decode_metadata(row).echo.get("conversation")) is not None:
                await settle_response(services, conversation["id"], tenant, id)
            await ledger.delete(id, tenant)
        elif not await ledger.delete(id, tenant):  # not even its texts are kept
            _check_stored(id, row)
        send_json(connection, {"id": id, "object": "response", "deleted": True})

    return DetachedResponse(send_answer)


@routes.endpoint(
    "/v1/responses/<id>/input_items",
    access=Access.INFERENCE,
    responses={200: InputItemList},
    blocking=False,
    path=_ID,
    query=ITEM_LIST,
    errors=("not_found", "server_busy", "too_many_streams", *STORAGE),
)
def list_input_items(id: str) -> Response:
    """List the input items of a response

    Those of the conversation that the model got, with that of `previous_response_id`, without instructions.
    """
    services, tenant = current_services(), current_caller().tenant.name
    person = current_caller().person_id
    wanted, order = page_request(ITEM_PAGE, MAX_ITEM_PAGE), chosen("order", ORDERS)

    def page_of(row: JobRow, generation: bytes) -> dict[str, Any]:
        items = input_items(decode_metadata(row), Generation.from_json(generation))
        if order != "asc":
            items.reverse()
        page, keys = wanted.of(items, itemgetter("id"), "an item")
        return {"data": page, **keys}

    async def load_page() -> dict[str, Any]:
        async with services[LogReads].hold(tenant):  # the conversation may have as many bytes as a body
            found = await services[AsyncLedger].lookup_with_generation(id, tenant, person)
            row, generation = (None, None) if found is None else found
            row = _check_stored(id, row)
            if generation is None:
                raise _not_found(id)
            return await asyncio.to_thread(page_of, row, generation)

    async def send_answer(connection: ClientConnection) -> None:
        send_json(connection, await while_connected(connection, load_page()))

    return DetachedResponse(send_answer)


@routes.endpoint(
    "/v1/responses/<id>/cancel",
    "POST",
    access=Access.INFERENCE,
    responses={200: (ResponseObject, RunningRequest)},
    blocking=False,
    path=_ID,
    errors=("not_found", "server_busy", "too_many_streams", *STORAGE),
)
def cancel_response(id: str) -> Response:
    """Cancel a response

    Ends a response, in the background or not; one that has ended stays as it is. Answers with the response
    once it has ended, or as it is after two seconds. Ends answers of the other APIs, too, by their ids.
    """
    services, tenant = current_services(), current_caller().tenant.name
    limits, person = current_limits(), current_caller().person_id

    async def send_answer(connection: ClientConnection) -> None:
        row = await services[AsyncLedger].lookup(id, tenant, person)
        if row is None:
            raise _not_found(id)
        status = await services[AsyncLedger].cancel(id, tenant)
        if status is None:  # it was deleted in between
            raise _not_found(id)
        if not status.is_terminal:
            await wait_for_end(services, connection, row, limits)
        if row.dialect != responses.NAME:
            ended = await services[AsyncLedger].lookup(id, tenant)
            send_json(connection, running_request(ended or row))
            return
        # the row from before: the ledger drops the echo of an ended response that is not stored
        ended = replace(row, status=status)
        await while_connected(connection, send_stored(services, connection, ended, responses.response_object))

    return DetachedResponse(send_answer)


def current_limits() -> Limits:
    """The limits of the current request's tenant."""
    return limits_of(current_caller().tenant, service(Settings))


def _check_stored(id: str, row: JobRow | None) -> JobRow:
    """The row, if it is a stored response of the caller. Raises `NotFound`, also for another's."""
    if row is None or row.dialect != responses.NAME or not row.store:
        raise _not_found(id)
    return row


def _not_found(id: str) -> NotFound:
    return NotFound(f"there is no response {id}", param="id")
