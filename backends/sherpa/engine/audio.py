"""Writes audio into a file while it is made, in one of the formats of OpenAI's API.

Every format has one channel and 24,000 samples a second. Files are written from their beginning to their
end, so that a reader can follow: nothing in front is corrected later, as no length is known before.
"""

from __future__ import annotations

import array
import os
import struct
from fractions import Fraction
from typing import Any, BinaryIO

RATE = 24_000
SAMPLE_BYTES = 2
UNKNOWN = 0xFFFFFFFF
"""The sizes in the header of a wav file whose length is not known."""

TYPES = {
    "mp3": "audio/mpeg",
    "opus": "audio/ogg",
    "aac": "audio/aac",
    "flac": "audio/flac",
    "wav": "audio/wav",
    "pcm": "audio/pcm",
}
"""The media type of each format."""

MUXERS = {"mp3": "mp3", "opus": "ogg", "aac": "adts", "flac": "flac"}
CODECS = {"mp3": "libmp3lame", "opus": "libopus", "aac": "aac", "flac": "flac"}
BIT_RATES = {"mp3": 64_000, "opus": 32_000, "aac": 64_000}
MUXER_OPTIONS = {
    "mp3": {"write_xing": "0", "id3v2_version": "0"},  # both say what is known at the end only
    "opus": {"page_duration": "200000"},  # microseconds; 1 s otherwise
}


def wav_header() -> bytes:
    """The header of a wav file of unknown length (RIFF, PCM of 16 bits)."""
    form = struct.pack("<HHIIHH", 1, 1, RATE, RATE * SAMPLE_BYTES, SAMPLE_BYTES, 8 * SAMPLE_BYTES)
    return b"".join(
        (
            b"RIFF" + struct.pack("<I", UNKNOWN) + b"WAVE",
            b"fmt " + struct.pack("<I", len(form)) + form,
            b"data" + struct.pack("<I", UNKNOWN),
        )
    )


class Output:
    """A file that FFmpeg can only write to, from the beginning to the end; `size` are the bytes so far."""

    def __init__(self, path: str) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        self._file: BinaryIO = os.fdopen(os.open(path, flags, 0o600), "wb", buffering=0)
        self.size = 0
        self.error: OSError | None = None

    def write(self, data: bytes) -> int:
        """Append all of the data. Raises `OSError`, which `error` keeps."""
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            self.error = error
            raise
        self.size += len(data)
        return len(data)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class AudioFile:
    """Audio that is being written. Not thread-safe. Raises `OSError` for a full disk or no folder.

    `samples` is how many of RATE a second it has, `most` their limit, from which on they are left out.
    """

    def __init__(self, av: Any, path: str, format: str, rate: int, most: int) -> None:
        self._av = av
        self._resampler = av.AudioResampler(format="s16", layout="mono", rate=RATE)
        self._rate = rate
        self._most = most
        self._container: Any = None
        self._stream: Any = None
        self._given = 0
        self.samples = 0
        self.output = Output(path)
        try:
            self._open(format)
        except BaseException:
            self.output.close()
            raise

    def _open(self, format: str) -> None:
        if format == "wav":
            self.output.write(wav_header())
        if format not in MUXERS:
            return
        options = {"flush_packets": "1", **MUXER_OPTIONS.get(format, {})}
        self._container = self._av.open(
            self.output, "w", format=MUXERS[format], container_options=options, buffer_size=4096
        )
        self._stream = self._container.add_stream(CODECS[format], rate=RATE, layout="mono")
        if format in BIT_RATES:
            self._stream.bit_rate = BIT_RATES[format]

    @property
    def is_full(self) -> bool:
        """Whether it has reached its limit."""
        return self.samples >= self._most

    @property
    def milliseconds(self) -> int:
        """Its length."""
        return self.samples * 1000 // RATE

    def add(self, numbers: Any) -> None:
        """Append numbers from -1 to 1 at the voice's own rate."""
        data = array.array("f", numbers).tobytes()
        count = len(data) // 4
        if not count:
            return
        frame = self._av.AudioFrame(format="flt", layout="mono", samples=count, align=1)
        frame.planes[0].update(data)
        frame.sample_rate = self._rate
        frame.pts = self._given
        frame.time_base = Fraction(1, self._rate)
        self._given += count
        self._write(self._resampler.resample(frame))

    def _write(self, frames: list[Any]) -> None:
        for frame in frames:
            left = self._most - self.samples
            if left <= 0:
                return
            count = min(left, frame.samples)
            data = bytes(frame.planes[0])[: count * SAMPLE_BYTES]
            if self._container is None:
                self.output.write(data)
            else:
                self._encode(data, count)
            self.samples += count

    def _encode(self, data: bytes, count: int) -> None:
        frame = self._av.AudioFrame(format="s16", layout="mono", samples=count, align=1)
        frame.planes[0].update(data)
        frame.sample_rate = RATE
        frame.pts = self.samples
        self._mux(self._stream.encode(frame))

    def _mux(self, packets: list[Any]) -> None:
        for packet in packets:
            self._container.mux(packet)
            if self.output.error is not None:
                raise self.output.error

    def finish(self) -> None:
        """Write what is left, and close the file."""
        try:
            if self._given:
                self._write(self._resampler.resample(None))
            if self._container is not None:
                self._mux(self._stream.encode(None))
        finally:
            self.close()

    def close(self) -> None:
        """Close the file as it is."""
        container, self._container = self._container, None
        try:
            if container is not None:
                container.close()
        finally:
            self.output.close()
