"""The events of a response: what an engine says, in a form no dialect owns.

A log is a sequence of deltas (`TextDelta`, `ReasoningDelta`, `ToolCallDelta`) and exactly one `End`, its last
entry. Each entry has a number, 1 for the first; a dialect renders the same log to the same frames, whoever
reads it and however often.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

TERMINAL_STATUSES = ("completed", "incomplete", "failed", "cancelled")


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer."""

    text: str

    def encode(self) -> bytes:
        """The log's form."""
        return orjson.dumps({"t": "text", "d": self.text})


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A piece of what the model thinks before it answers."""

    text: str

    def encode(self) -> bytes:
        """The log's form."""
        return orjson.dumps({"t": "reasoning", "d": self.text})


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A piece of call number `index`: the first brings `id` and `name`, each a piece of `arguments`."""

    index: int
    arguments: str = ""
    id: str | None = None
    name: str | None = None

    def encode(self) -> bytes:
        """The log's form."""
        return orjson.dumps(
            {"t": "tool_call", "i": self.index, "d": self.arguments, "id": self.id, "name": self.name}
        )


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens counted by the engine. `cached_tokens` of the input were not computed again."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class End:
    """The terminal event.

    `status` is one of TERMINAL_STATUSES. `finish_reason` (stop, length, tool_calls, content_filter) says why
    a completed or incomplete generation ended; `code` and `message` why a failed or cancelled one did.
    `queue_ms` and `run_ms` are by Redis' clock.
    """

    status: str
    finish_reason: str | None = None
    code: str | None = None
    message: str | None = None
    usage: Usage | None = None
    queue_ms: int = 0
    run_ms: int = 0


Delta = TextDelta | ReasoningDelta | ToolCallDelta
Event = Delta | End


def decode(data: bytes | str) -> Event:
    """Read one log entry. Raises `ValueError` for a form this version does not know."""
    raw: dict[str, Any] = orjson.loads(data)
    kind = raw.get("t")
    if kind == "text":
        return TextDelta(raw["d"])
    if kind == "reasoning":
        return ReasoningDelta(raw["d"])
    if kind == "tool_call":
        return ToolCallDelta(raw["i"], raw["d"], raw.get("id"), raw.get("name"))
    if kind == "end":
        usage = raw.get("usage")
        return End(
            status=raw["status"],
            finish_reason=raw.get("finish_reason"),
            code=raw.get("code"),
            message=raw.get("message"),
            usage=Usage(**usage) if usage else None,
            queue_ms=raw.get("queue_ms", 0),
            run_ms=raw.get("run_ms", 0),
        )
    raise ValueError(f"unknown event type {kind!r}")
