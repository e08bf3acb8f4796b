"""The events of a response with audio or images (`generation.media`)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import orjson

MEDIA_PREFIX = b'{"t":"media"'
"""The beginning of an encoded `MediaDelta`, and of no other event."""

WORK_PREFIX = b'{"t":"work"'
"""The beginning of an encoded `WorkProgress`, and of no other event."""


@dataclass(frozen=True, slots=True)
class WorkProgress:
    """How much of the work is done, `done` of `total`; no output itself.

    For a recording these are milliseconds of it, for images steps of the model. An engine reports it at most
    twice a second.
    """

    done: int
    total: int

    def encode(self) -> bytes:
        """Return the JSON form that the log stores."""
        return b'%b,"n":[%d,%d]}' % (WORK_PREFIX, self.done, self.total)


@dataclass(frozen=True, slots=True)
class AudioFacts:
    """The language of a recording (ISO 639-1) and its length, before its first segment."""

    language: str
    duration_ms: int

    def encode(self) -> bytes:
        """Return the JSON form that the log stores."""
        return orjson.dumps({"t": "audio", "l": self.language, "ms": self.duration_ms})


@dataclass(frozen=True, slots=True)
class Word:
    """A word with its begin and end (seconds of the recording)."""

    word: str
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class SegmentDelta:
    """A piece of a transcription, with its begin and end (seconds), and how sure the model is of it.

    `text` begins with the space that parts it from the one before; the numbers are Whisper's own
    (openai/whisper, transcribe.py).
    """

    start: float
    end: float
    text: str
    tokens: tuple[int, ...] = ()
    temperature: float = 0.0
    avg_logprob: float = 0.0
    compression_ratio: float = 0.0
    no_speech_prob: float = 0.0
    seek: int = 0
    words: tuple[Word, ...] = ()

    def encode(self) -> bytes:
        """Return the JSON form that the log stores."""
        return orjson.dumps({"t": "segment", **asdict(self)})

    @classmethod
    def from_json(cls, raw: dict[str, Any]) -> SegmentDelta:
        """Read the JSON form, with or without the type of the event."""
        values = {name: value for name, value in raw.items() if name != "t"}
        words = tuple(Word(**word) for word in values.pop("words", ()))
        return cls(**{**values, "tokens": tuple(values.get("tokens", ())), "words": words})


@dataclass(frozen=True, slots=True)
class MediaDelta:
    """A result that lies in the job's folder: the file `name` of `size` bytes and this media type.

    `index` counts the results of a request, from 0. An image has a `width` and a `height`. With `preview`
    (its number, from 0) the image is not finished. With `cached` the engine had it from before. A recording
    that is still being written is `size` bytes long so far.
    """

    index: int
    name: str
    type: str
    size: int
    width: int = 0
    height: int = 0
    preview: int | None = None
    cached: bool = False

    def encode(self) -> bytes:
        """Return the JSON form that the log stores."""
        return orjson.dumps({"t": "media", **asdict(self)})

    @classmethod
    def from_json(cls, raw: dict[str, Any]) -> MediaDelta:
        """Read the JSON form, with or without the type of the event."""
        return cls(**{name: value for name, value in raw.items() if name != "t"})


MediaEvent = WorkProgress | AudioFacts | SegmentDelta | MediaDelta


def read_media_event(raw: dict[str, Any]) -> MediaEvent:
    """Read the JSON form of an event of this module. Raises `ValueError` for any other one."""
    kind = raw.get("t")
    if kind == "segment":
        return SegmentDelta.from_json(raw)
    if kind == "work":
        return WorkProgress(*raw["n"])
    if kind == "audio":
        return AudioFacts(raw["l"], raw["ms"])
    if kind == "media":
        return MediaDelta.from_json(raw)
    raise ValueError(f"unknown event type {kind!r}")
