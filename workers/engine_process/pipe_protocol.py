"""The frames between a worker and an engine process, and the worker's ends of their two pipes.

A frame is its length (4 bytes, big endian) and a JSON object. `n` is the number of a generation, which the
worker chooses and never reuses.

To the engine:    {"generate": n, "generation": {...}}  a `Generation` or the body of a chat completion,
                                                        whichever the backend's adapter sends
                  {"cancel": n}
From the engine:  {"load": [fraction, stage]}  while it loads, then
                  {"ready": {"slots": k, "context": tokens or null}} or {"failed": text}; from then on steps,
                  each key optional:
                  {"reasoning": [[n, [piece, ...]], ...], "text": [[n, [piece, ...]], ...],
                   "calls": [[n, [[index, arguments, id, name], ...]], ...],
                   "ends": [[n, reason, [input, output, cached, reasoning tokens]], ...],
                   "errors": [[n, code, message], ...]}
"""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Iterator
from typing import Any

import orjson

MAX_FRAME = 16 * 1024 * 1024
READ_BYTES = 1 << 18
CANCEL_WAIT_S = 0.2


class MalformedFrameError(Exception):
    """Raised when the data from an engine is not a frame."""


class Frames:
    """The worker's ends of an engine's two pipes. Its methods raise `OSError` when the engine is gone.

    `engine_in` and `engine_out` are the engine's ends, which it inherits.
    """

    def __init__(self) -> None:
        self.engine_in, self._outgoing = os.pipe()
        self._incoming, self.engine_out = os.pipe()
        self._buffer = bytearray()
        self._write_lock = threading.Lock()

    def close_engine_ends(self) -> None:
        """Close this process's copies of the engine's ends, so that the engine's exit closes the pipes."""
        os.close(self.engine_in)
        os.close(self.engine_out)

    def close(self) -> None:
        """Close the worker's ends."""
        with self._write_lock:
            os.close(self._outgoing)
            self._outgoing = -1
        os.close(self._incoming)

    def write(self, body: bytes) -> None:
        """Send one frame; waits while the pipe is full."""
        data = memoryview(len(body).to_bytes(4, "big") + body)
        with self._write_lock:
            while data:
                data = data[os.write(self._outgoing, data) :]

    def try_write(self, body: bytes) -> None:
        """Send one small frame, unless the engine does not read: this does not block on a hung engine.

        A pipe that is ready for writing takes PIPE_BUF bytes (at least 512) at once.
        """
        if not self._write_lock.acquire(timeout=CANCEL_WAIT_S):
            return
        try:
            if self._outgoing >= 0 and _wait_for(self._outgoing, select.POLLOUT, CANCEL_WAIT_S):
                os.write(self._outgoing, len(body).to_bytes(4, "big") + body)
        finally:
            self._write_lock.release()

    def wait(self, timeout_s: float) -> bool:
        """Wait until there is something to read; false after the timeout."""
        return _wait_for(self._incoming, select.POLLIN, timeout_s)

    def read(self) -> Iterator[dict[str, Any]]:
        """Wait for data and yield the complete frames in it.

        Raises `EOFError` when the engine has closed the pipe, and `MalformedFrameError`.
        """
        data = os.read(self._incoming, READ_BYTES)
        if not data:
            raise EOFError
        buffer = self._buffer
        buffer += data
        while len(buffer) >= 4:
            size = int.from_bytes(buffer[:4], "big")
            if size > MAX_FRAME:
                raise MalformedFrameError(f"a frame of {size} bytes")
            if len(buffer) < 4 + size:
                return
            body = bytes(buffer[4 : 4 + size])
            del buffer[: 4 + size]
            yield _parsed(body)


def _parsed(data: bytes) -> dict[str, Any]:
    try:
        frame = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise MalformedFrameError("a frame that is not JSON") from error
    if not isinstance(frame, dict):
        raise MalformedFrameError("a frame that is not an object")
    return frame


def _wait_for(fd: int, events: int, timeout_s: float) -> bool:
    """Wait for poll events; unlike `select.select`, this works for descriptors above 1023."""
    poll = select.poll()
    poll.register(fd, events)
    return bool(poll.poll(timeout_s * 1000))
