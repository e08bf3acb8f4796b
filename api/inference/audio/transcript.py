"""A transcript, collected from the events of a response, in each `response_format`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from api.http.answers import TextAnswer
from api.inference.audio.languages import language_name
from api.inference.audio.subtitles import srt, vtt
from streams.events import End, Event
from streams.media_events import AudioFacts, SegmentDelta

JSON_FORMATS = ("json", "verbose_json")
TEXT_FORMATS = ("text", "srt", "vtt")
FORMATS = (*JSON_FORMATS, *TEXT_FORMATS)

PLAIN = "text/plain; charset=utf-8"
WEBVTT = "text/vtt; charset=utf-8"


class Transcript:
    """The segments of a response, its language and the length of its recording (seconds)."""

    def __init__(self, events: Iterable[Event]) -> None:
        self.segments: list[SegmentDelta] = []
        self.language = ""
        self.duration = 0.0
        for event in events:
            if isinstance(event, SegmentDelta):
                self.segments.append(event)
            elif isinstance(event, AudioFacts):
                self.language, self.duration = event.language, event.duration_ms / 1000
            elif isinstance(event, End) and event.usage is not None and event.usage.audio_ms:
                self.duration = event.usage.audio_ms / 1000

    @property
    def text(self) -> str:
        """The words of all segments."""
        return "".join(segment.text for segment in self.segments).strip()

    def answer(self, kind: str, form: str, granularities: list[str]) -> dict[str, Any] | TextAnswer:
        """The answer in a `response_format`; `kind` is transcribe or translate."""
        if form == "text":
            return TextAnswer(f"{self.text}\n", PLAIN)
        if form == "srt":
            return TextAnswer(srt(self.segments), PLAIN)
        if form == "vtt":
            return TextAnswer(vtt(self.segments), WEBVTT)
        usage = {"usage": {"type": "duration", "seconds": self.duration}} if kind == "transcribe" else {}
        if form == "json":
            return {"text": self.text, **usage}
        return {**self._verbose(kind, granularities), **usage}

    def _verbose(self, kind: str, granularities: list[str]) -> dict[str, Any]:
        """The object of verbose_json (OpenAI API reference, "The transcription object (Verbose JSON)")."""
        verbose: dict[str, Any] = {
            "task": kind,
            "language": "english" if kind == "translate" else language_name(self.language),
            "duration": self.duration,
            "text": self.text,
        }
        if "word" in granularities:
            verbose["words"] = [
                {"word": word.word.strip(), "start": word.start, "end": word.end}
                for segment in self.segments
                for word in segment.words
            ]
        if "segment" in granularities or not granularities:
            verbose["segments"] = [_segment(index, one) for index, one in enumerate(self.segments)]
        return verbose


def _segment(index: int, segment: SegmentDelta) -> dict[str, Any]:
    return {
        "id": index,
        "seek": segment.seek,
        "start": segment.start,
        "end": segment.end,
        "text": segment.text,
        "tokens": segment.tokens,
        "temperature": segment.temperature,
        "avg_logprob": segment.avg_logprob,
        "compression_ratio": segment.compression_ratio,
        "no_speech_prob": segment.no_speech_prob,
    }
