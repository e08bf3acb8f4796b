"""The protocols of a backend: an `Adapter` starts engines, and an `Engine` is one loaded replica.

An engine answers many requests at once, in a process of its own or, for a remote backend, on another machine.
`tests/backends/contract.py` tests the behaviour that is required of every adapter.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from config.settings import ModelDefinition
from engines.engine_process.errors import EngineError, Exit
from fleet.flush import FlushCount
from generation.generation import Generation
from streams.events import Delta, Usage

Emit = Callable[[Delta], None]
"""Receives one delta of a running generation. Must not block."""

Progress = Callable[[float, str], None]
"""Receives the progress of a load: the fraction that is done (0 to 1), and the stage in a few words."""


class LoadError(EngineError):
    """Raised when an engine does not start (codes: load_failed, load_timeout, load_cancelled)."""


class GenerationError(EngineError):
    """Raised when one generation fails and the engine continues.

    Codes: invalid_prompt, context_length_exceeded, unsupported_parameter, engine_error, engine_stalled,
    embeddings_unsupported, rerank_unsupported, generation_unsupported, unknown_voice, remote_not_allowed,
    remote_rate_limited, remote_unavailable, those of sounds: invalid_audio, audio_too_long, and those of
    saved states: conversation_locked, server_busy, state_not_found, state_unusable, state_quota_exceeded,
    state_disk_full.
    """


@dataclass(frozen=True, slots=True)
class Finish:
    """How a generation ended in the engine, and its token usage.

    `reason` is stop, length, tool_calls, content_filter or cancelled; `stop_sequence` is the text of
    `Sampling.stop` that ended it, None for any other end and from engines that do not report it.
    """

    reason: str
    usage: Usage
    stop_sequence: str | None = None


class Sink(Protocol):
    """Receives the output and the outcome of one generation.

    All methods are called on the worker's event loop and must not block. After the deltas comes exactly one
    call of `finish` or `fail`, and nothing after it. A sink whose `delta` raises ends its own generation: the
    engine cancels it and calls `fail` with code engine_error.
    """

    def delta(self, delta: Delta) -> None:
        """Take one delta."""
        ...

    def finish(self, finish: Finish) -> None:
        """The generation has ended in the engine; its reason is "cancelled" after `Engine.cancel`."""
        ...

    def fail(self, error: EngineError) -> None:
        """The generation failed: a `GenerationError`, or `EngineLost` when its engine is gone."""
        ...


class CancellationToken:
    """Cancels one engine start: the worker holds it, the start watches it. All methods are thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cancelled = False
        self._callbacks: list[Callable[[], object]] = []

    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._cancelled

    def cancel(self) -> None:
        """Cancel the start. The registered callbacks run in this thread; a second call does nothing."""
        with self._lock:
            callbacks, self._callbacks = self._callbacks, []
            self._cancelled = True
        for callback in callbacks:
            callback()

    @contextmanager
    def on_cancel(self, callback: Callable[[], object]) -> Iterator[None]:
        """Call `callback` once if the token is cancelled while the block runs, or was cancelled before it."""
        with self._lock:
            cancelled = self._cancelled
            if not cancelled:
                self._callbacks.append(callback)
        if cancelled:
            callback()
        try:
            yield
        finally:
            with self._lock:
                if callback in self._callbacks:
                    self._callbacks.remove(callback)


@dataclass(frozen=True, slots=True)
class Launch:
    """Everything that an adapter needs to start one engine.

    `slots` is how many requests the engine must take at once, `directory` a folder of its own for logs and
    sockets, `environments` the folder of the backends' environments (see `engines.environments`). `on_exit`
    is called once, from any thread, when the process of an engine that `start` returned has ended, expected
    or not; when `start` raises, the process has already ended and `on_exit` is not called. `on_process` is
    called with the pid of the engine process (the leader of a process group) as soon as it runs. Cancelling
    `cancellation` makes `start` end early. `loop` is the worker's event loop, which the engine's pipes and
    connections belong to; it runs in another thread than `start`. `same_port` are the other models that are
    configured with the port of this one. `states` is the engine's own folder for states on their way to and
    from `state.directory`; None where states are not saved.
    """

    model: ModelDefinition
    replica: str
    slots: int
    directory: Path
    environments: Path
    progress: Progress
    on_exit: Callable[[Exit], None]
    loop: asyncio.AbstractEventLoop
    on_process: Callable[[int], None] = lambda _pid: None
    cancellation: CancellationToken = field(default_factory=CancellationToken)
    same_port: Sequence[str] = ()
    states: Path | None = None
    files: Path | None = None


