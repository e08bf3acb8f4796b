"""From a streamed answer of /v1/chat/completions to deltas: its events, and what their chunks mean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from streams.events import Delta, ReasoningDelta, TextDelta, ToolCallDelta, Usage
from workers.runtimes.base import Emit, GenerationError

REASONS = {"stop": "stop", "length": "length", "tool_calls": "tool_calls"}


def events(reads: Iterable[bytes]) -> Iterator[bytes]:
    """The data of each event in a body that comes in pieces cut anywhere.

    These servers put a whole event on one `data:` line (old llama-servers: an error on an `error:` line);
    names, ids and comments are of no use here.
    """
    rest = b""
    for data in reads:
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            if line.startswith((b"data:", b"error:")):
                yield line.partition(b":")[2].strip()


class ChatStream:
    """One answer as it comes: emits its deltas, remembers how it ended and what it used."""

    def __init__(self, emit: Emit) -> None:
        self.reason: str | None = None
        self._emit = emit
        self._input = 0
        self._cached = 0
        self._output: int | None = None
        self._pieces = 0
        self._reasoning = 0

    @property
    def usage(self) -> Usage:
        """What the engine counted; before it has (a cancelled answer), what was seen of it."""
        output = self._pieces if self._output is None else self._output
        return Usage(self._input, output, self._cached, self._reasoning)

    def take(self, data: bytes) -> None:
        """Take one event's data. Raises `GenerationError` when it is an error or cannot be read."""
        if data == b"[DONE]":
            return
        try:
            chunk = orjson.loads(data)
            failed = "error" in chunk
            deltas = [] if failed else self._read(chunk)
        except (orjson.JSONDecodeError, LookupError, TypeError, AttributeError) as error:
            raise GenerationError("engine_error", "the engine said what cannot be read") from error
        if failed:
            raise GenerationError("engine_error", "the engine failed while it answered")
        for delta in deltas:
            self._emit(delta)

    def _read(self, chunk: dict[str, Any]) -> list[Delta]:
        self._count(chunk)
        deltas: list[Delta] = []
        for choice in chunk["choices"]:
            self._choice(choice["delta"], deltas)
            if reason := choice.get("finish_reason"):
                self.reason = REASONS.get(reason, "stop")
        self._pieces += len(deltas)
        return deltas

    def _choice(self, delta: dict[str, Any], deltas: list[Delta]) -> None:
        if thought := delta.get("reasoning_content"):
            self._reasoning += 1
            deltas.append(ReasoningDelta(thought))
        if text := delta.get("content"):
            deltas.append(TextDelta(text))
        for call in delta.get("tool_calls") or ():
            function = call.get("function") or {}
            arguments = function.get("arguments") or ""
            deltas.append(
                ToolCallDelta(call.get("index", 0), arguments, call.get("id"), function.get("name"))
            )

    def _count(self, chunk: dict[str, Any]) -> None:
        if progress := chunk.get("prompt_progress"):  # llama-server, long before the usage
            self._input, self._cached = progress["total"], progress["cache"]
        if usage := chunk.get("usage"):
            self._input = usage["prompt_tokens"]
            self._output = usage["completion_tokens"]
            cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens")
            self._cached = cached if cached is not None else (chunk.get("timings") or {}).get("cache_n", 0)
