"""The recordings of a request: audio in base64, checked before any engine decodes it.

Nothing is fetched. Only the base64 is decoded, and the headers of the file are read for its length
(`wav_length`, `mp3_length`). The limits protect the engines: a small file can decode to hours of samples, in
a process that serves many requests.
"""

from __future__ import annotations

from typing import Any

from api.http.errors import InvalidRequest
from api.inference.dialects.base64_data import decode_base64
from api.inference.dialects.mp3_length import mp3_ms
from api.inference.dialects.wav_length import wav_ms
from generation.generation import MAX_AUDIO_S, AudioFormat, AudioPart

MAX_RECORDINGS = 32
MAX_AUDIO_BYTES = 25 << 20
"""The limit for the files of a request together; `api.max_body_bytes` may be lower."""


class Recordings:
    """The recordings of one request, counted as they are read; `params` are their paths in the body."""

    __slots__ = ("_bytes", "_ms", "params")

    def __init__(self) -> None:
        self.params: list[str] = []
        self._bytes = self._ms = 0

    def add(self, part: dict[str, Any], param: str) -> AudioPart:
        """Read an `input_audio` part; `param` is its path (`input[0].content[1]`).

        Raises `InvalidRequest`.
        """
        given = part["input_audio"]
        data_param = f"{param}.input_audio.data"
        try:
            data, plain = decode_base64(given["data"])
        except ValueError:
            raise _invalid("the recording is not valid base64", data_param) from None
        format: AudioFormat = given["format"]
        audio_ms = wav_ms(data) if format == "wav" else mp3_ms(data, MAX_AUDIO_S * 1000)
        if audio_ms is None:
            raise _invalid(
                f"the recording is not a {format.upper()} file, or its header contradicts its content",
                data_param,
            )
        self._bytes += len(data)
        return self.add_checked(AudioPart(plain, format, audio_ms), param)

    def add_checked(self, recording: AudioPart, param: str) -> AudioPart:
        """Count a recording that was read before, and stands at `param`. Raises `InvalidRequest`."""
        self.params.append(param)
        self._ms += recording.audio_ms
        if len(self.params) > MAX_RECORDINGS:
            message = f"a request may contain at most {MAX_RECORDINGS} recordings"
            raise InvalidRequest(message, code="unsupported_input", param=param)
        if self._bytes > MAX_AUDIO_BYTES:
            message = f"the recordings of a request may have at most {MAX_AUDIO_BYTES >> 20} MiB together"
            raise InvalidRequest(message, code="unsupported_input", param=param)
        if self._ms > MAX_AUDIO_S * 1000:
            message = f"the recordings of a request may have at most {MAX_AUDIO_S} seconds together"
            raise InvalidRequest(message, code="audio_too_long", param=param)
        return recording


def _invalid(message: str, param: str) -> InvalidRequest:
    return InvalidRequest(message, code="invalid_audio", param=param)
