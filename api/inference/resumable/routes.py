"""/v1/stream, /v1/streams/lookup: read the bytes of an answer again, look streams up, and end one."""

from __future__ import annotations

import asyncio
from typing import Any

from flask import Response, request

from api.access.caller import Caller, current_caller
from api.http.answers import send_error, send_json
from api.http.detached import DetachedResponse, Serve
from api.http.error_codes import GENERATION, STORAGE
from api.http.error_rendering import llama_server_body
from api.http.errors import ApiError, InvalidRequest, NotFound
from api.http.openapi import RouteGroup
from api.http.parameters import query_parameter
from api.http.route_access import Access
from api.http.server.client_connection import ClientConnection
from api.http.server.while_connected import while_connected
from api.inference.answer.response_readers import WholeReader
from api.inference.answer.stored_response import follow_from_start, reading, stream_from_start
from api.inference.answer.streaming_reader import StreamingReader
from api.inference.dialects.base import is_whole
from api.inference.generation_headers import check_conversation_id
from api.inference.resumable.rendering import DIALECTS, whole_answer
from api.inference.resumable.schema import (
    LlamaServerError,
    ReadAgainError,
    StreamLookup,
    StreamState,
    WholeAnswer,
)
from api.inference.resumable.sizes import StreamSizes
from api.services import AppServices, current_services, service
from config.limits import Limits, limits_of
from config.settings import Settings
from fleet.states import ModelState
from scheduler.job import JobRow, Status
from scheduler.ledger import AsyncLedger
from store.errors import StokerError

MAX_OFFSET_DIGITS = 15
RETRY_S = 1
PART = "application/octet-stream"
"""The content type of a part of an answer in one piece: a part of a JSON text is no JSON text."""

routes = RouteGroup("streams", __name__)

_CONV_ID = query_parameter("conv_id", "The `X-Conversation-Id` of the request.", example="chat-1")
_FROM = query_parameter("from", "The first byte to send, from 0, keep-alives not counted.", "integer")
_PATH = {"conv_id": "The `X-Conversation-Id` of the request."}
_READ_ERRORS = ("stream_not_ready", "too_many_streams", *GENERATION)


class StreamNotReady(ApiError):
    """Raised when a stream cannot be read yet, and can be in a moment."""

    default_code = "stream_not_ready"


@routes.endpoint(
    "/v1/stream",
    access=Access.INFERENCE,
    responses={200: WholeAnswer},
    streams=True,
    rows=("application/x-ndjson", PART),
    blocking=False,
    query=(_CONV_ID, _FROM),
    errors=_READ_ERRORS,
    error_body=ReadAgainError,
)
def read_stream_by_query() -> Response:
    """Read a stream again

    The bytes that the first client got, from the byte `from` on, and then those to come. An answer in one
    piece has its status and its form, too. 400 for bytes that are no longer kept: of a long stream, those
    before the last `STREAM_SESSION_MAX_BYTES`.
    """
    return _read_stream(request.args.get("conv_id", ""))


@routes.endpoint(
    "/v1/stream/<any_text:conv_id>",
    access=Access.INFERENCE,
    responses={200: WholeAnswer},
    streams=True,
    rows=("application/x-ndjson", PART),
    blocking=False,
    path=_PATH,
    query=(_FROM,),
    errors=_READ_ERRORS,
    error_body=ReadAgainError,
)
def read_stream(conv_id: str) -> Response:
    """Read a stream again, by path

    As with `conv_id` in the query, which can hold any id: a path cannot hold two slashes in a row.
    """
    return _read_stream(conv_id)


@routes.endpoint(
    "/v1/stream",
    "DELETE",
    access=Access.INFERENCE,
    responses={204: None},
    blocking=False,
    query=(_CONV_ID,),
    errors=STORAGE,
    error_body=LlamaServerError,
)
def end_stream_by_query() -> Response:
    """End a stream

    Cancels the generation, also one that waits, and forgets the stream. 204 for an unknown id as well.
    """
    return _end_stream(request.args.get("conv_id", ""))


@routes.endpoint(
    "/v1/stream/<any_text:conv_id>",
    "DELETE",
    access=Access.INFERENCE,
    responses={204: None},
    blocking=False,
    path=_PATH,
    errors=STORAGE,
    error_body=LlamaServerError,
)
def end_stream(conv_id: str) -> Response:
    """End a stream, by path

    As with `conv_id` in the query.
    """
    return _end_stream(conv_id)


