"""Answers a request for a generation: as a stream, in one piece, or at once with an id to fetch it by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flask import Response, request

from api import capabilities
from api.admission import Admitted, admit
from api.auth.authenticator import current_caller
from api.dialects.base import Dialect, ParsedRequest, StreamRenderer
from api.dialects.output import final_status
from api.errors import error_from_end
from api.http_responses import json_response
from api.permits import Permit
from api.services import AppServices, current_services
from api.streaming import sse
from api.streaming.chunked_writer import ChunkedWriter
from api.streaming.response_stream import ClientDisconnected, ResponseStream
from api.streaming.stored_response import read_events
from streams.events import End
from streams.subscriber import LogCursor

CLIENT_CLOSED_REQUEST = 499
"""The status that nginx logs for a client that closed the connection. The client does not receive it."""


def generate(dialect: Dialect, body: dict[str, Any]) -> Response:
    """Parse the request, admit it and answer it. Raises `StokerError` when it ends without an answer."""
    services = current_services()
    parsed = dialect.parse(body)
    capabilities.check(services.fleet.definition(parsed.generation.model), parsed)
    if not parsed.stays_connected:
        admitted = admit(services, dialect, parsed, current_caller(), request)
        events = read_events(services, admitted.metadata.id) if admitted.replayed else []
        return json_response(dialect.response_object(admitted.metadata, events, "queued"))
    with services.permits.acquire() as permit:
        admitted = admit(services, dialect, parsed, current_caller(), request)
        response_stream = _admitted_stream(services, admitted, parsed, permit)
    if parsed.stream:
        return stream_response(response_stream, dialect.stream_renderer(admitted.metadata))
    return _whole_response(dialect, admitted, response_stream)


def _admitted_stream(
    services: AppServices, admitted: Admitted, parsed: ParsedRequest, permit: Permit
) -> ResponseStream:
    """The stream of an admitted response.

    A disconnect cancels the response, unless it runs in the background or an earlier request has created it.
    """
    assert admitted.cursor is not None  # noqa: S101 - a request that waits has a cursor
    id, tenant = admitted.metadata.id, current_caller().tenant.name
    survives = parsed.background or admitted.replayed
    cancel = None if survives else lambda: services.ledger.cancel(id, tenant)
    return open_stream(services, admitted.cursor, permit, cancel)


def open_stream(
    services: AppServices,
    cursor: LogCursor,
    permit: Permit,
    on_abandon: Callable[[], object] | None = None,
) -> ResponseStream:
    """A stream for the client of the current request. The permit passes to it; its `close` releases it."""
    response_stream = ResponseStream(
        cursor, services.settings, on_abandon=on_abandon, on_close=permit.transfer()
    )
    response_stream.watch(services.disconnects, request.environ.get("gunicorn.socket"))
    return response_stream


def _whole_response(dialect: Dialect, admitted: Admitted, response_stream: ResponseStream) -> Response:
    try:
        events = response_stream.collect()
    except ClientDisconnected:
        return Response(status=CLIENT_CLOSED_REQUEST)
    finally:
        response_stream.close()
    end = events[-1]
    assert isinstance(end, End)  # noqa: S101 - `collect` returns when the response has ended
    if final_status(end) == "failed" or (
        final_status(end) == "cancelled" and not dialect.HAS_CANCELLED_STATUS
    ):
        raise error_from_end(end)
    return json_response(dialect.response_object(admitted.metadata, events), headers=measurements(end))


def stream_response(response_stream: ResponseStream, renderer: StreamRenderer, after: int = -1) -> Response:
    """Server-sent events, those after that `sequence_number`. Closing the response closes the stream."""
    events = response_stream.stream(renderer, after, ChunkedWriter.for_request(request.environ))
    response = Response(events, headers=sse.HEADERS)
    # in addition to the generator's own `finally`, which does not run if the generator never began
    response.call_on_close(response_stream.close)
    return response


def measurements(end: End) -> dict[str, str]:
    """A response's measurements as headers: ms in the queue, ms on the GPU, cached prompt tokens."""
    reused = end.usage.cached_tokens if end.usage else 0
    return {
        "X-Queue-Wait-Ms": str(end.queue_ms),
        "X-GPU-Time-Ms": str(end.run_ms),
        "X-Cache-Hit": "true" if reused else "false",
        "X-Cache-Tokens-Reused": str(reused),
    }
