"""The length of WAV files by their headers, and files that decoders may read in two ways."""

from __future__ import annotations

import struct

import pytest

from api.inference.dialects.wav_length import MAX_CHUNKS, wav_ms
from tests.support.recordings import chunk, extensible, riff, wav, wav_of

FORMAT = wav()[12:36]
SAMPLES = chunk(b"data", bytes(3200))
PLAIN = struct.pack("<HHIIHH", 1, 1, 16_000, 32_000, 2, 16)
ADPCM = struct.pack("<HHIIHHHH", 2, 1, 16_000, 32_000, 2, 16, 2, 1017)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (wav(1.5), 1500),
        (wav_of(bytes(2)), 1),
        (riff(chunk(b"LIST", b"abc"), FORMAT, chunk(b"fact", bytes(4)), SAMPLES), 100),
        (riff(FORMAT, SAMPLES, chunk(b"id3 ", bytes(300))), 100),
        (wav_of(bytes(3200), size=0xFFFFFFFF), 100),
        (wav_of(bytes(3200), bits=8, block=1, byte_rate=16_000), 200),
        (wav_of(bytes(3200), bits=24, block=3, byte_rate=48_000), 67),
        (wav_of(bytes(3200), kind=3, bits=32, block=4, byte_rate=64_000), 50),
        (riff(SAMPLES, FORMAT), None),
        (riff(FORMAT), None),
        (riff(SAMPLES), None),
        (riff(FORMAT, FORMAT, SAMPLES), None),
        (riff(FORMAT, SAMPLES, SAMPLES), None),
        (riff(chunk(b"fmt ", bytes(3)), SAMPLES)[:24], None),
        (riff(*[chunk(b"LIST", b"")] * MAX_CHUNKS, FORMAT, SAMPLES), None),
        (b"", None),
    ],
)
def test_the_length_of_a_wav_file(data: bytes, expected: int | None) -> None:
    assert wav_ms(data) == expected


@pytest.mark.parametrize("size", [3201, 0x7FFFF000, 0xFFFFFFFE])
def test_samples_beyond_the_end_are_refused_unless_their_size_is_unknown(size: int) -> None:
    assert wav_ms(wav_of(bytes(3200), size=size)) is None


@pytest.mark.parametrize("magic", [b"RIFX", b"RF64", b"BW64", b"riff", b"FORM"])
def test_another_container_is_refused_when_its_content_is_that_of_a_wav_file(magic: bytes) -> None:
    assert wav_ms(magic + wav()[4:]) is None


@pytest.mark.parametrize(
    ("format", "expected"),
    [
        (extensible(), 100),
        (extensible(used_bits=0), 100),
        (extensible(used_bits=12), 100),
        (extensible(used_bits=8), None),
        (extensible(used_bits=24), None),
        (extensible(kind=2), None),
        (extensible(kind=0xFFFE), None),
        (extensible()[:26] + bytes(14), None),
        (extensible()[:24], None),
        (PLAIN + struct.pack("<H", 0), 100),
        (PLAIN + struct.pack("<H", 4), None),
        (PLAIN + struct.pack("<HI", 4, 0), None),
        (PLAIN + bytes(24), None),
        (PLAIN[:14], None),
        (ADPCM, None),
    ],
)
def test_a_format_is_read_only_in_the_forms_that_decoders_agree_on(
    format: bytes, expected: int | None
) -> None:
    assert wav_ms(riff(chunk(b"fmt ", format), SAMPLES)) == expected


@pytest.mark.parametrize(
    "fields",
    [
        *({"kind": 3}, {"kind": 3, "bits": 24, "block": 3, "byte_rate": 48_000}),
        *({"kind": 6, "bits": 32, "block": 4, "byte_rate": 64_000}, {"kind": 7}, {"kind": 0x55}),
        {"bits": 64, "block": 8, "byte_rate": 128_000},
        *({"block": 4, "byte_rate": 64_000}, {"byte_rate": 64_000}, {"rate": 8_000}, {"channels": 2}),
    ],
)
def test_a_codec_or_a_contradiction_that_hides_samples_is_refused(fields: dict[str, int]) -> None:
    assert wav_ms(wav_of(bytes(3200), **fields)) is None


@pytest.mark.parametrize("name", [b"XMA2", b"SMV0", b"ds64"])
def test_a_chunk_that_replaces_the_format_is_refused(name: bytes) -> None:
    assert wav_ms(riff(chunk(name, bytes(64)), FORMAT, SAMPLES)) is None
