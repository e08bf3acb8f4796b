"""The samples of an upload, from a decoder process (`decode`), and how a long one is cut into blocks."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from .decode import DECODED, NOT_AUDIO, RATE, TOO_LONG
from .errors import WhisperRequestError

np: Any = import_module("numpy")

PROGRAM = Path(__file__).with_name("decode.py")
FORMATS = "flac, m4a, mp3, mp4, ogg, wav or webm"
HEADER_BYTES = 8
END_WAIT_S = 30.0

BLOCK_S = 300
"""The longest block. The features of one need 100 times the memory of its samples while they are computed."""

SEARCHED_S = 30
"""The end of a block in which its quietest point is looked for, to cut there and not in a word."""

QUIET_S, HOP_S = 0.4, 0.02

Samples = Any
"""A numpy array of 16-bit numbers."""


class DecodedAudio:
    """The decoded upload. `close` may be called from any thread; the rest belongs to one thread.

    `duration_ms` is the length by the header of the file. The decoder waits while the samples are not read,
    so that only a block of them is in memory. Raises `WhisperRequestError`.
    """

    def __init__(self, path: str, max_seconds: int) -> None:
        self._max_seconds = max_seconds
        try:
            with open(path, "rb") as file:  # noqa: PTH123
                self._process = subprocess.Popen(
                    [sys.executable, "-I", str(PROGRAM), str(max_seconds)],
                    stdin=file,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,  # FFmpeg's messages quote the upload
                    env={},
                    cwd="/",
                )
        except OSError as error:
            print(f"the upload {path}: {error}", file=sys.stderr, flush=True)
            raise WhisperRequestError("engine_error", "the engine cannot read the upload") from error
        self.duration_ms = 0

    def begin(self) -> None:
        """Wait until the length is known. Raises `WhisperRequestError`."""
        header = self._read(HEADER_BYTES)
        if len(header) < HEADER_BYTES:
            self._check_end()
            raise WhisperRequestError("engine_error", "the decoder of the upload ended early")
        self.duration_ms = int.from_bytes(header, "big")

    def blocks(self, block_s: int = BLOCK_S) -> Iterator[Samples]:
        """The samples in blocks of at most `block_s` seconds, cut at quiet points."""
        most = block_s * RATE
        rest = np.zeros(0, np.int16)
        while True:
            data = self._read(2 * (most - len(rest)))
            block = np.concatenate((rest, np.frombuffer(data[: len(data) // 2 * 2], np.int16)))
            if len(block) < most:
                self._check_end()
                if len(block):
                    yield block
                return
            cut = quiet_point(block)
            yield block[:cut]
            rest = block[cut:]

    def close(self) -> None:
        """End the decoder. Idempotent."""
        with suppress(OSError):
            self._process.kill()

    def release(self) -> None:
        """End the decoder and close its pipe; only its own thread may do so."""
        self.close()
        if self._process.stdout is not None:
            self._process.stdout.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(END_WAIT_S)

    def _read(self, size: int) -> bytes:
        """So many bytes of the decoder's output; fewer at its end."""
        assert self._process.stdout is not None  # noqa: S101 - a pipe was asked for
        return self._process.stdout.read(size)

    def _check_end(self) -> None:
        """Raise the error for how the decoder ended, unless it has decoded everything."""
        code = self._process.wait()
        if code == DECODED:
            return
        if code == TOO_LONG:
            limit = f"{self._max_seconds} seconds"
            message = f"the recording is longer than {limit}, the limit of the model (whisper_max_seconds)"
            raise WhisperRequestError("audio_too_long", message)
        if code == NOT_AUDIO:
            message = f"the file is not a recording that can be read: send {FORMATS}"
            raise WhisperRequestError("invalid_audio", message)
        print(f"the decoder of an upload ended with {code}", file=sys.stderr, flush=True)
        raise WhisperRequestError("invalid_audio", "the file takes too much time or memory to be decoded")


def quiet_point(block: Samples) -> int:
    """Where to cut a block: in the middle of the quietest part of its end, the last one of equal ones."""
    searched = block[-min(len(block) // 2, SEARCHED_S * RATE) :]
    hop = int(HOP_S * RATE)
    count = len(searched) // hop
    parts = int(QUIET_S / HOP_S)
    if count <= parts:
        return len(block)
    power = np.square(searched[: count * hop].astype(np.float32)).reshape(count, hop).mean(axis=1)
    sums = np.convolve(power, np.ones(parts, np.float32), "valid")
    quietest = len(sums) - 1 - int(np.argmin(sums[::-1]))
    return len(block) - len(searched) + (quietest + parts // 2) * hop
