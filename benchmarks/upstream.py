"""The engine of the reference: an HTTP server with prepared responses. `python -m benchmarks.upstream PORT`.

It reads requests of known length over keep-alive connections. It has three responses in the format of
/v1/responses: a complete one, a stream that is sent at once, and a stream at the rate of the paced model.
Paced streams share one timer, as in the platform's stub engine.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from functools import cache

from benchmarks.load_messages import PACE, TOKENS

LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
PIECES = ["tok0", *(f" tok{index}" for index in range(1, TOKENS))]
LAST_CHUNK = b"0\r\n\r\n"
STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


@cache
def whole_answer() -> bytes:
    """A response without streaming."""
    content = {"type": "output_text", "text": "".join(PIECES), "annotations": [], "logprobs": []}
    message = {"type": "message", "id": f"msg_{0:032x}", "role": "assistant", "status": "completed"}
    usage = {"input_tokens": 200, "output_tokens": TOKENS, "total_tokens": 200 + TOKENS}
    body = json.dumps(
        {
            "id": f"resp_{0:032x}",
            "object": "response",
            "status": "completed",
            "model": "instant",
            "output": [{**message, "content": [content]}],
            "usage": usage,
        }
    ).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


@cache
def chunk(index: int) -> bytes:
    """A token as an HTTP chunk of a stream; the last one has the end of the body, too."""
    event = {
        "type": "response.output_text.delta",
        "item_id": f"msg_{0:032x}",
        "output_index": 0,
        "content_index": 0,
        "delta": PIECES[index],
        "logprobs": [],
        "sequence_number": index + 4,
    }
    data_text = json.dumps(event, separators=(",", ":"))
    data = f"event: {event['type']}\ndata: {data_text}\n\n".encode()
    encoded = b"%x\r\n%b\r\n" % (len(data), data)
    return encoded + LAST_CHUNK if index == TOKENS - 1 else encoded


@cache
def whole_stream() -> bytes:
    """A stream that is sent at once."""
    return STREAM_HEAD + b"".join(map(chunk, range(TOKENS)))


class Pacer:
    """Sends the next token to all paced streams, `PACE` times a second while there are any."""

    def __init__(self) -> None:
        self._streams: list[tuple[asyncio.Transport, int]] = []
        self._running = False

    def join(self, transport: asyncio.Transport) -> None:
        """Start a stream."""
        transport.write(STREAM_HEAD)
        self._streams.append((transport, 0))
        if not self._running:
            self._running = True
            self._step(asyncio.get_running_loop().time())

    def _step(self, due: float) -> None:
        for transport, index in self._streams:
            transport.write(chunk(index))
        self._streams = [
            (transport, index + 1)
            for transport, index in self._streams
            if index + 1 < TOKENS and not transport.is_closing()
        ]
        loop = asyncio.get_running_loop()
        due = max(due + 1 / PACE, loop.time())
        self._running = bool(self._streams)
        if self._running:
            loop.call_at(due, self._step, due)


class Connection(asyncio.Protocol):
    """The connection of one client."""

    def __init__(self, pacer: Pacer) -> None:
        self._pacer = pacer
        self._received = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - as in every TCP server
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Respond when a request is complete."""
        self._received += data
        head = self._received.find(b"\r\n\r\n")
        length = LENGTH.search(self._received, 0, head) if head >= 0 else None
        if length is None or len(self._received) < head + 4 + int(length[1]):
            return
        request, self._received = self._received, b""
        assert self._transport is not None  # noqa: S101 - set in connection_made
        if b'"stream":true' not in request:
            self._transport.write(whole_answer())
        elif b'"model":"paced"' in request:
            self._pacer.join(self._transport)
        else:
            self._transport.write(whole_stream())


async def serve(port: int) -> None:
    """Serve until the process is killed."""
    pacer = Pacer()
    server = await asyncio.get_running_loop().create_server(lambda: Connection(pacer), "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
