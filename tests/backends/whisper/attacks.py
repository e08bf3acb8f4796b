"""Files that an attacker may upload in place of a sound. Sounds of many hours are made once per session."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from tests.backends.whisper.speech import CLIPS

PLAYLIST = b"#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\nhttp://127.0.0.1:%d/x.ts\n#EXT-X-ENDLIST\n"

LONG_FLAC = """
import sys, av
from pathlib import Path

def frame(samples):
    made = av.AudioFrame(format="s16", layout="mono", samples=samples)
    made.rate, made.pts = 8000, 0
    made.planes[0].update(bytes(made.planes[0].buffer_size))
    return made

path, hours = Path(sys.argv[1]), int(sys.argv[2])
with av.open(str(path), "w", format="flac") as container:
    stream = container.add_stream("flac", rate=8000, layout="mono")
    made, at = frame(1 << 20), 0
    while at < hours * 3600 * 8000:
        made.pts, at = at, at + (1 << 20)
        for packet in stream.encode(made):
            container.mux(packet)
    for packet in stream.encode(None):
        container.mux(packet)
"""


def long_flac(python: Path, path: Path, hours: int) -> bytes:
    """A FLAC file with hours of silence, which is small."""
    subprocess.run([python, "-I", "-c", LONG_FLAC, path, str(hours)], check=True)
    return path.read_bytes()


def with_total(flac: bytes, samples: int) -> bytes:
    """A FLAC file whose header names another number of samples (RFC 9639, 8.2)."""
    changed = bytearray(flac)
    changed[21] = changed[21] & 0xF0 | samples >> 32
    changed[22:26] = (samples & 0xFFFFFFFF).to_bytes(4, "big")
    return bytes(changed)


def not_audio(port: int) -> dict[str, bytes]:
    """Files without a sound, by name; a playlist names an address at the port."""
    clip = CLIPS / "en-numbers.wav"
    return {
        "list": b"ffconcat version 1.0\nfile 'other.wav'\n",
        "absolute list": b"ffconcat version 1.0\nfile '%b'\n" % os.fsencode(clip),
        "playlist": PLAYLIST % port,
        "playlist of files": b"#EXTM3U\n#EXTINF:10,\nfile://%b\n#EXT-X-ENDLIST\n" % os.fsencode(clip),
        "random bytes": os.urandom(25 << 20),
        "picture": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\2\0\0\0" + os.urandom(5000),
        "text": b"To be, or not to be. " * 1000,
        "JSON": json.dumps({"file": str(clip)}).encode(),
        "header alone": clip.read_bytes()[:44],
        "nothing": b"",
    }
