"""Small recordings: WAV files of a tone, and MP3 files of silence. Needs the standard library only."""

from __future__ import annotations

import base64
import math
import struct
from array import array
from typing import Any

RATE = 16_000
MP3_FRAME = b"\xff\xfb\x90\x04" + bytes(413)
"""A frame of silence: MPEG-1, layer III, 128 kbit/s, 44,100 samples a second."""

MP3_FRAME_MS = 1152 * 1000 / 44_100


def wav(seconds: float = 0.5, hertz: float = 440.0) -> bytes:
    """A WAV file of a tone with 16 bits and one channel."""
    wave = (8000 * math.sin(2 * math.pi * hertz * at / RATE) for at in range(int(seconds * RATE)))
    return wav_of(array("h", map(int, wave)).tobytes())


def wav_of(samples: bytes, **fields: int) -> bytes:
    """A WAV file of samples. `fields` replace those of its header."""
    usual = {"kind": 1, "channels": 1, "rate": RATE, "byte_rate": 2 * RATE, "block": 2, "bits": 16}
    stated = fields.pop("size", len(samples))
    header = struct.pack("<HHIIHH", *(usual | fields).values())
    content = b"WAVE" + chunk(b"fmt ", header) + b"data" + struct.pack("<I", stated) + samples
    return b"RIFF" + struct.pack("<I", len(content)) + content


def chunk(name: bytes, content: bytes) -> bytes:
    """A chunk of a RIFF file."""
    return name + struct.pack("<I", len(content)) + content + b"\0" * (len(content) % 2)


def riff(*chunks: bytes) -> bytes:
    """A WAV file of these chunks."""
    content = b"WAVE" + b"".join(chunks)
    return b"RIFF" + struct.pack("<I", len(content)) + content


def extensible(kind: int = 1, used_bits: int = 16) -> bytes:
    """An extensible format of 16 bits and one channel, which extends the format `kind`."""
    usual = struct.pack("<HHIIHH", 0xFFFE, 1, RATE, 2 * RATE, 2, 16)
    return (
        usual + struct.pack("<HHIH", 22, used_bits, 4, kind) + bytes.fromhex("000000001000800000aa00389b71")
    )


def tag(content: bytes) -> bytes:
    """An ID3v2 tag with this content behind its header."""
    return b"ID3\x04\0\0" + bytes(len(content) >> shift & 0x7F for shift in (21, 14, 7, 0)) + content


SLOW_MP3_FRAME = b"\xff\xe3\x18\x00" + bytes(68)
"""The same with MPEG-2.5, 8 kbit/s, 8,000 samples a second: a frame of 72 ms."""


def mp3(seconds: float = 0.5, *, slow: bool = False) -> bytes:
    """An MP3 file of silence, with a tag before it."""
    frame, frame_ms = (SLOW_MP3_FRAME, 72) if slow else (MP3_FRAME, MP3_FRAME_MS)
    return tag(bytes(10)) + frame * math.ceil(seconds * 1000 / frame_ms)


def encoded(data: bytes) -> str:
    """The bytes in base64."""
    return base64.b64encode(data).decode()


def audio_part(data: bytes, format: str = "wav") -> dict[str, Any]:
    """A part of a message with the recording."""
    return {"type": "input_audio", "input_audio": {"data": encoded(data), "format": format}}
