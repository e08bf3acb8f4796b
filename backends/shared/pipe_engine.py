"""Starts an engine process of this project and runs many generations in it at once, over two pipes.

The code of these engine processes is in `backends/<name>/engine/`; `workers.engine_process.pipe_protocol`
describes the frames.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import orjson

from backends.base import Emit, Finish, GenerationError
from backends.shared.start import EngineStart
from streams.events import Delta, ReasoningDelta, TextDelta, ToolCallDelta, Usage
from tasks.generation import Generation
from workers.engine_process.errors import EngineLost
from workers.engine_process.pipe_protocol import Frames, MalformedFrameError
from workers.engine_process.process import EXIT_WAIT_S, EngineProcess

ENGINE_PROGRAM = Path(__file__).with_name("engine") / "bootstrap.py"
TICK_S = 0.1

RequestEncoder = Callable[[Generation], bytes]
"""Encodes a generation as the JSON that the engine process expects. Raises `GenerationError`."""


def chat_encoder(form: Callable[[Generation, str], dict[str, Any]], prompt_format: str) -> RequestEncoder:
    """Return the encoder for an engine that takes the bodies of chat completions, which `form` makes."""
    return lambda generation: orjson.dumps(form(generation, prompt_format))


@dataclass(frozen=True)
class EngineCommand:
    """How to start an engine process and what to send it.

    `python` runs `main` of `backends/NAME/engine/main.py` with `options` (JSON values). `environment` is
    added to the variables that every engine inherits. `encode` encodes the requests.
    """

    python: Sequence[str]
    name: str
    options: Mapping[str, Any]
    environment: Mapping[str, str] = field(default_factory=dict)
    encode: RequestEncoder = Generation.to_json


class _PipeGeneration:
    """A running generation: the receiver of its deltas, and the queue that its outcome is put into."""

    __slots__ = ("emit", "outcome")

    def __init__(self, emit: Emit) -> None:
        self.emit = emit
        self.outcome: SimpleQueue[Finish | Exception] = SimpleQueue()


class PipeEngine:
    """Fulfils `Engine` for an engine process that is loaded (see `start_pipe_engine`).

    `context` is how many tokens one request may have, prompt and answer together; None where the engine does
    not report it.
    """

    def __init__(
        self,
        process: EngineProcess,
        frames: Frames,
        encode: RequestEncoder,
        slots: int,
        context: int | None,
    ) -> None:
        self.slots = slots
        self.context = context
        self.pid = process.pid
        self._process = process
        self._frames = frames
        self._encode = encode
        self._numbers = itertools.count(1)
        self._number_of: dict[str, int] = {}
        self._running: dict[int, _PipeGeneration] = {}
        self._lost: str | None = None  # the reason, once the engine is gone
        self._lock = threading.Lock()
        threading.Thread(target=self._read_frames, name=f"pipe-{self.pid}", daemon=True).start()

    def generate(self, id: str, generation: Generation, emit: Emit) -> Finish:
        """See `Engine.generate`."""
        body = self._encode(generation)
        number = next(self._numbers)
        running = _PipeGeneration(emit)
        with self._lock:
            if self._lost is not None:
                raise EngineLost("engine_crashed", self._lost)
            self._running[number] = running
            self._number_of[id] = number
        try:
            with suppress(OSError):  # the reader thread finds the reason and reports it as the outcome
                self._frames.write(b'{"generate":%d,"generation":%b}' % (number, body))
            outcome = running.outcome.get()
        finally:
            self._running.pop(number, None)
            self._number_of.pop(id, None)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def cancel(self, id: str) -> None:
        """See `Engine.cancel`."""
        number = self._number_of.get(id)
        if number is not None:
            with suppress(OSError):
                self._frames.try_write(b'{"cancel":%d}' % number)

    def stop(self, timeout_s: float) -> None:
        """See `Engine.stop`."""
        self._process.stop(timeout_s)

    def _read_frames(self) -> None:
        """Dispatch the engine's frames until it is gone; then fail all generations that still run."""
        reason = None
        try:
            while True:
                for frame in self._frames.read():
                    self._dispatch(frame)
        except (EOFError, OSError):
            pass
        except MalformedFrameError as error:
            reason = f"engine sent malformed data: {error}"
        except (TypeError, ValueError, KeyError) as error:
            reason = f"engine sent malformed data: a step that cannot be read ({type(error).__name__})"
        if reason is not None or self._process.wait(EXIT_WAIT_S) is None:
            self._process.kill()  # it still runs, but cannot be used any more
        with self._lock:
            self._lost = str(self._process.lost(reason))
            running = list(self._running.values())
        for one in running:
            one.outcome.put(EngineLost("engine_crashed", self._lost))
        self._frames.close()

    def _dispatch(self, frame: dict[str, Any]) -> None:
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

    def _emit(self, number: int, running: _PipeGeneration, deltas: Iterable[Delta]) -> None:
        """Emit deltas; an `emit` that raises ends its own generation, not the engine."""
        emit = running.emit
        try:
            for delta in deltas:
                emit(delta)
        except Exception as error:
            running.outcome.put(error)
            with suppress(OSError):
                self._frames.try_write(b'{"cancel":%d}' % number)


def start_pipe_engine(start: EngineStart, command: EngineCommand) -> PipeEngine:
    """Start an engine process and wait until it has loaded. Raises `LoadError`."""
    frames = Frames()
    try:
        fds = (frames.engine_in, frames.engine_out)
        argv = [*command.python, "-I", str(ENGINE_PROGRAM), command.name, *map(str, fds)]
        try:
            process = start.run([*argv, orjson.dumps(command.options).decode()], command.environment, fds)
        finally:
            frames.close_engine_ends()
        slots, context = _wait_until_ready(start, process, frames)
    except BaseException:
        frames.close()
        raise
    return PipeEngine(process, frames, command.encode, slots, context)


def _wait_until_ready(start: EngineStart, process: EngineProcess, frames: Frames) -> tuple[int, int | None]:
    """Report the progress of a load until its end. Returns (slots, context in tokens). Raises `LoadError`."""
    while True:
        if not frames.wait(max(0.0, min(TICK_S, start.left_s))):
            start.check()
            continue
        try:
            for message in frames.read():
                if "load" in message:
                    start.progress(*message["load"])
                elif "failed" in message:
                    raise start.failed(process, str(message["failed"]))
                elif "ready" in message:
                    return int(message["ready"]["slots"]), message["ready"].get("context")
        except (EOFError, OSError):
            raise start.failed(process) from None
        except MalformedFrameError as error:
            raise start.failed(process, f"engine sent malformed data while loading: {error}") from error