@routes.endpoint(
    "/v1/streams/lookup",
    "POST",
    access=Access.INFERENCE,
    body=StreamLookup,
    examples={"Two conversations": {"conversation_ids": ["chat-1", "chat-2"]}},
    responses={200: StreamState(many=True)},
    blocking=False,
    errors=("stream_not_ready", "server_busy", "too_many_streams", *STORAGE),
    error_body=LlamaServerError,
)
def look_up_streams(body: dict[str, Any]) -> Response:
    """Look up streams by their ids

    Those of the caller's tenant, of a person its own; unknown ids are left out. There is no list of all
    streams.
    """
    services, caller = current_services(), current_caller()
    ids = [check_conversation_id(id, "conversation_ids") for id in dict.fromkeys(body["conversation_ids"])]

    async def look_up() -> list[dict[str, Any]]:
        if not ids:
            return []
        found = await services[AsyncLedger].find_streams(ids, caller.tenant.name, caller.person_id)
        return [await _state(services, id, row) for id, row in found.items() if row.dialect in DIALECTS]

    async def send_answer(connection: ClientConnection) -> None:
        timeout_s = services[Settings].streams.lookup_timeout_ms / 1000
        try:
            states = await while_connected(connection, asyncio.wait_for(look_up(), timeout_s))
        except TimeoutError as error:
            message = "the streams are being counted, ask again"
            raise StreamNotReady(message, retry_after_s=RETRY_S) from error
        send_json(connection, states)

    return _detached(send_answer)


async def _state(services: AppServices, id: str, row: JobRow) -> dict[str, Any]:
    return {
        "conversation_id": id,
        "is_done": row.status.is_terminal,
        "total_bytes": await services[StreamSizes].size(row),
        "started_at": int(row.created_at),
        "completed_at": int(row.ended_at or 0),
    }


def _end_stream(conversation: str) -> Response:
    services, caller = current_services(), current_caller()
    conversation = _checked_id(conversation)

    async def send_answer(connection: ClientConnection) -> None:
        await services[AsyncLedger].end_stream(conversation, caller.tenant.name, caller.person_id)
        connection.respond(204, {}, b"")

    return _detached(send_answer)


def _read_stream(conversation: str) -> Response:
    services, caller = current_services(), current_caller()
    limits = limits_of(caller.tenant, service(Settings))
    conversation, start = _checked_id(conversation), _offset()

    async def send_answer(connection: ClientConnection) -> None:
        row = await _readable(services, conversation, caller, start)
        await (_send_whole if is_whole(row) else _stream)(services, row, start, connection, limits)

    return _detached(send_answer)


def _detached(serve: Serve) -> DetachedResponse:
    """The answer of `serve`, or its error in llama-server's form."""

    async def send_answer(connection: ClientConnection) -> None:
        try:
            await serve(connection)
        except StokerError as error:
            send_error(connection, error, body=llama_server_body)

    return DetachedResponse(send_answer)


def _checked_id(conversation: str) -> str:
    if not conversation:
        raise InvalidRequest("Missing conversation id in path", param="conv_id")
    return check_conversation_id(conversation, "conv_id")


def _offset() -> int:
    """The offset that the query asks for. Raises `InvalidRequest`."""
    given = request.args.get("from", "")
    if not given:
        return 0
    if not (given.isascii() and given.isdigit() and len(given) <= MAX_OFFSET_DIGITS):
        raise InvalidRequest("Invalid 'from' offset", param="from")
    return int(given)


async def _readable(services: AppServices, conversation: str, caller: Caller, start: int) -> JobRow:
    """The job of a stream that can be read from that byte. Raises `StokerError`."""
    row = await services[AsyncLedger].find_stream(conversation, caller.tenant.name, caller.person_id)
    if row is None or row.dialect not in DIALECTS:
        raise NotFound("Stream not found or expired", param="conv_id")
    if row.status is Status.QUEUED:
        if await services[AsyncLedger].model_state(row.model) == ModelState.LOADING:
            raise StreamNotReady("Loading model", retry_after_s=RETRY_S)
    elif start < await services[StreamSizes].size(row) - services[Settings].streams.session_max_bytes:
        raise InvalidRequest("Stream offset lost, please restart", param="from")
    return row


async def _stream(
    services: AppServices, row: JobRow, start: int, connection: ClientConnection, limits: Limits
) -> None:
    reader = StreamingReader(connection, services[Settings], skip=start)
    await stream_from_start(services, reader, row, DIALECTS[row.dialect], limits)


async def _send_whole(
    services: AppServices, row: JobRow, start: int, connection: ClientConnection, limits: Limits
) -> None:
    """Wait for the end of an answer in one piece, and send it."""
    reader = WholeReader(connection, services[Settings])
    with reading(services, reader, row, limits):
        await follow_from_start(services, reader, row.id)
        await reader.done
    if not reader.disconnected:
        status, body = whole_answer(row, reader.logs()[0])
        connection.respond(status, {"Content-Type": PART if start else "application/json"}, body[start:])
