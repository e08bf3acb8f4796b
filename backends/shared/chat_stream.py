"""From a streamed answer of /v1/chat/completions to deltas: its events, and what their chunks mean.

Servers differ: thoughts are `reasoning_content` (llama-server, SGLang, DeepSeek, Stoker), `reasoning` (vLLM,
OpenRouter) or parts of the content (Mistral), and usage comes with the last chunk, with all of them, or not
at all; some say nothing of choices beside it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import orjson

from backends.base import Emit, GenerationError
from streams.events import Delta, ReasoningDelta, TextDelta, ToolCallDelta, Usage

REASONS = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "content_filter": "content_filter",
}
FAILURES = ("error", "abort")
"""What is no end of an answer but of the attempt: OpenRouter's, vLLM's and SGLang's."""

HIGH, LOW = rb"\\u[dD][89abAB][0-9a-fA-F]{2}", rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
PAIR_OR_HALF = re.compile(rb"(%b%b)|%b|%b" % (HIGH, LOW, HIGH, LOW))
"""The two escapes of a letter beyond 16 bits, or one of them without the other."""

LONGEST_LINE = 16 * 1024 * 1024
MOST_TOKENS = 2**31 - 1
MOST_CALLS = 10_000


def events(reads: Iterable[bytes]) -> Iterator[bytes]:
    """The data of each event in a body that comes in pieces cut anywhere.

    These servers put a whole event on one `data:` line (old llama-servers: an error on an `error:` line);
    names, ids and comments are of no use here. Raises `GenerationError` for a line without end.
    """
    begun: list[bytes] = []
    for data in reads:
        begun.append(data)
        if b"\n" in data:
            *lines, rest = b"".join(begun).split(b"\n")
            begun = [rest]
            for line in lines:
                if line.startswith((b"data:", b"error:")):
                    yield line.partition(b":")[2].strip()
        elif sum(map(len, begun)) > LONGEST_LINE:
            raise unreadable()


def parsed(data: bytes) -> Any:
    """The JSON of an event. Proxies that cut text by 16 bits may halve a letter: then it stands for none.

    Raises `ValueError` for what is no JSON.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return orjson.loads(PAIR_OR_HALF.sub(lambda found: found[1] or rb"\ufffd", data))


def unreadable() -> GenerationError:
    """The error for an answer that is none."""
    return GenerationError("engine_error", "the engine said what cannot be read")


def failed(_error: Any) -> GenerationError:
    """The error for one that the engine tells in the middle of its answer."""
    return GenerationError("engine_error", "the engine failed while it answered")


def text(value: Any) -> str:
    """A piece of text, "" where there is none. Raises `TypeError` for anything else."""
    if value is not None and not isinstance(value, str):
        raise TypeError(value)
    return value or ""


def count(usage: Mapping[str, Any] | None, name: str) -> int | None:
    """A number of tokens, if there is one."""
    value = (usage or {}).get(name)
    return min(value, MOST_TOKENS) if type(value) is int and value >= 0 else None


class ChatStream:
    """One answer as it comes: emits its deltas, remembers how it ended and what it used.

    `failure` reads an error that the server tells in the middle of its answer.
    """

    def __init__(self, emit: Emit, failure: Callable[[Any], GenerationError] = failed) -> None:
        self.reason: str | None = None
        self.done = False
        """Whether nothing more is to come."""
        self._emit = emit
        self._failure = failure
        self._input = 0
        self._cached = 0
        self._output: int | None = None
        self._pieces = 0
        self._reasoning = 0
        self._calls: dict[tuple[int, str], int] = {}
        self._latest: dict[int, int] = {}

    @property
    def usage(self) -> Usage:
        """What the engine counted; before it has (a cancelled answer), what was seen of it."""
        output = self._pieces if self._output is None else self._output
        return Usage(self._input, output, self._cached, self._reasoning)

    def take(self, data: bytes) -> None:
        """Take one event's data. Raises `GenerationError` when it is an error or cannot be read."""
        if data == b"[DONE]":
            self.done = True
            return
        try:
            chunk = parsed(data)
            error = chunk.get("error")
            deltas = [] if error else self._read(chunk)
        except (ValueError, LookupError, TypeError, AttributeError) as unread:
            raise unreadable() from unread
        if error:
            raise self._failure(error)
        for delta in deltas:
            self._emit(delta)

    def _read(self, chunk: dict[str, Any]) -> list[Delta]:
        self._count(chunk)
        deltas: list[Delta] = []
        choices = chunk.get("choices") if chunk.get("usage") else chunk["choices"]
        for choice in choices or ():
            self._choice(choice.get("delta") or {}, deltas)
            if reason := choice.get("finish_reason"):
                if reason in FAILURES:
                    raise self._failure({"message": f"finish_reason is {reason}"})
                self.reason = REASONS.get(reason, "stop")
        self._pieces += len(deltas)
        return deltas

    def _choice(self, delta: dict[str, Any], deltas: list[Delta]) -> None:
        if thought := text(delta.get("reasoning_content") or delta.get("reasoning")):
            self._reasoning += 1
            deltas.append(ReasoningDelta(thought))
        content = delta.get("content")
        if isinstance(content, list):
            self._parts(content, deltas)
        elif said := text(content) or text(delta.get("refusal")):
            deltas.append(TextDelta(said))
        for call in delta.get("tool_calls") or ():
            function = call.get("function") or {}
            id, name = text(call.get("id")) or None, text(function.get("name")) or None
            deltas.append(ToolCallDelta(self._index(call, id), text(function.get("arguments")), id, name))

    def _parts(self, content: list[dict[str, Any]], deltas: list[Delta]) -> None:
        """Mistral's content where its model thinks: thoughts and text; for references there is no place."""
        for part in content:
            if part["type"] == "thinking":
                if thought := "".join(text(piece.get("text")) for piece in part["thinking"]):
                    self._reasoning += 1
                    deltas.append(ReasoningDelta(thought))
            elif part["type"] == "text" and (said := text(part["text"])):
                deltas.append(TextDelta(said))

    def _index(self, call: dict[str, Any], id: str | None) -> int:
        """The call's number. Some servers give several calls the same one; their ids tell them apart."""
        told = call.get("index") or 0
        if type(told) is not int or not 0 <= told <= MOST_CALLS:
            raise TypeError(told)
        if id is None:
            return self._latest.get(told, told)
        if (told, id) not in self._calls:
            taken = self._calls.values()
            self._calls[told, id] = max(taken) + 1 if told in taken else told
        self._latest[told] = self._calls[told, id]
        return self._latest[told]

    def _count(self, chunk: dict[str, Any]) -> None:
        if progress := chunk.get("prompt_progress"):  # llama-server, long before the usage
            self._input, self._cached = count(progress, "total") or 0, count(progress, "cache") or 0
        if usage := chunk.get("usage"):
            self._input = count(usage, "prompt_tokens") or 0
            self._output = count(usage, "completion_tokens")
            cached = count(usage.get("prompt_tokens_details"), "cached_tokens")
            self._cached = (count(chunk.get("timings"), "cache_n") or 0) if cached is None else cached
            thought = count(usage.get("completion_tokens_details"), "reasoning_tokens")
            self._reasoning = self._reasoning if thought is None else thought
