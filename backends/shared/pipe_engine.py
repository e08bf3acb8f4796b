"""An engine whose host speaks over two pipes: many generations at once, one frame for each of its steps.

A frame is its length (4 bytes, big endian) and a JSON object.

To the host:    {"generate": n, "generation": {...}}  n is ours, never used twice; the form is the adapter's
                {"cancel": n}                         choice: a `Generation`, or a chat completion's body
From the host:  {"load": [fraction, stage]}  while it loads, then
                {"ready": {"slots": k, "context": tokens or null}} or {"failed": text}; from then on steps,
                each key optional:
                {"reasoning": [[n, [piece, ...]], ...], "text": [[n, [piece, ...]], ...],
                 "calls": [[n, [[index, arguments, id, name], ...]], ...],
                 "ends": [[n, reason, [input, output, cached, reasoning tokens]], ...],
                 "errors": [[n, code, message], ...]}
"""

from __future__ import annotations

import itertools
import os
import select
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

import orjson

from backends.base import Emit, Finish, GenerationError
from streams.events import Delta, ReasoningDelta, TextDelta, ToolCallDelta, Usage
from tasks.generation import Generation
from workers.engine_process.errors import EngineLost
from workers.engine_process.process import EXIT_WAIT_S, EngineProcess

MAX_FRAME = 16 * 1024 * 1024
READ_BYTES = 1 << 18
CANCEL_WAIT_S = 0.2


class GarbageError(Exception):
    """Raised when what came out of a pipe is no frame."""


class Frames:
    """The worker's ends of a host's two pipes. Its methods raise `OSError` when the host is gone."""

    def __init__(self) -> None:
        self.host_in, self._outgoing = os.pipe()
        self._incoming, self.host_out = os.pipe()
        self._buffer = bytearray()
        self._writing = threading.Lock()

    def close_host_ends(self) -> None:
        """Call once the host has its ends, or its end would never be noticed."""
        os.close(self.host_in)
        os.close(self.host_out)

    def close(self) -> None:
        """Give both pipes back."""
        with self._writing:
            os.close(self._outgoing)
            self._outgoing = -1
        os.close(self._incoming)

    def write(self, body: bytes) -> None:
        """Send one frame; waits while the pipe is full."""
        data = memoryview(len(body).to_bytes(4, "big") + body)
        with self._writing:
            while data:
                data = data[os.write(self._outgoing, data) :]

    def try_write(self, body: bytes) -> None:
        """Send one small frame, or give up when the host does not read: this never hangs with a hung host.

        A pipe that is ready for writing takes PIPE_BUF bytes (at least 512) at once.
        """
        if not self._writing.acquire(timeout=CANCEL_WAIT_S):
            return
        try:
            if self._outgoing >= 0 and _readiness(self._outgoing, select.POLLOUT, CANCEL_WAIT_S):
                os.write(self._outgoing, len(body).to_bytes(4, "big") + body)
        finally:
            self._writing.release()

    def ready(self, timeout_s: float) -> bool:
        """Wait for something to read; false when nothing came in time."""
        return _readiness(self._incoming, select.POLLIN, timeout_s)

    def read(self) -> Iterator[dict[str, Any]]:
        """Wait for data and yield the whole frames in it. Raises `EOFError` at the end, `GarbageError`."""
        data = os.read(self._incoming, READ_BYTES)
        if not data:
            raise EOFError
        buffer = self._buffer
        buffer += data
        while len(buffer) >= 4:
            size = int.from_bytes(buffer[:4], "big")
            if size > MAX_FRAME:
                raise GarbageError(f"a frame of {size} bytes")
            if len(buffer) < 4 + size:
                return
            body = bytes(buffer[4 : 4 + size])
            del buffer[: 4 + size]
            yield _parsed(body)


def _parsed(data: bytes) -> dict[str, Any]:
    try:
        frame = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise GarbageError("a frame that is no JSON") from error
    if not isinstance(frame, dict):
        raise GarbageError("a frame that is no object")
    return frame


def _readiness(fd: int, events: int, timeout_s: float) -> bool:
    """Like `select.select`, for fds beyond 1023 as well."""
    poll = select.poll()
    poll.register(fd, events)
    return bool(poll.poll(timeout_s * 1000))


