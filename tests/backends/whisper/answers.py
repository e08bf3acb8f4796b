"""Long transcriptions, and the parts of an answer.

The tiny model was trained on clips of a few words, so a long recording has one clip in each window of 30 s,
and its silence has words, too.
"""

from __future__ import annotations

import threading

from streams.events import Usage
from streams.media_events import AudioFacts, SegmentDelta
from tests.backends.conftest import Answer, Launched
from tests.backends.whisper.speech import (
    RATE,
    JobFolders,
    samples_of,
    wav,
)
from tests.support.waiting import scaled


def segments(answer: Answer) -> list[SegmentDelta]:
    return [delta for delta in answer.deltas if isinstance(delta, SegmentDelta)]


def text(answer: Answer) -> str:
    return "".join(segment.text for segment in segments(answer))


def facts(answer: Answer) -> AudioFacts:
    found = [delta for delta in answer.deltas if isinstance(delta, AudioFacts)]
    assert len(found) == 1
    assert answer.deltas[0] is found[0]
    return found[0]


def usage(answer: Answer) -> Usage:
    assert answer.finish is not None
    return answer.finish.usage


def windows(name: str, count: int) -> bytes:
    """A recording with a clip at the begin of each window of 30 s."""
    clip = samples_of(name)
    return wav((clip + bytes(2 * RATE * 30 - len(clip))) * count)


def begin_long(engine: Launched, jobs: JobFolders, id: str) -> tuple[Answer, threading.Thread]:
    """Begin a transcription of ten minutes, and wait for its first words."""
    answer, thread = engine.begin(jobs.request(windows("en-numbers.wav", 20), skips_silence=False), id=id)
    assert answer.first_delta.wait(scaled(30))
    return answer, thread


def begin_all(engine: Launched, jobs: JobFolders) -> list[tuple[Answer, threading.Thread]]:
    """Fill the slots with long transcriptions, and wait for the first words of the first."""
    request = jobs.request(windows("en-numbers.wav", 20), skips_silence=False)
    running = [engine.begin(request, id=f"long-{i}") for i in range(engine.engine.slots)]
    assert running[0][0].first_delta.wait(scaled(30))
    return running
