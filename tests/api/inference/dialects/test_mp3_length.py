"""The length of MP3 files by their frames, and files in which decoders may find others."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from api.inference.dialects.mp3_length import LEAST_FRAMES, MAX_OTHER_BYTES, MAX_TAG_BYTES, mp3_ms
from tests.support.recordings import MP3_FRAME, SLOW_MP3_FRAME, mp3, riff, tag, wav

CLIPS = Path(__file__).parents[3] / "backends" / "whisper" / "clips"
HOUR_MS = 3_600_000
FRAMES = MP3_FRAME * 40
FRAMES_MS = 1044
SMALL = b"\xff\xf3\x14\x00" + bytes(20)
"""A frame of 24 ms in 24 bytes, the most for a byte."""

LAYER_2 = b"\xff\xf5\x14\x00" + bytes(44)
FREE = b"\xff\xe3\x08\x00" + bytes(12)
ID3V1 = b"TAG" + bytes(125)
APE = b"APETAGEX" + struct.pack("<III", 2000, 40, 0) + bytes(40)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (FRAMES, FRAMES_MS),
        (tag(bytes(500)) + FRAMES, FRAMES_MS),
        (tag(bytes(500)) + bytes(10) + FRAMES, FRAMES_MS),
        (tag(bytes(MAX_TAG_BYTES - 10)) + FRAMES, FRAMES_MS),
        (FRAMES + ID3V1, FRAMES_MS),
        (FRAMES + APE + ID3V1, FRAMES_MS),
        (FRAMES + bytes(MAX_OTHER_BYTES), FRAMES_MS),
        (FRAMES + MP3_FRAME[:100], FRAMES_MS + 27),
        (MP3_FRAME, 26),
        (MP3_FRAME * LEAST_FRAMES + ID3V1, 78),
        (MP3_FRAME * (LEAST_FRAMES - 1) + ID3V1, None),
        (MP3_FRAME[:100], None),
        (FRAMES + bytes(MAX_OTHER_BYTES + 1), None),
        (tag(bytes(MAX_TAG_BYTES)) + FRAMES, None),
        (tag(bytes(500)), None),
        (b"ID3", None),
        (b"", None),
    ],
)
def test_the_length_of_an_mp3_file(data: bytes, expected: int | None) -> None:
    assert mp3_ms(data, HOUR_MS) == expected


@pytest.mark.parametrize(
    "container",
    [(CLIPS / name).read_bytes() for name in ("de-unknown.flac", "de-answers.ogg", "de-commands.m4a")]
    + [wav(), riff(), bytes(1000), b"\0"],
)
def test_another_container_is_refused_when_frames_are_behind_it(container: bytes) -> None:
    for frames in (MP3_FRAME * 2, FRAMES):
        assert mp3_ms(container + frames, HOUR_MS) is None
        assert mp3_ms(tag(bytes(10)) + container.lstrip(b"\0") + b"\1" + frames, HOUR_MS) is None


@pytest.mark.parametrize(
    "header",
    [
        *(b"ID3\xff\xff\0", b"ID3\x04\xff\0", b"ID3\xff\0\0", b"ID3\x01\0\0", b"ID3\x05\0\0"),
        *(b"ID3\x04\0\x01", b"ID3\x04\0\x10", b"id3\x04\0\0"),
    ],
)
def test_a_tag_that_decoders_read_differently_is_refused(header: bytes) -> None:
    assert mp3_ms(header + tag(MP3_FRAME * 10)[6:] + FRAMES, HOUR_MS) is None
    assert mp3_ms(header + tag(bytes(10))[6:] + FRAMES, HOUR_MS) is None


@pytest.mark.parametrize("before", [b"", tag(bytes(10)), tag(bytes(10)) + bytes(4)])
def test_a_frame_that_is_an_atom_of_mp4_is_refused(before: bytes) -> None:
    atom = (MP3_FRAME[:4] + b"moov").ljust(len(MP3_FRAME), b"\0")
    assert mp3_ms(before + atom + FRAMES, HOUR_MS) is None
    assert mp3_ms(before + FRAMES + atom, HOUR_MS) is not None


@pytest.mark.parametrize("zeros", [1, 2, 3])
def test_zeros_that_may_be_the_size_of_an_atom_are_refused(zeros: int) -> None:
    assert mp3_ms(tag(bytes(10)) + bytes(zeros) + FRAMES, HOUR_MS) is None


def test_a_second_tag_and_a_size_that_is_none_are_refused() -> None:
    assert mp3_ms(tag(bytes(10)) + tag(bytes(10)) + FRAMES, HOUR_MS) is None
    assert mp3_ms(b"ID3\x04\0\0\0\0\0\x8a" + bytes(10) + FRAMES, HOUR_MS) is None


@pytest.mark.parametrize("frame", [MP3_FRAME, SMALL, SLOW_MP3_FRAME, LAYER_2, FREE])
def test_frames_that_a_search_may_find_are_refused(frame: bytes) -> None:
    """In a tag, behind the frames, and in the last frame, which a decoder searches without one behind it."""
    large = b"\xff\xfb\xe8\x00" + bytes(1436)
    hiding = large[:4] + (bytes(5) + frame * 60)[:1436]
    for data in (
        tag(bytes(5) + frame * 3) + FRAMES,
        tag(frame * 3) + FRAMES,
        FRAMES + bytes(5) + frame * 3,
        large * 20 + hiding,
        hiding * 4 + ID3V1,
    ):
        assert mp3_ms(data, HOUR_MS) is None
    assert mp3_ms(large * 20, HOUR_MS) == 720


def test_frames_behind_a_gap_or_of_another_rate_are_refused() -> None:
    assert mp3_ms(FRAMES + bytes(1) + FRAMES, HOUR_MS) is None
    assert mp3_ms(SLOW_MP3_FRAME * 3 + FRAMES, HOUR_MS) is None


def test_a_picture_in_a_tag_is_accepted() -> None:
    """Pictures contain bytes that look like single headers."""
    picture = b"".join(b"\xff\xfb\x90" + bytes([at, at * 7 % 256]) * 60 for at in range(200))
    assert mp3_ms(tag(picture) + FRAMES, HOUR_MS) == FRAMES_MS
    assert mp3_ms(tag("text".encode("utf-16")) + FRAMES, HOUR_MS) == FRAMES_MS


@pytest.mark.parametrize(("at", "header"), [(36, b"\xff\xfb\x90\x04"), (21, b"\xff\xfb\x90\xc4")])
def test_frames_that_the_first_one_states_are_counted(at: int, header: bytes) -> None:
    """Some decoders reserve memory for as many."""

    def stating(count: int) -> bytes:
        first = header + bytes(at - 4) + b"Info" + struct.pack(">II", 1, count)
        return first.ljust(len(MP3_FRAME), b"\0") + MP3_FRAME * 39

    assert mp3_ms(stating(39), HOUR_MS) == FRAMES_MS
    assert mp3_ms(stating(400), HOUR_MS) == FRAMES_MS * 10 + 8
    found = mp3_ms(stating(0xFFFFFFFF), HOUR_MS)
    assert found is not None
    assert found > HOUR_MS


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
