"""Server-sent events (WHATWG HTML, 9.2), limited to the part that all clients read correctly.

SDK clients get `event:` and `data:` lines only. After an `id:` or `retry:` line, OpenAI's SDK takes the next
keep-alive for an event without data, and fails. Keep-alives are comments.
"""

from __future__ import annotations

from collections.abc import Iterable

import orjson

from api.http.frames import Frame

HEADERS = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",  # nginx would buffer the stream
}
KEEP_ALIVE = b": ka\n\n"
DONE = b"data: [DONE]\n\n"

COMMENT = ":"
"""The name of a frame whose data go out as a comment, which clients need not know."""


def comment(text: str) -> bytes:
    """A comment of one line. It has the form of a keep-alive, which all SDKs ignore."""
    return b": %b\n\n" % text.encode()


def encode(frames: Iterable[Frame]) -> bytes:
    """The frames' bytes. JSON holds no raw line break, so one `data:` line is enough."""
    parts: list[bytes] = []
    for name, data in frames:
        if name == COMMENT:
            parts.append(comment(orjson.dumps(data).decode()))
            continue
        parts += (b"event: ", name.encode(), b"\ndata: ") if name else (b"data: ",)
        parts += (orjson.dumps(data), b"\n\n")
    return b"".join(parts)


def encode_one(name: str, data: dict[str, object], id: str | None = None) -> bytes:
    """One event, with an `id:` for a client's reconnect; never for an SDK (see above)."""
    event = encode([(name, data)])
    return event if id is None else with_id(event, id)


def with_id(event: bytes, id: str) -> bytes:
    """An encoded event with an `id:`."""
    return b"id: %b\n%b" % (id.encode(), event)


def after(frames: Iterable[Frame], number: int) -> list[Frame]:
    """The frames whose `sequence_number` is greater than `number`."""
    return [frame for frame in frames if frame[1].get("sequence_number", 0) > number]
