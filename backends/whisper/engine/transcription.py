"""Writes down one recording, block by block, as events of `streams.media_events`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from .audio import BLOCK_S, DecodedAudio, Samples
from .decode import RATE
from .errors import WhisperRequestError
from .model import known_languages

np: Any = import_module("numpy")

FRAMES_PER_S = 100
MAX_PROMPT_TOKENS = 223
"""Tokens of the text before that a prompt can have (faster-whisper's max_length // 2 - 1)."""

RESET_TEMPERATURE = 0.5
"""After a window with a higher temperature the next one gets no text before it (faster-whisper's default)."""

Emit = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class TranscriptionOptions:
    """The options of the model that a transcription depends on."""

    beam_size: int
    max_seconds: int
    previous_text: bool
    block_s: int = BLOCK_S


def check_language(model: Any, language: str | None) -> None:
    """Raise `WhisperRequestError` for a language that the model does not have."""
    known = known_languages(model)
    if language is not None and language not in known:
        raise WhisperRequestError(
            "unsupported_parameter", f"language: the model has no {language}, only {', '.join(known)}"
        )


class Transcription:
    """The transcription of one recording. `advance` is called with how many milliseconds of it are done.

    A part without speech is passed over, and a block with none is not given to the model at all, if the
    request `skips_silence`. The language is that of the first block with speech, for all of it.
    It is `announced` with the length of the recording, before all segments.
    """

    def __init__(
        self,
        model: Any,
        request: dict[str, Any],
        options: TranscriptionOptions,
        emit: Emit,
        advance: Callable[[int], None],
    ) -> None:
        self._model = model
        self._request = request
        self._options = options
        self._emit = emit
        self._advance = advance
        self._language: str | None = request["language"]
        self.announced = False
        self._was_given = False  # a block to the model
        self._tokens: list[int] = []  # of the text before
        self._last_s = 0.0  # no segment or word begins before it
        self.decoded = 0  # samples that were given to the model, or passed over

    def run(self, audio: DecodedAudio) -> None:
        """Write down the recording. Raises `WhisperRequestError` and `RequestCancelled`."""
        audio.begin()
        if self._language is not None:
            self._announce(audio)
        for block in audio.blocks(self._options.block_s):
            begin = self.decoded
            self.decoded += len(block)
            for segment in self._segments(block):
                if not self.announced:
                    self._announce(audio)
                event = self._event(segment, begin, max(self.decoded, 1))
                self._emit(event)
                self._advance(min(round(event["end"] * 1000), self.decoded_ms))
            if self._language is not None and not self.announced:
                self._announce(audio)
            self._advance(self.decoded_ms)
        if not self.announced:  # nothing was said, in no language
            known = known_languages(self._model)
            self._language = "en" if "en" in known else known[0]
            self._announce(audio)

    def _announce(self, audio: DecodedAudio) -> None:
        self.announced = True
        self._emit({"t": "audio", "l": self._language, "ms": max(audio.duration_ms, self.decoded_ms)})

    @property
    def decoded_ms(self) -> int:
        """`decoded` in milliseconds."""
        return self.decoded * 1000 // RATE

    def _segments(self, block: Samples) -> Iterator[Any]:
        """The segments of a block, with times from its begin."""
        audio = block.astype(np.float32) / 32768
        chunks = None
        if self._request["skips_silence"]:
            vad = import_module("faster_whisper.vad")
            chunks = vad.get_speech_timestamps(audio)
            if not chunks:
                return
            audio = np.concatenate(vad.collect_chunks(audio, chunks)[0])
        temperature = self._request["temperature"]
        segments, info = self._model.transcribe(
            audio,
            task=self._request["kind"],
            language=self._language,
            beam_size=self._options.beam_size,
            initial_prompt=self._prompt(),
            condition_on_previous_text=self._options.previous_text,
            word_timestamps=self._request["words"],
            **({} if temperature is None else {"temperature": temperature}),
        )
        self._language = info.language
        if chunks is not None:
            restore = import_module("faster_whisper.transcribe").restore_speech_timestamps
            segments = restore(segments, chunks, RATE)
        for segment in segments:
            self._tokens = [*self._tokens, *segment.tokens][-MAX_PROMPT_TOKENS:]
            if segment.temperature is not None and segment.temperature > RESET_TEMPERATURE:
                self._tokens = []
            yield segment

    def _prompt(self) -> str | list[int] | None:
        """The text of the request for the first block with speech, and then what was said before."""
        if not self._was_given:
            self._was_given = True
            return self._request["prompt"] or None
        return self._tokens if self._options.previous_text and self._tokens else None

    def _event(self, segment: Any, begin: int, end: int) -> dict[str, Any]:
        """The segment as a `SegmentDelta`, with times that never go back and lie within the recording."""
        offset, limit = begin / RATE, end / RATE
        start = self._time(segment.start + offset, limit)
        words = []
        for word in segment.words or ():
            at = self._time(word.start + offset, limit)
            words.append({"word": word.word, "start": at, "end": self._time(word.end + offset, limit)})
        return {
            "t": "segment",
            "start": start,
            "end": self._time(segment.end + offset, limit),
            "text": segment.text,
            "tokens": [int(token) for token in segment.tokens],
            "temperature": float(segment.temperature or 0.0),
            "avg_logprob": float(segment.avg_logprob),
            "compression_ratio": float(segment.compression_ratio),
            "no_speech_prob": float(segment.no_speech_prob),
            "seek": int(segment.seek) + begin * FRAMES_PER_S // RATE,
            "words": words,
        }

    def _time(self, time_s: float, limit: float) -> float:
        self._last_s = min(limit, max(self._last_s, float(time_s)))
        return round(self._last_s, 3)
