"""The events of a response, independent of the API dialect that renders them.

A log is a sequence of deltas (`TextDelta`, `ScoredTextDelta`, `ReasoningDelta`, `ToolCallDelta`,
`VectorDelta`, `TokensDelta`, those of `streams.media_events`, and `PromptProgress` before all output), and
then exactly one `End`.
Entries are numbered from 1. A dialect renders the same log to the same frames every time.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import orjson

from generation.media import UNITS_PER_SECOND, pixel_units
from streams.media_events import AudioFacts, MediaDelta, SegmentDelta, WorkProgress, read_media_event

MERGED_CHARS = 8192
"""Adjacent pieces of text are merged up to this length, so that slow clients read a log in small pages."""

TEXT_PREFIX = b'{"t":"text","d":'
"""The beginning of an encoded `TextDelta`, and of no other event. The text and a closing brace follow."""

_TEXT_START = len(TEXT_PREFIX)

TERMINAL_STATUSES = ("completed", "incomplete", "failed", "cancelled")


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer's text."""

    text: str

    def encode(self) -> bytes:
        """Return the JSON form that the log stores."""
        return TEXT_PREFIX + orjson.dumps(self.text) + b"}"


LEAST_LOGPROB = -9999.0
"""The log probability of an impossible token, as in OpenAI's API: JSON has no infinities."""


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """A token of the answer with its natural log probability, and the likeliest tokens in its place.

    `token` is its text; `data` its bytes where they are no whole text (UTF-8), else None. The tokens in `top`
    have no `top` of their own. `id` is its number in the vocabulary, if the request asks for it
    (`Sampling.token_ids`).
    """

    token: str
    logprob: float
    data: bytes | None = None
    top: tuple[TokenLogprob, ...] = ()
    id: int | None = None

    @property
    def bytes(self) -> list[int]:
        """The token's bytes, as numbers."""
        return list(self.token.encode() if self.data is None else self.data)

    def to_json(self) -> list[Any]:
        """The JSON form: token, log probability, bytes or null, and the alternatives and the id if known."""
        logprob = self.logprob if self.logprob > LEAST_LOGPROB else LEAST_LOGPROB  # also for a NaN
        form: list[Any] = [self.token, logprob, None if self.data is None else list(self.data)]
        if self.id is not None:
            return [*form, [token.to_json() for token in self.top], self.id]
        return [*form, [token.to_json() for token in self.top]] if self.top else form

    @classmethod
    def from_json(cls, raw: list[Any]) -> TokenLogprob:
        """Read the JSON form."""
        token, logprob, data, *more = raw
        alternatives = tuple(cls.from_json(entry) for entry in more[0]) if more else ()
        logprob = LEAST_LOGPROB if logprob is None else logprob  # orjson writes infinities as null
        id = more[1] if len(more) > 1 else None
        return cls(token, logprob, None if data is None else bytes(data), alternatives, id)


