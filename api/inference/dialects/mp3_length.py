"""The length of an MP3 file in milliseconds, from the headers of its frames: nothing is decoded.

A decoder needs memory for each second, so no decoder may read a file as a longer one than is counted here.
Decoders take a file for what its first bytes are, and search for frames wherever none is expected. So an MP3
file is one ID3v2 tag at most, frames of one kind without a gap, and a few bytes behind them; a file with
frames elsewhere is refused. (ISO 11172-3, 2.4.1.3 and ISO 13818-3, 2.4.2.3 for the header of a frame;
id3.org, "ID3 tag version 2.4.0", 3.1.)
"""

from __future__ import annotations

import re
from collections import deque
from functools import cache
from struct import unpack_from

MAX_TAG_BYTES = 1 << 20
"""The largest ID3v2 tag before the frames, with its picture."""

MAX_OTHER_BYTES = 64 * 1024
"""The most bytes that are neither this tag nor frames: zeros behind the tag, and tags at the end."""

LEAST_FRAMES = 3
"""The least frames of a file with bytes behind them."""

_SEARCHED_FRAMES = 10
"""How many frames a decoder compares before it takes the first: from fewer, it may find others in them."""

_MAX_CANDIDATES = 10_000
"""The most places of a tag that look like the header of a frame. A picture of 1 MiB has about 200."""

_FREE_BYTES = 2 * 2304
"""In how many bytes a decoder finds three frames whose bit rate is not in their headers (free format)."""

_CANDIDATE = re.compile(rb"\xff(?=[\xe2-\xff][\x00-\xef])")
_SYNC = re.compile(rb"\xff[\xe0-\xfd]")
"""How frames of any MPEG audio begin; not the marks before texts in UTF-16 (FF FE)."""

