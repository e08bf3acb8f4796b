"""The length of a WAV file in milliseconds, from its headers: nothing is decoded.

A decoder needs memory for each second, so no decoder may read a file as a longer one than is counted here.
Whatever decoders read differently is refused: two places for the samples, codecs other than PCM, fields that
contradict each other. (RIFF/WAVE: Microsoft, "Multimedia Programming Interface and Data Specifications 1.0",
and WAVEFORMATEXTENSIBLE in mmreg.h.)
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import error, unpack_from

MAX_CHUNKS = 1000
"""The most chunks of a file. Encoders write up to ten."""

_UNKNOWN_SIZE = 0xFFFFFFFF
"""The size of samples that end with the file. Some decoders reserve memory for any other size."""

_OTHER_FORMATS = (b"XMA2", b"SMV0", b"ds64")
"""Chunks that replace the format or the sizes for some decoders."""

_PCM, _FLOAT, _EXTENSIBLE = 1, 3, 0xFFFE
_BITS = {_PCM: (8, 16, 24, 32), _FLOAT: (32, 64)}
_GUID_END = bytes.fromhex("000000001000800000aa00389b71")
"""Of an extensible format, behind the two bytes of the format that it extends."""

_EXTENSIONS = {16: 0, 18: 0, 40: 22}
"""The sizes of a format, each with the size that it states of its own extension."""

_RATES = range(4_000, 192_001)
_MAX_CHANNELS = 8


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
        if name in _OTHER_FORMATS:
            return None
        if name == b"fmt ":
            if byte_rate is not None or (byte_rate := _byte_rate(data, start, stated)) is None:
                return None
        elif name == b"data":
            if size is not None or byte_rate is None or left < stated != _UNKNOWN_SIZE:
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
    extension = unpack_from("<H", data, start + 16)[0] if size > 16 else 0
    if _EXTENSIONS.get(size) != extension:
        return None
    if kind == _EXTENSIBLE and size == 40:
        used_bits, _mask, kind = unpack_from("<HIH", data, start + 18)
        # some decoders read samples of as many bytes as the used bits need
        if data[start + 26 : start + 40] != _GUID_END or (used_bits and -(-used_bits // 8) * 8 != bits):
            return None
    fits = block == channels * bits // 8 and byte_rate == rate * block > 0
    bounded = channels <= _MAX_CHANNELS and rate in _RATES and bits in _BITS.get(kind, ())
    return int(byte_rate) if fits and bounded else None
