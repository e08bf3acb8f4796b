"""Starts an engine process of this project and runs many generations in it at once, over two pipes.

The code of these engine processes is in `backends/<name>/engine/`; `engines.engine_process.pipe_protocol`
describes the frames.
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import orjson

from backends.base import (
    NO_FACTS,
    EngineFacts,
    Finish,
    GenerationError,
    SavedSequence,
    Sink,
    StateChoice,
)
from backends.shared.end_of_generation import fail, finish
from backends.shared.start import EngineStart
from engines.engine_process.errors import EngineError, EngineLost
from engines.engine_process.pipe_protocol import Frames, MalformedFrameError
from engines.engine_process.process import EXIT_WAIT_S, EngineProcess
from fleet.flush import FlushCount
from generation.generation import Generation
from streams.events import (
    Delta,
    PromptProgress,
    ReasoningDelta,
    ScoredTextDelta,
    TextDelta,
    TokenLogprob,
    TokensDelta,
    ToolCallDelta,
    Usage,
    VectorDelta,
    merge_texts,
)
from streams.media_events import read_media_event

ENGINE_PROGRAM = Path(__file__).with_name("engine") / "bootstrap.py"
TICK_S = 0.1

RequestEncoder = Callable[[Generation], bytes]
"""Encodes a generation as the JSON that the engine process expects. Raises `GenerationError`."""


BodyForm = Callable[[Generation, str], dict[str, Any]]
"""Makes the body of a chat completion of a generation, for a prompt format. Raises `GenerationError`."""


def chat_encoder(form: BodyForm, prompt_format: str) -> RequestEncoder:
    """Return the encoder for an engine that takes the bodies of chat completions, which `form` makes.

    That of a generation whose tokens are only counted has `count_only`, that of one whose answer continues
    the last message `continue_last`, and that of one with a `text_task` that.
    """

    def encode(generation: Generation) -> bytes:
        body = form(generation, prompt_format)
        for flag in ("count_only", "continue_last"):
            if getattr(generation, flag):
                body = {**body, flag: True}
        if generation.text_task is not None:
            body = {**body, "text_task": generation.text_task}
        return orjson.dumps(body)

    return encode


def messages_only(form: BodyForm) -> BodyForm:
    """Return `form` for an engine that takes no prompt. Raises `GenerationError` for one."""

    def body(generation: Generation, prompt_format: str) -> dict[str, Any]:
        if generation.prompt is not None:  # the API refuses it, but may have another configuration
            raise GenerationError("invalid_prompt", "the engine accepts only messages")
        return form(generation, prompt_format)

    return body


def with_namespace(form: BodyForm) -> BodyForm:
    """Return `form` for an engine that keeps cache namespaces apart: the body has `cache_namespace`.

    Without that member the request shares no prefix with another one. `conversation` names its sequence.
    """

    def body(generation: Generation, prompt_format: str) -> dict[str, Any]:
        made = form(generation, prompt_format)
        if generation.shared_namespace is not None:
            made["cache_namespace"] = generation.shared_namespace
            if generation.conversation is not None:
                made["conversation"] = generation.conversation
        return made

    return body


@dataclass(frozen=True)
class EngineCommand:
    """How to start an engine process and what to send it.

    `python` runs `main` of `backends/NAME/engine/main.py` with `options` (JSON values). `environment` is
    added to the variables that every engine inherits. `encode` encodes the requests. `quotes_log` adds the
    likely cause in the engine's log to the reason of a failed load.
    """

    python: Sequence[str]
    name: str
    options: Mapping[str, Any]
    environment: Mapping[str, str] = field(default_factory=dict)
    encode: RequestEncoder = Generation.to_json
    quotes_log: bool = True


@dataclass(frozen=True, slots=True)
class EngineReady:
    """What an engine process reports when it has loaded; see `PipeEngine`."""

    slots: int
    context: int | None = None
    facts: EngineFacts = NO_FACTS


def _ready(message: Mapping[str, Any]) -> EngineReady:
    facts = {name: message[name] for name in EngineFacts.__slots__ if name in message}
    return EngineReady(int(message["slots"]), message.get("context"), EngineFacts(**facts))


class _Running:
    """A running generation."""

    __slots__ = ("delta", "id", "sink")

    def __init__(self, id: str, sink: Sink) -> None:
        self.id = id
        self.sink = sink
        self.delta = sink.delta


class PipeEngine:
    """Fulfils `Engine` for an engine process that is loaded (see `start_pipe_engine`).

    All methods but `stop` run on the event loop. `context` is how many tokens one request may have, prompt
    and answer together; None where the engine does not report it. `facts`: see `HasFacts`.
    """

    def __init__(
        self,
        process: EngineProcess,
        frames: Frames,
        encode: RequestEncoder,
        ready: EngineReady,
    ) -> None:
        self.slots = ready.slots
        self.context = ready.context
        self.facts = ready.facts
        self.pid = process.pid
        self.state_folder: Path | None = None  # an adapter sets it and the next, see `KeepsStates`
        self.state_identity: Mapping[str, str] = {}
        self._process = process
        self._frames = frames
        self._encode = encode
        self._numbers = itertools.count(1)
        self._number_of: dict[str, int] = {}
        self._running: dict[int, _Running] = {}
        self._answers: dict[int, asyncio.Future[Any]] = {}  # of commands that are no generations
        self._closed = False  # whether the pipes are
        self._lost: str | None = None  # the reason, once the engine is gone
        self._cache_use: float | None = None  # as the engine last reported it
        frames.attach(self._read_frames)

    def submit(self, id: str, generation: Generation, sink: Sink) -> None:
        """Send a generation to the engine process; its outcome goes to the sink."""
        try:
            body = self._encode(generation)
        except Exception as error:
            fail(id, sink, error)
            return
        if self._lost is not None:
            fail(id, sink, EngineLost("engine_crashed", self._lost))
            return
        number = next(self._numbers)
        self._running[number] = _Running(id, sink)
        self._number_of[id] = number
        if not self._closed:
            self._frames.write(b'{"generate":%d,"generation":' % number, body, b"}")

    def cancel(self, id: str) -> None:
        """Ask the engine process to end a generation; unknown ids are ignored."""
        number = self._number_of.get(id)
        if number is not None:
            self._cancel(number)

    def end_reasoning(self, id: str) -> None:
        """Ask the engine process to end the reasoning of a generation; unknown ids are ignored."""
        number = self._number_of.get(id)
        if number is not None and not self._closed:
            self._frames.write(b'{"end_reasoning":%d}' % number)

    def stop(self, timeout_s: float) -> None:
        """End the engine process and wait for it. Idempotent."""
        self._process.stop(timeout_s)

    async def cache_use(self) -> float | None:
        """The share of the KV cache in use, 0 to 1; None if the engine does not report it."""
        return self._cache_use

    async def flush(self, kept: Collection[str]) -> FlushCount:
        """Ask the engine process to drop cached prefixes of other namespaces. Raises `EngineLost`."""
        count: FlushCount = await self._ask("flush", kept=list(kept))
        return count

    async def _ask(self, command: str, **fields: Any) -> Any:
        """Send a command that is no generation, and return its answer. Raises `EngineLost`."""
        if self._lost is not None:
            raise EngineLost("engine_crashed", self._lost)
        number = next(self._numbers)
        answered: asyncio.Future[Any] = self._frames.loop.create_future()
        self._answers[number] = answered
        if not self._closed:
            self._frames.write(orjson.dumps({command: number, **fields}))
        try:
            return await answered
        finally:
            self._answers.pop(number, None)

    def _answer(self, number: int, answer: Any) -> None:
        answered = self._answers.get(number)
        if answered is None or answered.done():
            return
        if isinstance(answer, EngineError):
            answered.set_exception(answer)
        else:
            answered.set_result(answer)

    # ---- fulfils `KeepsStates`, for engines that take its commands

    async def save_state(self, choice: StateChoice, name: str) -> SavedSequence:
        """Let the engine process write a sequence to a file. Raises `GenerationError` and `EngineLost`."""
        return SavedSequence(await self._state("save", choice, name))

    async def restore_state(self, choice: StateChoice, name: str, note: bytes) -> int:  # noqa: ARG002
        """Let it read a sequence from a file. Raises `GenerationError` and `EngineLost`."""
        return await self._state("restore", choice, name)

    async def erase_state(self, choice: StateChoice) -> int:
        """Let it empty sequences. Raises `GenerationError` and `EngineLost`."""
        return await self._state("erase", choice, "")

    async def _state(self, action: str, choice: StateChoice, name: str) -> int:
        assert self.state_folder is not None  # noqa: S101 - the worker asks no other engine
        tokens: int = await self._ask(
            "state", action=action, path=str(self.state_folder / name), **asdict(choice)
        )
        return tokens

    def _cancel(self, number: int) -> None:
        if not self._closed:
            self._frames.write(b'{"cancel":%d}' % number)

    def _read_frames(self) -> None:
        """Take the frames that are there; after the engine's end, fail all that still runs."""
        try:
            for frame in self._frames.read():
                self._dispatch(frame)
        except (EOFError, OSError):
            self._close(None)
        except MalformedFrameError as error:
            self._close(f"engine sent malformed data: {error}")
        except (TypeError, ValueError, KeyError) as error:
            self._close(f"engine sent malformed data: a step that cannot be read ({type(error).__name__})")

    def _dispatch(self, frame: dict[str, Any]) -> None:
        self._emit_output(frame)
        for number, reason, usage, stop_sequence in frame.get("ends", ()):
            outcome = Finish(reason, Usage(*usage), stop_sequence)
            if running := self._end(number):
                finish(running.id, running.sink, outcome)
        for number, code, message in frame.get("errors", ()):
            if running := self._end(number):
                fail(running.id, running.sink, GenerationError(code, message))
        for number, entries, memory_mib, reason in frame.get("flushed", ()):
            self._answer(number, FlushCount(entries, memory_mib, reason))
        for number, tokens, code, message in frame.get("states", ()):
            self._answer(number, tokens if code is None else GenerationError(code, message))
        if "cache" in frame:
            self._cache_use = float(frame["cache"])

    def _emit_output(self, frame: dict[str, Any]) -> None:
        for number, *progress in frame.get("progress", ()):
            self._emit(number, (PromptProgress(*map(int, progress)),))
        for number, pieces in frame.get("reasoning", ()):
            self._emit(number, merge_texts(ReasoningDelta, pieces))
        for number, pieces in frame.get("text", ()):
            self._emit(number, merge_texts(TextDelta, pieces))
        for number, piece, tokens in frame.get("scored", ()):
            self._emit(number, (ScoredTextDelta(piece, tuple(map(TokenLogprob.from_json, tokens))),))
        self._emit_results(frame)
        for number, calls in frame.get("calls", ()):
            self._emit(number, itertools.starmap(ToolCallDelta, calls))

    def _emit_results(self, frame: dict[str, Any]) -> None:
        """Pass on the results of requests that generate nothing."""
        for number, index, vector in frame.get("vectors", ()):
            self._emit(number, (VectorDelta.of(index, base64.b64decode(vector)),))
        for number, items in frame.get("tokens", ()):
            self._emit(number, (TokensDelta(items.encode()),))
        for number, event in frame.get("media", ()):
            self._emit(number, (read_media_event(event),))

    def _emit(self, number: int, deltas: Iterable[Delta]) -> None:
        """Pass deltas to the generation's sink; one that raises ends its own generation, not the engine."""
        running = self._running.get(number)
        if running is None:  # it has ended with an error of its sink
            return
        receive = running.delta
        for delta in deltas:
            try:
                receive(delta)
            except Exception as error:
                self._end(number)
                self._cancel(number)
                fail(running.id, running.sink, error)
                return

    def _end(self, number: int) -> _Running | None:
        """Forget a generation and return it, None if it has ended before."""
        running = self._running.pop(number, None)
        if running is not None:
            self._number_of.pop(running.id, None)
        return running

    def _close(self, reason: str | None) -> None:
        """Close the pipes, and find out without blocking the loop how the engine ended."""
        self._closed = True
        self._frames.close()
        threading.Thread(
            target=self._await_exit, args=(reason,), name=f"lost-{self.pid}", daemon=True
        ).start()

    def _await_exit(self, reason: str | None) -> None:
        if reason is not None or self._process.wait(EXIT_WAIT_S) is None:
            self._process.kill()  # it still runs, but cannot be used any more
        lost = str(self._process.lost(reason))
        with suppress(RuntimeError):  # the loop is closed: nobody waits for an outcome
            self._frames.loop.call_soon_threadsafe(self._lose, lost)

    def _lose(self, reason: str) -> None:
        self._lost = reason
        for number in list(self._running):
            if running := self._end(number):
                fail(running.id, running.sink, EngineLost("engine_crashed", reason))
        for number in self._answers:
            self._answer(number, EngineLost("engine_crashed", reason))


