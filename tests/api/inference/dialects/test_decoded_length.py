"""The length of recordings by their headers, beside the length that FFmpeg decodes (PyAV of `whisper`)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from api.inference.dialects.mp3_length import mp3_ms
from api.inference.dialects.wav_length import wav_ms
from tests.checkpoints.fixtures import python_of
from tests.support.recordings import (
    MP3_FRAME,
    SLOW_MP3_FRAME,
    chunk,
    extensible,
    mp3,
    riff,
    tag,
    wav,
    wav_of,
)

pytestmark = pytest.mark.engines

BACKENDS = Path(__file__).parents[3] / "backends"
CLIPS = BACKENDS / "whisper" / "clips"
HOUR_MS = 3_600_000
FRAME_MS = 72


def decoded_ms(path: Path) -> float:
    """The length that FFmpeg decodes, in milliseconds."""
    command = [python_of("whisper"), "-I", BACKENDS / "sherpa" / "lengths.py", path]
    line = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    return float(line.split()[2]) * 1000


@pytest.mark.parametrize(
    ("data", "counted"),
    [
        *((data, mp3_ms(data, HOUR_MS)) for data in (mp3(3), mp3(3, slow=True))),
        *((data, mp3_ms(data, HOUR_MS)) for data in map(Path.read_bytes, sorted(CLIPS.glob("*.mp3")))),
        *((data, mp3_ms(data, HOUR_MS)) for data in (MP3_FRAME * 99 + b"TAG" + bytes(125),)),
        *((data, wav_ms(data)) for data in map(Path.read_bytes, sorted(CLIPS.glob("*.wav")))),
        *(
            (data, wav_ms(data))
            for data in (
                wav(1.5),
                wav_of(bytes(32_000), size=0xFFFFFFFF),
                wav_of(bytes(32_000), bits=8, block=1, byte_rate=16_000),
                wav_of(bytes(48_000), bits=24, block=3, byte_rate=48_000),
                wav_of(bytes(64_000), kind=3, bits=64, block=8, byte_rate=128_000),
                riff(chunk(b"fmt ", extensible(used_bits=12)), chunk(b"data", bytes(32_000))),
            )
        ),
    ],
)
def test_a_recording_decodes_to_the_length_of_its_headers(
    data: bytes, counted: int | None, tmp_path: Path
) -> None:
    path = tmp_path / "recording"
    path.write_bytes(data)
    assert counted is not None
    assert counted - 2 * FRAME_MS <= decoded_ms(path) <= counted + 1


@pytest.mark.parametrize(
    ("data", "shown_ms"),
    [
        ((CLIPS / "de-unknown.flac").read_bytes() + MP3_FRAME * 2, 52),
        ((CLIPS / "de-commands.m4a").read_bytes() + MP3_FRAME * 2, 52),
        (b"ID3\xff\xff" + tag(SLOW_MP3_FRAME * 50)[5:] + SLOW_MP3_FRAME * 2, 144),
    ],
)
def test_a_file_that_decodes_to_more_than_its_last_frames_is_refused(
    data: bytes, shown_ms: int, tmp_path: Path
) -> None:
    path = tmp_path / "recording"
    path.write_bytes(data)
    assert decoded_ms(path) > 4 * shown_ms
    assert mp3_ms(data, HOUR_MS) is None


@pytest.mark.parametrize(
    "data",
    [
        riff(chunk(b"fmt ", extensible(used_bits=8)), chunk(b"data", bytes(32_000))),
        wav_of(bytes(64_000), kind=6, bits=32, block=4, byte_rate=64_000),
    ],
)
def test_a_wav_file_that_decodes_to_more_than_a_second_is_refused(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "recording"
    path.write_bytes(data)
    assert decoded_ms(path) > 1000
    assert wav_ms(data) is None