_LAYER_1, _LAYER_2, _LAYER_3 = 3, 2, 1
_KBITS = {
    (True, _LAYER_1): tuple(range(32, 449, 32)),
    (True, _LAYER_2): (32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384),
    (True, _LAYER_3): (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    (False, _LAYER_1): (32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256),
    (False, _LAYER_2): (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
    (False, _LAYER_3): (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
}
"""The bit rates by whether a frame is of MPEG-1 (not MPEG-2 or 2.5), and its layer."""

_RATES = (44_100, 48_000, 32_000)
_STATEMENTS = (13, 15, 21, 23, 36, 38)
"""Where the number of frames may be stated in the first one, behind its header: by version and channels."""


def mp3_ms(data: bytes, most_ms: int) -> int | None:
    """The length of an MP3 file, counted up to the first frame beyond `most_ms`; None for another file."""
    start = _first_frame(data)
    if start is None:
        return None
    at, samples_ms = start, 0.0
    latest: deque[tuple[int, int]] = deque(maxlen=_SEARCHED_FRAMES)
    while samples_ms <= most_ms and _is_alike(data, start, at):
        size, frame_ms = _frame(data, at)
        latest.append((at + 1, at + size))
        samples_ms += frame_ms
        at += size
    if samples_ms <= most_ms and not _is_end(data, at, latest):
        return None
    return int(max(samples_ms, _stated_frames(data, start) * _frame(data, start)[1])) or None


def _first_frame(data: bytes) -> int | None:
    """Where the first frame begins: with the file, or behind a tag and zeros."""
    at = zeros = 0
    if data[:3] == b"ID3":
        if (end := _tag_end(data)) is None:
            return None
        others = data[end : end + MAX_OTHER_BYTES]
        zeros = len(others) - len(others.lstrip(b"\0"))
        at = end + zeros
    if at + 4 > len(data) or not _frame(data, at)[0] or _layer(data[at + 1]) != _LAYER_3:
        return None
    # four bytes and four letters are an atom of MP4 for some decoders, whatever its size
    return None if zeros in {1, 2, 3} or data[at + 4 : at + 8].isalpha() else at


def _tag_end(data: bytes) -> int | None:
    """Where the tag at the beginning ends; None for one that decoders read differently."""
    if len(data) < 10:
        return None
    major, minor, flags, *sizes = data[3:10]
    if major not in {2, 3, 4} or minor == 0xFF or flags & 0x1F or max(sizes) > 0x7F:
        return None
    a, b, c, d = sizes
    end = 10 + (a << 21 | b << 14 | c << 7 | d)
    return None if end > MAX_TAG_BYTES or _has_frames(data, 10, end) else end


def _is_end(data: bytes, at: int, latest: deque[tuple[int, int]]) -> bool:
    """Whether what is behind the frames ends a file: tags and zeros, in which no decoder finds frames.

    `latest` are the insides of the last frames: without a frame behind it, a decoder searches there.
    """
    others = len(data) - at
    if (len(latest) < LEAST_FRAMES and others != 0) or others > MAX_OTHER_BYTES or _SYNC.search(data, at):
        return False
    return not any(_has_frames(data, *inside) for inside in (*latest, (at, len(data))))


def _has_frames(data: bytes, start: int, end: int) -> bool:
    """Whether a decoder that searches for frames from `start` to `end` may find some, of any layer."""
    free: dict[int, tuple[int, int]] = {}
    for count, found in enumerate(_CANDIDATE.finditer(data, start, min(end + 2, len(data)))):
        at = found.start()
        second, third = data[at + 1], data[at + 2]
        size, _ms = _of_header(second, third)
        if count > _MAX_CANDIDATES or (size and _is_alike(data, at, at + size)):
            return True
        if third >> 4 == 0 and _of_header(second, third | 0x10)[0]:
            kind = (second & 0xFE) << 8 | third & 0x0C
            before, last = free.get(kind, (-_FREE_BYTES - 1, -_FREE_BYTES - 1))
            if at - before <= _FREE_BYTES:
                return True
            free[kind] = last, at
    return False


def _is_alike(data: bytes, first: int, at: int) -> bool:
    """Whether a frame of the same version, layer and rate of samples as the first begins there."""
    if at + 4 > len(data) or not _frame(data, at)[0]:
        return False
    return not ((data[first + 1] ^ data[at + 1]) & 0xFE or (data[first + 2] ^ data[at + 2]) & 0x0C)


def _stated_frames(data: bytes, start: int) -> int:
    """How many frames the first one states (Xing, Info): decoders reserve memory for them. 0 without."""
    stated = 0
    for at in _STATEMENTS:
        place = start + at
        if data[place : place + 4] in {b"Xing", b"Info"} and len(data) >= place + 12 and data[place + 7] & 1:
            stated = max(stated, unpack_from(">I", data, place + 8)[0])
    return stated


def _frame(data: bytes, at: int) -> tuple[int, float]:
    """The bytes and the milliseconds of the frame that begins there; (0, 0) without one."""
    return _of_header(data[at + 1], data[at + 2]) if data[at] == 0xFF else (0, 0.0)


def _layer(second: int) -> int:
    return second >> 1 & 3


@cache
def _of_header(second: int, third: int) -> tuple[int, float]:
    """The same by the second and the third byte of the frame's header; (0, 0) for the free format."""
    version, layer, bits, rate_bits = second >> 3 & 3, _layer(second), third >> 4, third >> 2 & 3
    if second < 0xE0 or version == 1 or layer == 0 or rate_bits == 3 or bits in {0, 15}:
        return 0, 0.0
    is_first, padding = version == 3, third >> 1 & 1
    rate = _RATES[rate_bits] >> (0 if is_first else 1 if version == 2 else 2)
    bit_rate = _KBITS[is_first, layer][bits - 1] * 1000
    if layer == _LAYER_1:
        return (12 * bit_rate // rate + padding) * 4, 384_000 / rate
    samples = 1152 if is_first or layer == _LAYER_2 else 576
    return samples // 8 * bit_rate // rate + padding, samples * 1000 / rate
