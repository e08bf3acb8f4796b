"""The length of a WAV or MP3 file in milliseconds, from its headers: nothing is decoded.

A decoder needs memory for each second. So whatever decoders read differently (two places for the samples,
frames after bytes that are none) is refused, and an MP3 file is counted frame by frame: its own statement of
a length is not checked by decoders. (RIFF/WAVE: Microsoft, "Multimedia Programming Interface and Data
Specifications 1.0"; ISO 11172-3, 2.4.1.3 and ISO 13818-3, 2.4.2.3 for the header of a frame.)
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from struct import error, unpack_from

MAX_CHUNKS = 1000
"""The most chunks of a WAV file. Encoders write up to ten."""

MAX_TAG_BYTES = 1 << 20
"""The largest ID3v2 tag before the frames of an MP3 file, with its picture."""

MAX_OTHER_BYTES = 64 * 1024
"""The most bytes of an MP3 file that are neither this tag nor frames: padding, and tags at the end."""

_UNKNOWN_SIZE = 0x7FFF0000
"""From this size of the samples on, a writer did not know it: they end with the file."""

_SAMPLE_FORMATS = (1, 3, 6, 7)  # PCM, float, A-law, mu-law
_EXTENSIBLE = 0xFFFE
_RATES = range(4_000, 192_001)
_MAX_CHANNELS = 8

_MP3_KBITS = (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
_MP3_LOW_KBITS = (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)
_MP3_RATES = (44_100, 48_000, 32_000)


def wav_ms(data: bytes) -> int | None:
    """The length of a WAV file; None for another file, one without samples, and one whose header lies."""
    if data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        return None
    try:
        return _samples_ms(data)
    except error:  # the header is truncated
        return None


def _samples_ms(data: bytes) -> int | None:
    byte_rate = size = None
    for name, start, stated in _chunks(data):
        left = len(data) - start
        if name == b"fmt ":
            if byte_rate is not None or (byte_rate := _byte_rate(data, start, stated)) is None:
                return None
        elif name == b"data":
            if size is not None or byte_rate is None or left < stated < _UNKNOWN_SIZE:
                return None
            size = min(stated, left)
    return None if not size or byte_rate is None else -(-size * 1000 // byte_rate)


def _chunks(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    """The name of each chunk, where its content begins, and its stated size."""
    at = 12
    for _ in range(MAX_CHUNKS):
        if at + 8 > len(data):
            return
        (size,) = unpack_from("<I", data, at + 4)
        yield data[at : at + 4], at + 8, size
        at += 8 + size + size % 2
    raise error("too many chunks")


def _byte_rate(data: bytes, start: int, size: int) -> int | None:
    """The bytes of a second; None for values that do not fit together or are out of bounds."""
    kind, channels, rate, byte_rate, block, bits = unpack_from("<HHIIHH", data, start)
    if kind == _EXTENSIBLE and size >= 26:
        (kind,) = unpack_from("<H", data, start + 24)
    fits = block == channels * bits // 8 and bits % 8 == 0 and byte_rate == rate * block > 0
    bounded = channels <= _MAX_CHANNELS and rate in _RATES and kind in _SAMPLE_FORMATS
    return int(byte_rate) if fits and bounded else None


def mp3_ms(data: bytes, most_ms: int) -> int | None:
    """The length of an MP3 file, counted up to the first frame beyond `most_ms`; None for another file."""
    at = _after_tag(data)
    others, samples_ms, end = 0, 0.0, len(data)
    while at + 4 <= end and samples_ms <= most_ms:
        size, length_ms = _frame(data, at)
        if size and (others == 0 or _is_followed(data, at + size)):
            samples_ms += length_ms
            at += size
        else:
            others += 1
            at += 1
            if others > MAX_OTHER_BYTES:
                return None
    return int(samples_ms) or None


def _after_tag(data: bytes) -> int:
    """Where the tag at the beginning ends; 0 without one, and for one that is too large."""
    if data[:3] != b"ID3" or len(data) < 10:
        return 0
    size = 10
    for byte in data[6:10]:
        if byte > 0x7F:
            return 0
    a, b, c, d = data[6:10]
    size += a << 21 | b << 14 | c << 7 | d
    return size if size <= MAX_TAG_BYTES else 0


def _is_followed(data: bytes, at: int) -> bool:
    """Whether a frame or the end of the file is there: bytes that are no frame may look like its header."""
    return at + 4 > len(data) or _frame(data, at)[0] > 0


def _frame(data: bytes, at: int) -> tuple[int, float]:
    """The bytes and the milliseconds of the frame that begins there; (0, 0) without one."""
    return _of_header(data[at + 1], data[at + 2]) if data[at] == 0xFF else (0, 0.0)


@cache
def _of_header(second: int, third: int) -> tuple[int, float]:
    """The same by the second and the third byte of the frame's header."""
    version, bits, rate_bits = second >> 3 & 3, third >> 4, third >> 2 & 3
    is_layer_3 = second & 0xE6 == 0xE2
    if not is_layer_3 or version == 1 or rate_bits == 3 or bits in {0, 15}:
        return 0, 0.0
    is_first = version == 3
    rate = _MP3_RATES[rate_bits] >> (0 if is_first else 1 if version == 2 else 2)
    kbits = (_MP3_KBITS if is_first else _MP3_LOW_KBITS)[bits - 1]
    size = (144 if is_first else 72) * kbits * 1000 // rate + (third >> 1 & 1)
    return size, (1_152_000 if is_first else 576_000) / rate
