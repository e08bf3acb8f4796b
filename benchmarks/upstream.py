"""The engine of the reference: an HTTP server that has every answer ready. `python -m benchmarks.upstream`.

It reads requests of known length over keep-alive connections and knows three answers, in the dialect of
/v1/responses: a whole one, a stream at once, and a stream at the pace of the paced model, whose clients
share a beat as they do in the platform's stub engine.
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
    """A response in one piece."""
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
    """A token as a chunk of a stream; the last one brings the end."""
    event = {
        "type": "response.output_text.delta",
        "item_id": f"msg_{0:032x}",
        "output_index": 0,
        "content_index": 0,
        "delta": PIECES[index],
        "logprobs": [],
        "sequence_number": index + 4,
    }
    told = json.dumps(event, separators=(",", ":"))
    data = f"event: {event['type']}\ndata: {told}\n\n".encode()
    encoded = b"%x\r\n%b\r\n" % (len(data), data)
    return encoded + LAST_CHUNK if index == TOKENS - 1 else encoded


@cache
def whole_stream() -> bytes:
    """A stream that is said at once."""
    return STREAM_HEAD + b"".join(map(chunk, range(TOKENS)))


class Beat:
    """Says the next token of all paced streams, `PACE` times a second while there are any."""

    def __init__(self) -> None:
        self._streams: list[tuple[asyncio.Transport, int]] = []
        self._beating = False

    def join(self, transport: asyncio.Transport) -> None:
        """Begin a stream."""
        transport.write(STREAM_HEAD)
        self._streams.append((transport, 0))
        if not self._beating:
            self._beating = True
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
        self._beating = bool(self._streams)
        if self._beating:
            loop.call_at(due, self._step, due)


class Connection(asyncio.Protocol):
    """One client."""

    def __init__(self, beat: Beat) -> None:
        self._beat = beat
        self._heard = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way back."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - a TCP server has no other
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer once a request is whole."""
        self._heard += data
        head = self._heard.find(b"\r\n\r\n")
        length = LENGTH.search(self._heard, 0, head) if head >= 0 else None
        if length is None or len(self._heard) < head + 4 + int(length[1]):
            return
        request, self._heard = self._heard, b""
        assert self._transport is not None  # noqa: S101 - it is made by now
        if b'"stream":true' not in request:
            self._transport.write(whole_answer())
        elif b'"model":"paced"' in request:
            self._beat.join(self._transport)
        else:
            self._transport.write(whole_stream())


async def serve(port: int) -> None:
    """Answer until somebody kills us."""
    beat = Beat()
    server = await asyncio.get_running_loop().create_server(lambda: Connection(beat), "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
