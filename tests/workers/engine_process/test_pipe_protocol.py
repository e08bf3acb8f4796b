"""Frames over a pipe: complete, partial and malformed ones."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from workers.engine_process.pipe_protocol import MAX_FRAME, Frames, MalformedFrameError


@pytest.fixture
def frames() -> Iterator[Frames]:
    frames = Frames()
    yield frames
    frames.close_engine_ends()
    frames.close()


def framed(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


def test_frames_are_reassembled_however_they_are_cut(frames: Frames) -> None:
    data = framed(b'{"a":1}') + framed(b'{"b":[2]}')
    for size in range(1, len(data) + 1):
        found = []
        for i in range(0, len(data), size):
            os.write(frames.engine_out, data[i : i + size])
            found += frames.read()
        assert found == [{"a": 1}, {"b": [2]}]


@pytest.mark.parametrize(
    "malformed", [framed(b"{"), framed(b"[]"), framed(b"7"), framed(b""), (MAX_FRAME + 1).to_bytes(4, "big")]
)
def test_malformed_data_raises_after_the_frames_before_it(frames: Frames, malformed: bytes) -> None:
    os.write(frames.engine_out, framed(b'{"a":1}') + malformed)
    reading = frames.read()
    assert next(reading) == {"a": 1}
    with pytest.raises(MalformedFrameError):
        next(reading)


def test_a_small_frame_is_dropped_when_the_engine_does_not_read(frames: Frames) -> None:
    outgoing = frames._outgoing
    os.set_blocking(outgoing, False)
    with suppress(BlockingIOError):
        while os.write(outgoing, b"x" * 4096):
            pass
    os.set_blocking(outgoing, True)
    begun = time.monotonic()
    frames.try_write(b'{"cancel":1}')
    assert time.monotonic() - begun < 1
