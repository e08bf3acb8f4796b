"""The engine's end of the two pipes to its worker; `engines.engine_process.pipe_protocol` describes the
frames.
"""

from __future__ import annotations

import os
import select
from collections.abc import Callable
from json import JSONEncoder, loads
from time import monotonic
from typing import Any

READ_BYTES = 1 << 16  # more would be memory that is mapped for each read

CACHE_USE_S = 1.0  # between two reports of the use of the cache

encode = JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode

ToolCallPiece = tuple[int, str, str | None, str | None]
"""Index of the call, a piece of its arguments, and with the first piece its id and its function's name."""


class Step:
    """Collects the output of all generations in one step of the engine into one `frame`.

    An empty frame need not be sent. `number` is always that of the generation.
    """

    def __init__(self) -> None:
        self.frame: dict[str, list[Any]] = {}

    def add_text(self, number: int, kind: str, piece: str) -> None:
        """Add a piece of reasoning or text; `kind` is "reasoning" or "text"."""
        self._add(kind, (number, [piece]))

    def add_progress(self, number: int, total: int, cached: int, processed: int, time_ms: int) -> None:
        """Add how much of a prompt was read (`streams.events.PromptProgress`)."""
        self._add("progress", (number, total, cached, processed, time_ms))

    def add_scored(self, number: int, piece: str, tokens: list[list[Any]]) -> None:
        """Add a piece of text with the log probabilities of its tokens (`streams.events.TokenLogprob`)."""
        self._add("scored", (number, piece, tokens))

    def add_vector(self, number: int, index: int, vector: str) -> None:
        """Add the vector of an input: its float32 numbers, little-endian, in base64."""
        self._add("vectors", (number, index, vector))

    def add_tokens(self, number: int, items: str) -> None:
        """Add tokens of a text: items of a JSON list, with the commas between them."""
        self._add("tokens", (number, items))

    def add_media(self, number: int, event: dict[str, Any]) -> None:
        """Add an event of `streams.media_events`, in its JSON form."""
        self._add("media", (number, event))

    def add_tool_call(self, number: int, piece: ToolCallPiece) -> None:
        """Add a piece of a tool call."""
        self._add("calls", (number, [piece]))

    def add_end(
        self, number: int, reason: str, usage: tuple[int, ...], stop_sequence: str | None = None
    ) -> None:
        """Add the end of a generation: its reason, its usage, and the stop sequence that ended it.

        The usage are input, output, cached and reasoning tokens, and what else `streams.events.Usage` counts.
        """
        self._add("ends", (number, reason, usage, stop_sequence))

    def add_error(self, number: int, code: str, message: str) -> None:
        """Add the end of a generation that failed while the engine continues."""
        self._add("errors", (number, code, message))

    def add_flushed(
        self, number: int, entries: int | None, memory_mib: float | None, reason: str | None = None
    ) -> None:
        """Add the answer to a flush: what was removed, None for what is not known, and then the reason."""
        self._add("flushed", (number, entries, memory_mib, reason))

    def add_state(self, number: int, tokens: int) -> None:
        """Add the answer to a command about a state: the tokens of its sequence."""
        self._add("states", (number, tokens, None, None))

    def add_state_error(self, number: int, code: str, message: str) -> None:
        """Add the answer to a command about a state that failed."""
        self._add("states", (number, 0, code, message))

    def _add(self, key: str, entry: tuple[Any, ...]) -> None:
        self.frame.setdefault(key, []).append(entry)


class CacheUse:
    """Adds the share of the KV cache in use to a step: when it changed, once a second while requests run."""

    def __init__(self) -> None:
        self._due = 0.0
        self._reported = 0.0

    def add_to(self, step: Step, share: Callable[[], float], *, idle: bool) -> None:
        """Add it to the frame if it is due, or if the engine is `idle` now. `share` is called only then."""
        now = monotonic()
        if now < self._due and not idle:
            return
        self._due = now + CACHE_USE_S
        value = round(min(1.0, share()), 3)
        if value != self._reported:
            self._reported = value
            step.frame["cache"] = value  # type: ignore[assignment]  # the one key without a list


class Pipe:
    """Reads requests from one pipe and writes frames to the other. Not thread-safe."""

    def __init__(self, incoming: int, outgoing: int) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._buffer = bytearray()
        self._poll = select.poll()  # `select.select` refuses descriptors above 1023, which busy workers have
        self._poll.register(incoming, select.POLLIN)
        for fd in (incoming, outgoing):
            os.set_inheritable(fd, False)  # a surviving child process must not hold the worker's end open

    def fileno(self) -> int:
        """Return the descriptor that requests are read from, for an event loop."""
        return self._incoming

    def wait(self, timeout_s: float | None) -> bool:
        """Wait until there is something to read; false after the timeout. None waits without limit."""
        return bool(self._poll.poll(None if timeout_s is None else timeout_s * 1000))

    def read(self) -> list[dict[str, Any]] | None:
        """Wait for data and return the complete messages in it; None when the worker has closed the pipe."""
        data = os.read(self._incoming, READ_BYTES)
        if not data:
            return None
        buffer = self._buffer
        buffer += data
        messages = []
        while len(buffer) >= 4 and len(buffer) >= 4 + (size := int.from_bytes(buffer[:4], "big")):
            messages.append(loads(buffer[4 : 4 + size]))
            del buffer[: 4 + size]
        return messages

    def receive(
        self,
        begin: Callable[..., object],
        cancel: Callable[..., object],
        flush: Callable[..., object],
        *extra: object,
        state: Callable[..., object] | None = None,
        end_reasoning: Callable[..., object] | None = None,
    ) -> bool:
        """Wait for data and dispatch the messages in it; false when the worker has closed the pipe.

        Calls `begin(number, body, *extra)` for each new request, `cancel(number, *extra)` for each
        cancellation and `flush(number, kept, *extra)` for each flush, with the set of namespaces that are
        not dropped. `state(number, command, *extra)` is called for each command about a state
        (`backends.base.KeepsStates`), `end_reasoning(number, *extra)`, in an engine that has it, to end the
        reasoning of one.
        """
        messages = self.read()
        for message in messages or ():
            if "cancel" in message:
                cancel(message["cancel"], *extra)
            elif "flush" in message:
                flush(message["flush"], frozenset(message["kept"]), *extra)
            elif "state" in message:
                if state is not None:
                    state(message["state"], message, *extra)
            elif "end_reasoning" in message:
                if end_reasoning is not None:
                    end_reasoning(message["end_reasoning"], *extra)
            else:
                begin(message["generate"], message["generation"], *extra)
        return messages is not None

    def write(self, message: dict[str, Any]) -> None:
        """Send one frame; waits while the pipe is full."""
        body = encode(message).encode("utf-8", "replace")
        data = memoryview(len(body).to_bytes(4, "big") + body)
        while data:
            data = data[os.write(self._outgoing, data) :]

    def load(self, done: float, stage: str) -> None:
        """Report the progress of the load (0 to 1) and its stage."""
        self.write({"load": [done, stage]})

    def failed(self, reason: str) -> None:
        """Report that the load failed; `reason` is one sentence."""
        self.write({"failed": reason})

    def ready(self, slots: int, context: int | None = None, **facts: object) -> None:
        """Report that the engine takes `slots` requests at once, each of at most `context` tokens.

        `facts` are fields of the worker's `EngineFacts`: version, quantization, kv_cache_mib, cache_capacity.
        """
        self.write({"ready": {"slots": slots, "context": context, **facts}})
