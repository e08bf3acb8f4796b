"""The process that decodes one upload: `python -I decode.py MAX_SECONDS < upload`.

It writes the length of the recording (milliseconds, 8 bytes, big-endian) and then its samples: 16 kHz, mono,
16 bits, in the machine's byte order. It exits with one of the codes below.

An upload is hostile: it may be a playlist that names other files or addresses, a few bytes that become days
of audio, or an attack on FFmpeg itself. So only the containers and codecs listed here are opened, FFmpeg gets
the open file and no name, and the process has limits of its own for memory, CPU time and files.

A recording that is too long is refused by the length in its header, before it is decoded. Where the header
has no length, or FFmpeg only estimates one from the first bytes (mp3, aac), the samples are counted in a
first pass. Before that, the lengths of its packets are added up, which takes a tenth of the time.
A recording that is longer than its header says is refused as soon as it is.
"""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any, BinaryIO

DECODED, NOT_AUDIO, TOO_LONG, OUT_OF_BOUNDS = 0, 3, 4, 5
"""The exit codes. A signal (SIGXCPU, SIGKILL) counts as OUT_OF_BOUNDS, too."""

CONTAINERS = ("wav", "w64", "flac", "mp3", "ogg", "mov", "matroska", "aac")
"""FFmpeg's names: mov stands for mp4 and m4a, matroska for webm."""

CODECS = (
    *(
        "flac",
        "mp3",
        "mp3float",
        "opus",
        "libopus",
        "vorbis",
        "aac",
        "alac",
        "pcm_mulaw",
        "pcm_alaw",
        "pcm_u8",
    ),
    *("pcm_s16le", "pcm_s24le", "pcm_s32le", "pcm_f32le", "pcm_f64le", "pcm_s16be", "pcm_s24be"),
)
ESTIMATED = ("mp3", "aac")
"""The containers whose length FFmpeg estimates."""

RATE = 16_000
MEMORY_BYTES = 512 << 20  # beyond what the libraries take
TOLERANCE_S = 10
GROUP_SAMPLES = 1 << 16  # of the source, which are resampled together: fewer calls, half the time
MAX_ERRORS = 1000  # broken packets before any audio

UNMEASURED_S, LEAST_BYTES_PER_S = 600, 250
"""A recording without a length in its header that is longer than this needs so many bytes a second: the
lowest rates of speech codecs have 750. It bounds how long the first pass of a bomb takes."""


class TooLong(Exception):
    """Raised for more samples than are allowed."""


class Broken(Exception):
    """Raised for a recording that is not what its header says."""


def main(max_seconds: int) -> int:
    """Decode stdin to stdout. Returns the exit code."""
    av: Any = import_module("av")  # before the limits: its libraries map much

    _limit(max_seconds)
    try:
        with open(0, "rb", closefd=False) as source:
            length = _length(av, source, max_seconds)
            source.seek(0)
            with os.fdopen(1, "wb", buffering=0, closefd=False) as out:
                out.write((length * 1000 // RATE).to_bytes(8, "big"))
                _write(av, source, out, length)
    except BrokenPipeError:
        return DECODED  # the engine wants no more
    except TooLong:
        return TOO_LONG
    except MemoryError:
        return OUT_OF_BOUNDS
    except (Broken, av.error.FFmpegError, OSError, ValueError):
        return NOT_AUDIO
    return DECODED


def _limit(max_seconds: int) -> None:
    """Bound the process: it may do nothing but compute, read stdin and write stdout."""
    cpu_s = 30 + max_seconds // 20
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with open("/proc/self/statm") as file:  # noqa: PTH123 - pathlib would be one more import
        mapped = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + MEMORY_BYTES, mapped + MEMORY_BYTES))


def _length(av: Any, source: BinaryIO, max_seconds: int) -> int:
    """The samples of the recording. Raises `TooLong`, `Broken`."""
    with _opened(av, source) as container:
        declared = _declared_s(container)
        if declared is not None and declared > max_seconds:
            raise TooLong
        names = container.format.name.split(",")
        if declared is not None and not any(name in ESTIMATED for name in names):
            return int(declared * RATE)
        _add_up_packets(container, max_seconds + TOLERANCE_S)
    source.seek(0)
    with _opened(av, source) as container:
        count = 0
        for frame in _frames(av, container):
            count += frame.samples
            if count > max_seconds * RATE:
                raise TooLong
            if count > UNMEASURED_S * RATE and source.tell() < LEAST_BYTES_PER_S * count // RATE:
                raise TooLong
    if not count:
        raise Broken
    return count


def _add_up_packets(container: Any, max_seconds: int) -> None:
    """Raise `TooLong` if the packets of the first audio stream say that they take longer."""
    stream = container.streams.audio[0]
    left = int(max_seconds / stream.time_base)
    for packet in container.demux(stream):
        left -= packet.duration or 0
        if left < 0:
            raise TooLong


def _write(av: Any, source: BinaryIO, out: Any, length: int) -> None:
    """Write the samples; at most a little more than `length`. Raises `Broken`."""
    left = length + TOLERANCE_S * RATE + length // 100
    count = 0
    with _opened(av, source) as container:
        for frame in _frames(av, container):
            count += frame.samples
            if count > left:
                raise Broken
            data = memoryview(bytes(frame.planes[0]))[: frame.samples * 2]
            while data:
                data = data[out.write(data) :]
    if not count:
        raise Broken


def _opened(av: Any, source: BinaryIO) -> Any:
    """The container. Raises `Broken` for one without audio, and FFmpeg's errors."""
    options = {
        "format_whitelist": ",".join(CONTAINERS),
        "codec_whitelist": ",".join(CODECS),
        "protocol_whitelist": "pipe",
    }
    container = av.open(source, mode="r", metadata_errors="ignore", options=options)
    if not container.streams.audio:
        container.close()
        raise Broken
    return container


def _declared_s(container: Any) -> float | None:
    """The length of the first audio stream in the header, else that of the container."""
    stream = container.streams.audio[0]
    if stream.duration is not None and stream.time_base is not None:
        return float(stream.duration * stream.time_base)
    return None if container.duration is None else container.duration / 1_000_000


def _frames(av: Any, container: Any) -> Iterator[Any]:
    """The decoded frames of the first audio stream: 16 kHz, mono, 16 bits. Broken packets are left out."""
    stream = container.streams.audio[0]
    stream.codec_context.thread_count = 1
    resampler = av.AudioResampler(format="s16", layout="mono", rate=RATE)
    fifo = av.AudioFifo()
    errors, has_audio = 0, False
    for packet in container.demux(stream):
        try:
            frames = packet.decode()
        except av.error.InvalidDataError:
            errors += 1
            if errors > MAX_ERRORS and not has_audio:
                raise Broken from None
            continue
        for frame in frames:
            has_audio = True
            frame.pts = None  # times in the file may jump
            fifo.write(frame)
            if fifo.samples >= GROUP_SAMPLES:
                yield from resampler.resample(fifo.read())
    if fifo.samples:
        yield from resampler.resample(fifo.read())
    yield from resampler.resample(None)


if __name__ == "__main__":
    code = main(int(sys.argv[1]))
    sys.stdout.flush()
    os._exit(code)  # the libraries' clean-up at the exit takes longer than the decoding of a short recording