class _Running:
    """One generation: where its deltas go, and where its outcome is waited for."""

    __slots__ = ("emit", "outcome")

    def __init__(self, emit: Emit) -> None:
        self.emit = emit
        self.outcome: SimpleQueue[Finish | Exception] = SimpleQueue()


class PipeEngine:
    """Fulfils `Engine` for a host that is started and ready (see `pipe_host`).

    `body` makes what the host is sent for a generation. `context` is how many tokens one request may have,
    prompt and answer together; None where the host does not say.
    """

    def __init__(
        self,
        process: EngineProcess,
        frames: Frames,
        body: Callable[[Generation], bytes],
        slots: int,
        context: int | None,
    ) -> None:
        self.slots = slots
        self.context = context
        self.pid = process.pid
        self._process = process
        self._frames = frames
        self._body = body
        self._numbers = itertools.count(1)
        self._ids: dict[str, int] = {}
        self._running: dict[int, _Running] = {}
        self._lost: str | None = None  # why, once the engine is gone
        self._lock = threading.Lock()
        threading.Thread(target=self._listen, name=f"pipe-{self.pid}", daemon=True).start()

    def generate(self, id: str, generation: Generation, emit: Emit) -> Finish:
        """See `Engine.generate`."""
        body = self._body(generation)
        number = next(self._numbers)
        running = _Running(emit)
        with self._lock:
            if self._lost is not None:
                raise EngineLost("engine_crashed", self._lost)
            self._running[number] = running
            self._ids[id] = number
        try:
            with suppress(OSError):  # the listener knows the reason and says it
                self._frames.write(b'{"generate":%d,"generation":%b}' % (number, body))
            outcome = running.outcome.get()
        finally:
            self._running.pop(number, None)
            self._ids.pop(id, None)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def cancel(self, id: str) -> None:
        """See `Engine.cancel`."""
        number = self._ids.get(id)
        if number is not None:
            with suppress(OSError):
                self._frames.try_write(b'{"cancel":%d}' % number)

    def stop(self, timeout_s: float) -> None:
        """See `Engine.stop`."""
        self._process.stop(timeout_s)

    def _listen(self) -> None:
        """Hand out what the engine says until it is gone."""
        reason = None
        try:
            while True:
                for frame in self._frames.read():
                    self._hand_out(frame)
        except (EOFError, OSError):
            pass
        except GarbageError as error:
            reason = f"engine spoke garbage: {error}"
        except (TypeError, ValueError, KeyError) as error:
            reason = f"engine spoke garbage: a step that cannot be read ({type(error).__name__})"
        if reason is not None or self._process.wait(EXIT_WAIT_S) is None:
            self._process.kill()  # it lives on, and can no longer be spoken to
        with self._lock:
            self._lost = str(self._process.lost(reason))
            running = list(self._running.values())
        for one in running:
            one.outcome.put(EngineLost("engine_crashed", self._lost))
        self._frames.close()

    def _hand_out(self, frame: dict[str, Any]) -> None:
        get = self._running.get
        for number, pieces in frame.get("reasoning", ()):
            if running := get(number):
                self._emit(number, running, map(ReasoningDelta, pieces))
        for number, pieces in frame.get("text", ()):
            if running := get(number):
                self._emit(number, running, map(TextDelta, pieces))
        for number, calls in frame.get("calls", ()):
            if running := get(number):
                self._emit(number, running, itertools.starmap(ToolCallDelta, calls))
        for number, reason, usage in frame.get("ends", ()):
            if running := get(number):
                running.outcome.put(Finish(reason, Usage(*usage)))
        for number, code, message in frame.get("errors", ()):
            if running := get(number):
                running.outcome.put(GenerationError(code, message))

    def _emit(self, number: int, running: _Running, deltas: Iterable[Delta]) -> None:
        """Emit; whoever's `emit` raises loses his own generation, not the engine."""
        emit = running.emit
        try:
            for delta in deltas:
                emit(delta)
        except Exception as error:
            running.outcome.put(error)
            with suppress(OSError):
                self._frames.try_write(b'{"cancel":%d}' % number)
