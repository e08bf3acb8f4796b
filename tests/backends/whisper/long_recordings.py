"""Recordings of many hours of silence as an attacker makes them: as small as each format allows.

A frame of silence has some bytes and is the same again and again, so 25 MiB are made in a moment.
"""

from __future__ import annotations

import struct

UPLOAD_BYTES = 25 << 20
"""The size of the largest upload that the routes of audio take."""

OGG_POLYNOMIAL = 0x04C11DB7


def silent_flac(size: int = UPLOAD_BYTES) -> bytes:
    """A FLAC file (RFC 9639): 44.1 kHz, mono, blocks of 4608 samples of one value, 12 bytes each."""
    header = b"\xff\xf8\x59\x08\x00"  # the number of the block is 0 in each: decoders do not mind
    frame = header + bytes([crc(header, 8, 0x07)]) + bytes(3)
    frame += struct.pack(">H", crc(frame, 16, 0x8005))
    count = size // len(frame)
    about = 44_100 << 44 | 15 << 36 | count * 4608
    info = struct.pack(">HH", 4608, 4608) + bytes(6) + about.to_bytes(8, "big") + bytes(16)
    return b"fLaC\x80\0\0\x22" + info + frame * count


def silent_mp3(size: int = UPLOAD_BYTES) -> bytes:
    """An MP3 file (MPEG 2, layer III) with the lowest bit rate, 8 kbit/s: 24 ms of 24 kHz in 24 bytes."""
    frame = b"\xff\xf3\x14\xc0" + bytes(20)
    return frame * (size // len(frame))


def silent_opus(size: int = UPLOAD_BYTES) -> bytes:
    """An Ogg file (RFC 3533) with Opus (RFC 7845): 20 ms in packets of 6 bytes, 255 in a page."""
    packet = b"\xfb\x41\x01\xff\xfe\0"  # one frame of silence, and a byte of padding (RFC 6716, 3.2.5)
    body = packet * 255
    page = _page(0, 0, 0, [len(packet)] * 255, body)
    sums = _sums_of_bits(len(page))
    pages = [
        _page(2, 0, 0, [19], b"OpusHead\1\1\0\0" + struct.pack("<IHB", 48_000, 0, 0)),
        _page(0, 0, 1, [16], b"OpusTags" + bytes(8)),
    ]
    pages = [page[:22] + struct.pack("<I", crc(page, 32, OGG_POLYNOMIAL)) + page[26:] for page in pages]
    base = crc(page, 32, OGG_POLYNOMIAL)
    for number in range(2, size // len(page)):
        varied = struct.pack("<QII", (number - 1) * 255 * 960, 0, number)
        checksum, bits = base, int.from_bytes(varied, "little")
        while bits:
            lowest = bits & -bits
            checksum ^= sums[lowest.bit_length() - 1]
            bits ^= lowest
        pages.append(page[:6] + varied + struct.pack("<I", checksum) + page[26:])
    return b"".join(pages)


def _page(kind: int, granule: int, number: int, sizes: list[int], body: bytes) -> bytes:
    """A page without its checksum."""
    head = struct.pack("<4sBBQIIIB", b"OggS", 0, kind, granule, 0, number, 0, len(sizes))
    return head + bytes(sizes) + body


def _sums_of_bits(size: int) -> list[int]:
    """What each bit of the bytes 6 to 21 of a page adds to its checksum, which is linear."""
    sums = []
    for bit in range(16 * 8):
        page = bytearray(size - 6)
        page[bit // 8] = 1 << bit % 8
        sums.append(crc(bytes(page), 32, OGG_POLYNOMIAL))
    return sums


def crc(data: bytes, width: int, polynomial: int) -> int:
    """A checksum with the highest bit first, from 0."""
    table = TABLES.get(polynomial) or TABLES.setdefault(polynomial, _table(width, polynomial))
    value, mask = 0, (1 << width) - 1
    for byte in data:
        value = (value << 8 & mask) ^ table[value >> (width - 8) ^ byte]
    return value


TABLES: dict[int, list[int]] = {}


def _table(width: int, polynomial: int) -> list[int]:
    table = []
    for byte in range(256):
        value = byte << (width - 8)
        for _ in range(8):
            value = (value << 1) ^ (polynomial if value >> (width - 1) else 0)
            value &= (1 << width) - 1
        table.append(value)
    return table