class Engine(Protocol):
    """One loaded replica."""

    slots: int
    """How many requests the engine takes at once; at most as many as the launch asked for."""

    pid: int | None
    """The process that runs the model, the leader of a process group; None for a remote engine."""

    def generate(self, id: str, generation: Generation, emit: Emit) -> Finish:
        """Run one generation to its end, in the calling thread.

        Returns a `Finish` with reason "cancelled" after `cancel(id)`. Raises `GenerationError` and
        `EngineLost`.
        """
        ...

    def submit(self, id: str, generation: Generation, sink: Sink) -> None:
        """Start one generation; called on the worker's event loop, and does not block.

        Raises nothing: every outcome goes to the sink, perhaps before this method returns.
        """
        ...

    def cancel(self, id: str) -> None:
        """Make a generation end, so that its slot is free within a second; called on the worker's event loop.

        Unknown ids are ignored.
        """
        ...

    async def flush(self, kept: Collection[str]) -> FlushCount:
        """Drop all cached prefixes except those of the cache namespaces `kept`; called on the event loop.

        A running generation of another namespace keeps its own sequence, which is dropped at its end. So is
        that of one that was submitted before and waits. Returns what was counted, and why anything was not.
        Raises `EngineLost`. It may be cancelled; then the engine drops them all the same.
        """
        ...

    def stop(self, timeout_s: float) -> None:
        """End the process (SIGTERM to its group, SIGKILL after the timeout) and wait for it. Idempotent.

        Called from any thread but that of the event loop.
        """
        ...


@runtime_checkable
class EndsReasoning(Protocol):
    """An `Engine` that can end the reasoning of a running generation (`Generation.ends_reasoning`)."""

    def end_reasoning(self, id: str) -> None:
        """Let the answer follow what the generation has reasoned so far; called on the worker's event loop.

        No effect on one that does not reason (any more), and on unknown ids.
        """
        ...


@runtime_checkable
class HasContextLimit(Protocol):
    """An `Engine` that knows the context in force, which may differ from the one that was configured."""

    context: int | None
    """Tokens that one request may have, prompt and answer together; None if the engine does not report it."""


@dataclass(frozen=True, slots=True)
class EngineFacts:
    """What a loaded engine reports about itself. None: it does not report it.

    `version` is that of its runtime, `quantization` the type of the weights in the runtime's words,
    `kv_cache_mib` the memory of its KV cache, `longest_token` how many bytes of a text one token has at most.
    `cache_capacity` is how much of earlier prompts its prefix cache keeps, in the `cache_unit` "tokens" or
    "sequences"; None without a prefix cache, too.
    `properties` are some of those in llama-server's /props, by its names: `params` (the sampling of a request
    that asks for none), `chat_template`, `chat_template_caps`, `bos_token`, `eos_token`.
    """

    version: str | None = None
    quantization: str | None = None
    kv_cache_mib: float | None = None
    longest_token: int | None = None
    cache_capacity: int | None = None
    cache_unit: str | None = None
    properties: Mapping[str, Any] | None = None


NO_FACTS = EngineFacts()


@runtime_checkable
class HasFacts(Protocol):
    """An `Engine` that reports something about itself."""

    facts: EngineFacts

    async def cache_use(self) -> float | None:
        """The share of its KV cache in use, from 0 to 1; None if it does not report it.

        Called on the worker's event loop every few seconds. Raises nothing; it may be cancelled.
        """
        ...


@dataclass(frozen=True, slots=True)
class StateChoice:
    """Which of an engine's sequences (slots) is meant: one of a cache namespace.

    That of a `conversation` (see `Generation.conversation`), the last used one if there are several; without
    one the `place`-th of the namespace, from the last used one, which is 0.
    """

    namespace: str
    conversation: str | None = None
    place: int = 0


@dataclass(frozen=True, slots=True)
class SavedSequence:
    """A sequence that was saved: its tokens, and what the engine has to know when it is restored."""

    tokens: int
    note: bytes = b""


@runtime_checkable
class KeepsStates(Protocol):
    """An `Engine` that saves, restores and erases the state of its sequences, without a slot for it.

    The methods are called on the event loop, one at a time. Each raises `GenerationError` (state_not_found:
    there is no such sequence; conversation_locked: a request uses it; state_unusable: the library refuses the
    file) and `EngineLost`.
    """

    state_folder: Path | None
    """The folder of the files, which only the engine and the worker use; None: it cannot."""

    state_identity: Mapping[str, str]
    """What a state depends on beside the model's files: a state with any other value is of no use here."""

    async def save_state(self, choice: StateChoice, name: str) -> SavedSequence:
        """Write a sequence to a new file of that name in the folder."""
        ...

    async def restore_state(self, choice: StateChoice, name: str, note: bytes) -> int:
        """Read a sequence from a file, so that the namespace's next prompts can continue it.

        Its conversation is that of `choice`. Returns its tokens. Raises server_busy if all sequences are in
        use.
        """
        ...

    async def erase_state(self, choice: StateChoice) -> int:
        """Empty a sequence, or all of a conversation. Returns the tokens that were in them."""
        ...


class Adapter(Protocol):
    """Starts the engines of one backend."""

    name: str

    def check(self, model: ModelDefinition, slots: int, environments: Path) -> None:
        """Check what a start needs before it begins a process: options, files, the environment, a GPU.

        Quick: no process is started and no library imported. Raises `LoadError` as the start would.
        """
        ...

    def start(self, launch: Launch) -> Engine:
        """Start an engine and return it when it can answer, reporting progress.

        Raises `LoadError`, with code load_cancelled once `launch.cancellation` is cancelled; the engine
        process has ended by then.
        """
        ...
