"""Answers a request for a generation: streamed, in one piece, or at once and to be fetched later."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson
from flask import Response, request

from api import capabilities
from api.admission import Admitted, admit
from api.auth.authenticator import caller
from api.dialects.base import Dialect, ParsedRequest, Rendering
from api.dialects.items import verdict
from api.errors import ServerBusy, failure
from api.services import AppServices, services
from api.streaming import sse
from api.streaming.chunked_writer import ChunkedWriter
from api.streaming.response_log import read_events
from api.streaming.response_stream import ClientDisconnected, ResponseStream
from streams.events import End
from streams.subscriber import LogCursor

CLIENT_GONE = 499
"""What nginx logs for a client that closed the request; nobody is there to read it."""


def generate(dialect: Dialect, body: dict[str, Any]) -> Response:
    """Parse, let into line, answer. Raises `StokerError` for whatever ends without an answer."""
    here = services()
    parsed = dialect.parse(body)
    capabilities.check(here.fleet.definition(parsed.generation.model), parsed)
    here.start()
    if not parsed.waits:
        admitted = admit(here, dialect, parsed, caller(), request)
        events = read_events(here, admitted.head.id) if admitted.replayed else []
        return json_response(dialect.answer(admitted.head, events, "queued"))
    take_seat(here)
    try:
        admitted = admit(here, dialect, parsed, caller(), request)
    except BaseException:
        here.permits.give_back()
        raise
    response_stream = _relay_of(here, admitted, parsed)
    if parsed.stream:
        return stream_response(response_stream, dialect.rendering(admitted.head))
    return _whole(dialect, admitted, response_stream)


def _relay_of(here: AppServices, admitted: Admitted, parsed: ParsedRequest) -> ResponseStream:
    """A relay; what its client leaves is cancelled, if it was that client who began it in the foreground."""
    assert admitted.cursor is not None  # noqa: S101 - who waits has a cursor
    id, tenant = admitted.head.id, caller().tenant.name
    keep = parsed.background or admitted.replayed
    cancel = None if keep else lambda: here.ledger.cancel(id, tenant)
    return response_stream_for(here, admitted.cursor, cancel)


def response_stream_for(
    here: AppServices, cursor: LogCursor, on_abandon: Callable[[], object] | None = None
) -> ResponseStream:
    """A relay for the client of this request, who has taken a seat and leaves it when the relay is closed."""
    give_back = here.permits.give_back
    response_stream = ResponseStream(cursor, here.settings, on_abandon=on_abandon, on_close=give_back)
    response_stream.watch(here.disconnects, request.environ.get("gunicorn.socket"))
    return response_stream


def _whole(dialect: Dialect, admitted: Admitted, response_stream: ResponseStream) -> Response:
    try:
        events = response_stream.collect()
    except ClientDisconnected:
        return Response(status=CLIENT_GONE)
    finally:
        response_stream.close()
    end = events[-1]
    assert isinstance(end, End)  # noqa: S101 - collect returns no sooner
    if verdict(end) == "failed" or (verdict(end) == "cancelled" and not dialect.SHOWS_CANCELLED):
        raise failure(end)
    return json_response(dialect.answer(admitted.head, events), headers=measurements(end))


def take_seat(here: AppServices) -> None:
    """Take the right to wait. Raises `ServerBusy` when everybody who may wait does."""
    if not here.permits.take():
        raise ServerBusy("all threads of this server are waiting for models", retry_after_s=2)


def stream_response(response_stream: ResponseStream, rendering: Rendering, after: int = -1) -> Response:
    """Server-sent events, those after that `sequence_number`. The relay is closed with the response."""
    events = response_stream.stream(rendering, after, ChunkedWriter.of(request.environ))
    response = Response(events, headers=sse.HEADERS)
    # beside the generator's own `finally`: one that never began to run has none
    response.call_on_close(response_stream.close)
    return response


def json_response(body: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON answer."""
    return Response(orjson.dumps(body), status, headers, content_type="application/json")


def measurements(end: End) -> dict[str, str]:
    """What an answer cost, as headers: milliseconds, and how much of the prompt was not computed again."""
    reused = end.usage.cached_tokens if end.usage else 0
    return {
        "X-Queue-Wait-Ms": str(end.queue_ms),
        "X-GPU-Time-Ms": str(end.run_ms),
        "X-Cache-Hit": "true" if reused else "false",
        "X-Cache-Tokens-Reused": str(reused),
    }
