"""Frames over a pipe: complete, partial and malformed ones."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator

import pytest

from engines.engine_process.pipe_protocol import MAX_FRAME, Frames, MalformedFrameError
from tests.support.waiting import scaled


@pytest.fixture
def frames() -> Iterator[Frames]:
    loop = asyncio.new_event_loop()
    frames = Frames(loop)
    yield frames
    frames.close_engine_ends()
    frames.close()
    loop.close()


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


def test_frames_are_sent_in_order_as_the_engine_reads(frames: Frames) -> None:
    large = b"x" * 3_000_000

    frames.attach(lambda: None)

    async def send() -> bool:
        frames.write(b'{"large":"', large, b'"}')
        frames.write(b'{"cancel":1}')
        expected = framed(b'{"large":"%b"}' % large) + framed(b'{"cancel":1}')
        return await asyncio.to_thread(read_exactly, frames.engine_in, len(expected)) == expected

    assert frames.loop.run_until_complete(send())


def test_a_write_does_not_wait_for_an_engine_that_does_not_read(frames: Frames) -> None:
    frames.attach(lambda: None)

    async def send() -> float:
        begun = time.monotonic()
        for _ in range(100):
            frames.write(b"x" * 200_000)
            frames.write(b'{"cancel":1}')
            await asyncio.sleep(0)
        return time.monotonic() - begun

    assert frames.loop.run_until_complete(send()) < scaled(1)


def test_a_write_after_the_engine_closed_its_end_is_ignored(frames: Frames) -> None:
    frames.attach(lambda: None)

    async def send() -> None:
        frames.write(b"x" * 1_000_000)
        os.close(frames.engine_in)
        frames.engine_in = os.open(os.devnull, os.O_RDONLY)  # for the fixture to close
        await asyncio.sleep(0.01)
        frames.write(b"x" * 1_000_000)

    frames.loop.run_until_complete(send())


def read_exactly(fd: int, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        data += os.read(fd, 1 << 16)
    return bytes(data)