@dataclass(frozen=True, slots=True)
class ScoredTextDelta:
    """A piece of the answer's text with the log probabilities of its tokens (`Sampling.top_logprobs`).

    The texts of the tokens need not be `text`: an engine may hold back the beginning of a stop sequence, and
    a character may have several tokens.
    """

    text: str
    tokens: tuple[TokenLogprob, ...]

    def encode(self) -> bytes:
        """Return the JSON form that the log stores."""
        return orjson.dumps({"t": "scored", "d": self.text, "p": [token.to_json() for token in self.tokens]})


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A piece of the model's reasoning, which precedes the answer."""

    text: str

    def encode(self) -> bytes:
        """Return the JSON form that the log stores."""
        return orjson.dumps({"t": "reasoning", "d": self.text})


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A piece of tool call `index`: the first piece has `id` and `name`, each has a piece of `arguments`."""

    index: int
    arguments: str = ""
    id: str | None = None
    name: str | None = None

    def encode(self) -> bytes:
        """Return the JSON form that the log stores."""
        return orjson.dumps(
            {"t": "tool_call", "i": self.index, "d": self.arguments, "id": self.id, "name": self.name}
        )


@dataclass(frozen=True, slots=True)
class VectorDelta:
    """The vector of input `index` (`Generation.embedding`): the base64 of its float32 numbers, little-endian.

    A log of vectors is large, so the numbers are decoded when they are needed only.
    """

    index: int
    base64: bytes

    @classmethod
    def of(cls, index: int, data: bytes) -> VectorDelta:
        """The vector with these numbers (float32, little-endian)."""
        return cls(index, base64.b64encode(data))

    @property
    def numbers(self) -> tuple[float, ...]:
        """The numbers."""
        data = base64.b64decode(self.base64)
        return struct.unpack(f"<{len(data) // 4}f", data)

    def encode(self) -> bytes:
        """Return the JSON form that the log stores."""
        return b'%b%d,"d":"%b"}' % (VECTOR_PREFIX, self.index, self.base64)


@dataclass(frozen=True, slots=True)
class TokensDelta:
    """Tokens of a text (`Generation.text_task`): items of a JSON list, with the commas between them.

    An item is a number, or `{"id", "piece"}`, whose piece is the token's text, or its bytes as numbers where
    they are no whole text. A log of tokens is large, so the items are not parsed.
    """

    items: bytes

    def encode(self) -> bytes:
        """Return the JSON form that the log stores."""
        return b"%b%b]}" % (TOKENS_PREFIX, self.items)


@dataclass(frozen=True, slots=True)
class PromptProgress:
    """How much of a prompt the engine has read, in tokens, before the first output; no output itself.

    `processed` of `total` tokens are read, of which `cached` were in the engine's cache; `time_ms` since it
    began. Only a request that asks for it (`Generation.reports_progress`) has such events; a job that runs
    again begins again.
    """

    total: int
    cached: int
    processed: int
    time_ms: int

    def encode(self) -> bytes:
        """Return the JSON form that the log stores."""
        numbers = self.total, self.cached, self.processed, self.time_ms
        return b'%b,"n":[%d,%d,%d,%d]}' % (PROGRESS_PREFIX, *numbers)


@dataclass(frozen=True, slots=True)
class Usage:
    """What the engine counted. `cached_tokens` is the part of the input that was not computed again.

    A model of audio or images counts no tokens: `audio_ms` is the length of the audio that was read or
    made, `images` the images, `pixel_steps` the pixels that were computed (width x height x steps).
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    audio_ms: int = 0
    images: int = 0
    pixel_steps: int = 0

    @property
    def total_tokens(self) -> int:
        """The sum of input and output tokens."""
        return self.input_tokens + self.output_tokens

    @property
    def units(self) -> int:
        """What counts for limits and fair share: tokens, or the units of `generation.media`."""
        if self.pixel_steps:
            return pixel_units(self.pixel_steps)
        return self.total_tokens + self.audio_ms * UNITS_PER_SECOND // 1000

    def work(self, cached_weight: float) -> int:
        """What counts for fair share: the same, but a token that was not computed again counts less.

        Servers may report more cached tokens than the prompt has.
        """
        cached = min(self.cached_tokens, self.input_tokens)
        return self.units - int(cached * (1 - cached_weight))

    def encode(self) -> bytes:
        """Return the JSON form that an `End` stores, without counts of audio and images that are all 0."""
        tokens = self.input_tokens, self.output_tokens, self.cached_tokens, self.reasoning_tokens
        form = b'{"input_tokens":%d,"output_tokens":%d,"cached_tokens":%d,"reasoning_tokens":%d' % tokens
        if self.audio_ms or self.images or self.pixel_steps:
            media = self.audio_ms, self.images, self.pixel_steps
            form += b',"audio_ms":%d,"images":%d,"pixel_steps":%d' % media
        return form + b"}"


@dataclass(frozen=True, slots=True)
class End:
    """The terminal event.

    `status` is one of TERMINAL_STATUSES. `finish_reason` (stop, length, tool_calls, content_filter) is the
    reason why a completed or incomplete generation ended, `stop_sequence` the text of `Sampling.stop` that
    ended it; `code` and `message` explain a failed or cancelled one. `queue_ms` and `run_ms` are measured
    with Redis' clock; `first_ms` is the part of `run_ms` before the first output, by the worker's clock (None
    if it is not known).
    """

    status: str
    finish_reason: str | None = None
    code: str | None = None
    message: str | None = None
    usage: Usage | None = None
    queue_ms: int = 0
    run_ms: int = 0
    stop_sequence: str | None = None
    first_ms: int | None = None


Delta = (
    TextDelta
    | ScoredTextDelta
    | ReasoningDelta
    | ToolCallDelta
    | VectorDelta
    | TokensDelta
    | PromptProgress
    | WorkProgress
    | AudioFacts
    | SegmentDelta
    | MediaDelta
)
Event = Delta | End


VECTOR_PREFIX = b'{"t":"vector","i":'
"""The beginning of an encoded `VectorDelta`, and of no other event."""

TOKENS_PREFIX = b'{"t":"tokens","d":['
"""The beginning of an encoded `TokensDelta`, and of no other event."""


PROGRESS_PREFIX = b'{"t":"progress"'
"""The beginning of an encoded `PromptProgress` (scheduler/lua/include/log.lua), and of no other event."""

