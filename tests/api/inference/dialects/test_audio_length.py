"""The length of WAV and MP3 files by their headers, and files that decoders may read in two ways."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from api.inference.dialects.audio_length import MAX_CHUNKS, MAX_OTHER_BYTES, MAX_TAG_BYTES, mp3_ms, wav_ms
from tests.support.recordings import MP3_FRAME, chunk, mp3, wav, wav_of

CLIPS = Path(__file__).parents[3] / "backends" / "whisper" / "clips"
HOUR_MS = 3_600_000
FRAMES_MS = 1044
"""Of 40 frames."""


def riff(*chunks: bytes) -> bytes:
    content = b"WAVE" + b"".join(chunks)
    return b"RIFF" + struct.pack("<I", len(content)) + content


def tag(size: int) -> bytes:
    """An ID3v2 tag with so many bytes behind its header."""
    sizes = bytes(size >> shift & 0x7F for shift in (21, 14, 7, 0))
    return b"ID3\x04\0\0" + sizes + bytes(size)


FORMAT = wav()[12:36]
EXTENSIBLE = chunk(b"fmt ", struct.pack("<HHIIHHHHIH14x", 0xFFFE, 1, 16_000, 32_000, 2, 16, 22, 16, 4, 1))
SAMPLES = chunk(b"data", bytes(3200))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (wav(1.5), 1500),
        (wav_of(bytes(2)), 1),
        (riff(chunk(b"LIST", b"abc"), FORMAT, chunk(b"fact", bytes(4)), SAMPLES), 100),
        (riff(EXTENSIBLE, SAMPLES), 100),
        (riff(FORMAT, SAMPLES, chunk(b"id3 ", bytes(300))), 100),
        (wav_of(bytes(3200), size=0xFFFFFFFF), 100),
        (wav_of(bytes(3200), size=0x7FFFF000), 100),
        (riff(SAMPLES, FORMAT), None),
        (riff(FORMAT), None),
        (riff(SAMPLES), None),
        (riff(FORMAT, FORMAT, SAMPLES), None),
        (riff(FORMAT, SAMPLES, SAMPLES), None),
        (riff(chunk(b"fmt ", bytes(3)), SAMPLES)[:24], None),
        (riff(*[chunk(b"LIST", b"")] * MAX_CHUNKS, FORMAT, SAMPLES), None),
        (b"RIFX" + wav()[4:], None),
        (b"", None),
    ],
)
def test_the_length_of_a_wav_file(data: bytes, expected: int | None) -> None:
    assert wav_ms(data) == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (MP3_FRAME * 40, FRAMES_MS),
        (tag(500) + MP3_FRAME * 40, FRAMES_MS),
        (tag(MAX_TAG_BYTES - 10) + MP3_FRAME * 40, FRAMES_MS),
        (MP3_FRAME * 40 + b"TAG" + bytes(125), FRAMES_MS),
        (MP3_FRAME * 20 + bytes(1000) + MP3_FRAME * 20, FRAMES_MS),
        (MP3_FRAME * 40 + MP3_FRAME[:100], FRAMES_MS + 27),
        (MP3_FRAME * 40 + bytes(MAX_OTHER_BYTES + 10), None),
        (MP3_FRAME * 20 + bytes(MAX_OTHER_BYTES) + b"\0" + MP3_FRAME * 20, None),
        (tag(MAX_TAG_BYTES) + MP3_FRAME * 40, None),
        (tag(500), None),
        (b"ID3\x04\0\0\xff\xff\xff\xff" + MP3_FRAME, 26),
        (b"ID3", None),
        (b"", None),
    ],
)
def test_the_length_of_an_mp3_file(data: bytes, expected: int | None) -> None:
    assert mp3_ms(data, HOUR_MS) == expected


@pytest.mark.parametrize(
    ("header", "frame_bytes", "frame_ms"),
    [(b"\xff\xfb\x90\x00", 417, 26), (b"\xff\xf3\x40\x00", 104, 26), (b"\xff\xe3\x48\x00", 288, 72)],
)
def test_frames_of_each_version_are_counted(header: bytes, frame_bytes: int, frame_ms: int) -> None:
    """MPEG-1 with 44,100 samples a second, MPEG-2 with 22,050, MPEG-2.5 with 8,000."""
    found = mp3_ms((header + bytes(frame_bytes - 4)) * 100, HOUR_MS)
    assert found is not None
    assert frame_ms * 100 <= found <= frame_ms * 100 + 100


def test_the_count_ends_when_a_file_is_too_long() -> None:
    found = mp3_ms(mp3(600), 10_000)
    assert found is not None
    assert 10_000 < found < 10_100


@pytest.mark.parametrize("name", ["en-digits.mp3", "de-digits.mp3"])
def test_recordings_of_people_have_the_length_that_their_encoder_states(name: str) -> None:
    data = (CLIPS / name).read_bytes()
    at = max(data.find(b"Xing"), data.find(b"Info"))
    (frames,) = struct.unpack_from(">I", data, at + 8)
    found = mp3_ms(data, HOUR_MS)
    assert found is not None
    assert (frames - 1) * 24 <= found <= (frames + 1) * 72