def start_pipe_engine(start: EngineStart, command: EngineCommand) -> PipeEngine:
    """Start an engine process and wait until it has loaded. Raises `LoadError`."""
    frames = Frames(start.launch.loop)
    try:
        fds = (frames.engine_in, frames.engine_out)
        argv = [*command.python, "-I", str(ENGINE_PROGRAM), command.name, *map(str, fds)]
        try:
            process = start.run([*argv, orjson.dumps(command.options).decode()], command.environment, fds)
        finally:
            frames.close_engine_ends()
        ready = _wait_until_ready(start, process, frames, quotes_log=command.quotes_log)
    except BaseException:
        frames.close()
        raise
    return PipeEngine(process, frames, command.encode, ready)


def _wait_until_ready(
    start: EngineStart, process: EngineProcess, frames: Frames, *, quotes_log: bool
) -> EngineReady:
    """Report the progress of a load until its end. Raises `LoadError`."""
    while True:
        if not frames.wait(max(0.0, min(TICK_S, start.left_s))):
            start.check(lambda: frames.wait(0.0))
            continue
        try:
            for message in frames.read():
                if "load" in message:
                    start.progress(*message["load"])
                elif "failed" in message:
                    raise start.failed(process, str(message["failed"]), quotes_log=quotes_log)
                elif "ready" in message:
                    return _ready(message["ready"])
        except (EOFError, OSError):
            raise start.failed(process) from None
        except MalformedFrameError as error:
            raise start.failed(process, f"engine sent malformed data while loading: {error}") from error
