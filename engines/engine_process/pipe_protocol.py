"""The frames between a worker and an engine process, and the worker's ends of their two pipes.

A frame is its length (4 bytes, big endian) and a JSON object. `n` is the number of a generation, which the
worker chooses and never reuses.

To the engine:    {"generate": n, "generation": {...}}  a `Generation` or the body of a chat completion,
                                                        whichever the backend's adapter sends
                  {"cancel": n}
                  {"flush": n, "kept": [cache namespace, ...]}
                  {"state": n, "action": "save", "restore" or "erase", "namespace": text, "conversation": text
                   or null, "place": k, "path": text}  see `backends.base.KeepsStates`
                  {"end_reasoning": n}  only to engines that can (`backends.base.EndsReasoning`)
From the engine:  {"load": [fraction, stage]}  while it loads, then
                  {"ready": {"slots": k, "context": tokens or null, ...}} or {"failed": text}; a further key
                  of "ready" is a field of `backends.base.EngineFacts`. From then on steps, each key optional:
                  {"progress": [[n, total, cached, processed, ms], ...] (`streams.events.PromptProgress`),
                   "reasoning": [[n, [piece, ...]], ...], "text": [[n, [piece, ...]], ...],
                   "scored": [[n, text, [token, ...]], ...] (`streams.events.TokenLogprob`),
                   "tokens": [[n, items of a JSON list], ...] (`streams.events.TokensDelta`),
                   "calls": [[n, [[index, arguments, id, name], ...]], ...],
                   "ends": [[n, reason, [input, output, cached, reasoning tokens],
                             stop sequence or null], ...],
                   "errors": [[n, code, message], ...],
                   "flushed": [[n, entries, MiB, reason], ...], each of them or null, see `Engine.flush`
                   "states": [[n, tokens, error code or null, message], ...],
                   "cache": share of the KV cache in use}
"""

from __future__ import annotations

import asyncio
import os
import select
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import orjson

MAX_FRAME = 16 * 1024 * 1024
READ_BYTES = 1 << 16  # at once, so that one busy engine does not delay the output of the others


class MalformedFrameError(Exception):
    """Raised when the data from an engine is not a frame."""


class Frames:
    """The worker's ends of an engine's two pipes, which never block.

    `engine_in` and `engine_out` are the engine's ends, which it inherits. While the engine loads, one thread
    uses `wait` and `read`. After `attach` everything happens on the event `loop`.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.engine_in, self._outgoing = os.pipe()
        self._incoming, self.engine_out = os.pipe()
        os.set_blocking(self._outgoing, False)
        os.set_blocking(self._incoming, False)
        self._attached = False
        self._received = bytearray()
        self._unsent: deque[memoryview] = deque()

    def close_engine_ends(self) -> None:
        """Close this process's copies of the engine's ends, so that the engine's exit closes the pipes."""
        os.close(self.engine_in)
        os.close(self.engine_out)

    def attach(self, on_readable: Callable[[], None]) -> None:
        """Call `on_readable` on the event loop whenever there is data to read. Thread-safe."""
        self._attached = True
        self.loop.call_soon_threadsafe(self.loop.add_reader, self._incoming, on_readable)

    def close(self) -> None:
        """Close the worker's ends; after `attach`, on the event loop."""
        if self._attached:
            self.loop.remove_reader(self._incoming)
            self.loop.remove_writer(self._outgoing)
        os.close(self._outgoing)
        os.close(self._incoming)

    def write(self, *pieces: bytes) -> None:
        """Send one frame, the pieces one after another, as far and as soon as the engine reads.

        The engine's end is not reported here: reading finds it.
        """
        size = sum(map(len, pieces))
        if size <= select.PIPE_BUF:
            pieces = (b"".join(pieces),)
        idle = not self._unsent
        self._unsent.append(memoryview(size.to_bytes(4, "big") + pieces[0]))
        self._unsent.extend(map(memoryview, pieces[1:]))
        if idle and not self._send():
            self.loop.add_writer(self._outgoing, self._send_more)

    def _send_more(self) -> None:
        if self._send():
            self.loop.remove_writer(self._outgoing)

    def _send(self) -> bool:
        """Write what the pipe takes now; true when nothing is left to write."""
        unsent = self._unsent
        try:
            while unsent:
                written = os.write(self._outgoing, unsent[0])
                if written < len(unsent[0]):
                    unsent[0] = unsent[0][written:]
                else:
                    unsent.popleft()
        except BlockingIOError:
            return False
        except OSError:  # the engine has closed its end
            unsent.clear()
        return True

    def wait(self, timeout_s: float) -> bool:
        """Wait until there is something to read; false after the timeout."""
        return _wait_for(self._incoming, select.POLLIN, timeout_s)

    def read(self) -> Iterator[dict[str, Any]]:
        """Read once, and yield the complete frames received so far.

        Raises `EOFError` when the engine has closed the pipe, `OSError`, and `MalformedFrameError`.
        """
        try:
            data = os.read(self._incoming, READ_BYTES)
        except BlockingIOError:
            return
        if not data:
            raise EOFError
        received = self._received
        received += data
        start, end = 0, len(received)
        try:
            while end - start >= 4:
                size = int.from_bytes(received[start : start + 4], "big")
                if size > MAX_FRAME:
                    raise MalformedFrameError(f"a frame of {size} bytes")
                if end - start < 4 + size:
                    return
                body = received[start + 4 : start + 4 + size]
                start += 4 + size
                yield _parsed(body)
        finally:
            del received[:start]


def _parsed(data: bytearray) -> dict[str, Any]:
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
