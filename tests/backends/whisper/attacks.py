"""Files that an attacker may upload in place of a recording, and recordings whose headers lie."""

from __future__ import annotations

import json
import os
import struct

from tests.backends.whisper.long_recordings import (
    OGG_POLYNOMIAL,
    crc,
    silent_flac,
    silent_mp3,
    silent_opus,
)
from tests.backends.whisper.speech import CLIPS

REFUSED_S = 3.0
MEMORY_BYTES = 100 << 20
"""An attack may take so much computing time, and so much more memory of the engine."""

PLAYLIST = b"#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\nhttp://127.0.0.1:%d/x.ts\n#EXT-X-ENDLIST\n"


def with_total(flac: bytes, samples: int) -> bytes:
    """A FLAC file whose header names another number of samples (RFC 9639, 8.2)."""
    changed = bytearray(flac)
    changed[21] = changed[21] & 0xF0 | samples >> 32
    changed[22:26] = (samples & 0xFFFFFFFF).to_bytes(4, "big")
    return bytes(changed)


def with_frame_count(mp3: bytes, frames: int) -> bytes:
    """An MP3 file with a first frame that names a number of frames (the header of Xing)."""
    first = b"\xff\xf3\x44\xc0" + bytes(9) + b"Xing" + struct.pack(">II", 1, frames)
    return first.ljust(96, b"\0") + mp3


def with_last_time(ogg: bytes, seconds: int) -> bytes:
    """An Ogg file whose last page names another end."""
    at = ogg.rindex(b"OggS")
    page = ogg[at : at + 6] + struct.pack("<Q", seconds * 48_000) + ogg[at + 14 : at + 22]
    rest = ogg[at + 26 :]
    return ogg[:at] + page + struct.pack("<I", crc(page + bytes(4) + rest, 32, OGG_POLYNOMIAL)) + rest


def long_recordings() -> dict[str, bytes]:
    """Recordings of 7 to 69 hours in 25 MiB, by name; some have headers that say a minute, or nothing."""
    flac, mp3, opus = silent_flac(), silent_mp3(), silent_opus()
    return {
        "flac": flac,
        "flac without a length": with_total(flac, 0),
        "flac of a minute": with_total(flac, 60 * 44_100),
        "mp3": mp3,
        "mp3 of a minute": with_frame_count(mp3, 2500),
        "opus": opus,
        "opus of a minute": with_last_time(opus, 60),
    }


LYING = {"flac of a minute", "opus of a minute"}
"""Those that are not what their header says, which is found before they are too long."""


def refusal_code(name: str) -> str:
    """The code of the error for one of `long_recordings`."""
    return "invalid_audio" if name in LYING else "audio_too_long"


def not_audio(port: int) -> dict[str, bytes]:
    """Files without audio, by name; a playlist names an address at the port."""
    clip = CLIPS / "en-numbers.wav"
    return {
        "list": b"ffconcat version 1.0\nfile 'other.wav'\n",
        "absolute list": b"ffconcat version 1.0\nfile '%b'\n" % os.fsencode(clip),
        "playlist": PLAYLIST % port,
        "playlist of files": b"#EXTM3U\n#EXTINF:10,\nfile://%b\n#EXT-X-ENDLIST\n" % os.fsencode(clip),
        "random bytes": os.urandom(25 << 20),
        "image": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\2\0\0\0" + os.urandom(5000),
        "text": b"To be, or not to be. " * 1000,
        "JSON": json.dumps({"file": str(clip)}).encode(),
        "header alone": clip.read_bytes()[:44],
        "nothing": b"",
    }