END_PREFIX = b'{"t":"end"'
"""The beginning of an encoded `End` (scheduler/lua/include/finish_job.lua), and of no other event."""


def text_of(data: bytes) -> str | None:
    """The text of an encoded `TextDelta`; None for any other event. Faster than `decode`."""
    return orjson.loads(data[_TEXT_START:-1]) if data.startswith(TEXT_PREFIX) else None


def is_end(data: bytes) -> bool:
    """Whether an encoded event is the terminal one."""
    return data.startswith(END_PREFIX)


def merge_pieces(deltas: Sequence[Delta]) -> Iterator[Delta]:
    """The same deltas with adjacent pieces of text, or of reasoning, merged into pieces of MERGED_CHARS."""
    if len(deltas) == 1:
        yield deltas[0]
        return
    for kind, group in groupby(deltas, key=type):
        if kind is TextDelta or kind is ReasoningDelta:
            yield from merge_texts(kind, [delta.text for delta in group])  # type: ignore[union-attr]
        else:
            yield from group


def merge_texts(kind: type[TextDelta] | type[ReasoningDelta], pieces: Sequence[str]) -> Iterator[Delta]:
    """Pieces of text, or of reasoning, as deltas of MERGED_CHARS."""
    text = "".join(pieces)
    if len(text) <= MERGED_CHARS:
        yield kind(text)
        return
    merged: list[str] = []
    size = 0
    for piece in pieces:
        merged.append(piece)
        size += len(piece)
        if size >= MERGED_CHARS:
            yield kind("".join(merged))
            merged, size = [], 0
    if merged:
        yield kind("".join(merged))


def decode_all(entries: Sequence[bytes]) -> list[Event]:
    """Decode the entries of a log, in order. Adjacent pieces of text become one event, as of reasoning."""
    if entries and entries[0].startswith((VECTOR_PREFIX, TOKENS_PREFIX)):  # such a log has no text
        return [decode(entry) for entry in entries]
    events: list[Event] = []
    pieces: list[str] = []
    previous = ""
    for raw in orjson.loads(b"[%b]" % b",".join(entries)):
        kind = raw["t"]
        if kind != previous and pieces:
            events.append(_joined(previous, pieces))
            pieces = []
        previous = kind
        if kind in ("text", "reasoning"):
            pieces.append(raw["d"])
        else:
            events.append(_from_json(raw))
    if pieces:
        events.append(_joined(previous, pieces))
    return events


def _joined(kind: str, pieces: list[str]) -> Event:
    text = "".join(pieces)
    return TextDelta(text) if kind == "text" else ReasoningDelta(text)


def decode(data: bytes | str) -> Event:
    """Decode one log entry. Raises `ValueError` for an event type that this version does not know."""
    if isinstance(data, bytes) and data.startswith(VECTOR_PREFIX):
        index_end = data.index(b",", len(VECTOR_PREFIX))
        return VectorDelta(int(data[len(VECTOR_PREFIX) : index_end]), data[index_end + 6 : -2])
    if isinstance(data, bytes) and data.startswith(TOKENS_PREFIX):
        return TokensDelta(data[len(TOKENS_PREFIX) : -2])
    return _from_json(orjson.loads(data))


def _from_json(raw: dict[str, Any]) -> Event:
    read = _READERS.get(raw.get("t", ""))
    return read_media_event(raw) if read is None else read(raw)


def _end(raw: dict[str, Any]) -> End:
    usage = raw.get("usage")
    return End(
        status=raw["status"],
        finish_reason=raw.get("finish_reason"),
        code=raw.get("code"),
        message=raw.get("message"),
        usage=Usage(**usage) if usage else None,
        queue_ms=raw.get("queue_ms", 0),
        run_ms=raw.get("run_ms", 0),
        stop_sequence=raw.get("stop_sequence"),
        first_ms=raw.get("first_ms"),
    )


_READERS: Mapping[str, Callable[[dict[str, Any]], Event]] = {
    "text": lambda raw: TextDelta(raw["d"]),
    "reasoning": lambda raw: ReasoningDelta(raw["d"]),
    "scored": lambda raw: ScoredTextDelta(raw["d"], tuple(map(TokenLogprob.from_json, raw["p"]))),
    "tool_call": lambda raw: ToolCallDelta(raw["i"], raw["d"], raw.get("id"), raw.get("name")),
    "vector": lambda raw: VectorDelta(raw["i"], raw["d"].encode()),
    "progress": lambda raw: PromptProgress(*raw["n"]),
    "end": _end,
}
