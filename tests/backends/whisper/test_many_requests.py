"""Requests to Whisper at once: the same answers, computations that they share, and cancels."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import psutil
import pytest

from streams.events import Usage
from tests.backends.conftest import Launched, Start
from tests.backends.whisper.answers import begin_all, begin_long, segments, text, usage
from tests.backends.whisper.speech import (
    CLIPS,
    ENGLISH,
    MODEL,
    WORDS,
    JobFolders,
    whisper,
)
from tests.checkpoints.fixtures import python_of
from tests.support.waiting import scaled

pytestmark = [pytest.mark.engines, pytest.mark.contract, pytest.mark.timeout(300)]

TOGETHER = Path(__file__).with_name("together.py")
SOON_S = 1.0


def test_requests_at_once_get_the_answers_that_they_get_alone(engine: Launched, jobs: JobFolders) -> None:
    """More requests than slots, of both languages and tasks."""
    requests = [jobs.request(CLIPS / name) for name in list(WORDS)[::2]]
    requests += [jobs.request(CLIPS / name, "translate", words=True) for name in list(ENGLISH)[::2]]
    alone = [engine.answer(request) for request in requests]
    running = [engine.begin(request, id=f"at-once-{i}") for i, request in enumerate(requests)]
    for _, thread in running:
        thread.join()
    assert [answer.error for answer, _ in running] == [None] * len(requests)
    assert [segments(answer) for answer, _ in running] == [segments(answer) for answer in alone]


def test_windows_of_several_requests_share_a_computation_and_keep_their_texts() -> None:
    """Other languages and tasks share a call of the library, other options do not."""
    ran = subprocess.run([python_of("whisper"), "-I", TOGETHER, MODEL], capture_output=True, check=True)
    found = json.loads(ran.stdout)
    assert found["together"] == found["alone"]
    assert found["rows alone"] == [1] * len(found["rows alone"])
    assert sum(found["rows"]) == len(found["rows alone"])
    assert max(found["rows"]) > 1


def test_an_engine_with_batches_answers_and_cancels_as_one_without(start: Start, jobs: JobFolders) -> None:
    options = {"whisper_previous_text": False, "whisper_batch_wait_ms": 50}
    launched = start(whisper(**options), slots=4, files=jobs.root)
    names = [*WORDS][::3]
    running = [launched.begin(jobs.request(CLIPS / name, words=True), id=name) for name in names]
    cancelled, ending = begin_long(launched, jobs, "long")
    launched.cancel("long")
    ending.join(scaled(SOON_S))
    assert cancelled.finish is not None
    for _, thread in running:
        thread.join()
    assert [text(answer).strip() for answer, _ in running] == [WORDS[name] for name in names]


# cancellations


def test_a_cancelled_request_gives_its_slot_to_the_next_within_a_second(
    engine: Launched, jobs: JobFolders
) -> None:
    long = begin_all(engine, jobs)
    waiting = engine.begin(jobs.request(CLIPS / "en-numbers.wav"), id="waiting")
    (cancelled, thread), *others = long
    engine.cancel("long-0")
    thread.join(scaled(SOON_S))
    assert cancelled.finish is not None
    assert cancelled.finish.reason == "cancelled"
    assert 0 < cancelled.finish.usage.audio_ms <= 600_000
    waiting[1].join()
    assert text(waiting[0]) == " zero one two three"
    for number, (answer, ending) in enumerate(others, 1):
        engine.cancel(f"long-{number}")
        ending.join(scaled(SOON_S))
        assert answer.finish is not None
    decoders = psutil.Process(engine.engine.pid).children()
    assert psutil.wait_procs(decoders, scaled(5))[1] == []


def test_a_waiting_request_can_be_cancelled_and_pays_nothing(engine: Launched, jobs: JobFolders) -> None:
    long = begin_all(engine, jobs)
    waiting, thread = engine.begin(jobs.request(CLIPS / "en-numbers.wav"), id="waiting")
    engine.cancel("waiting")
    thread.join(scaled(SOON_S))
    assert (waiting.deltas, usage(waiting)) == ([], Usage())
    for number, (_, ending) in enumerate(long):
        engine.cancel(f"long-{number}")
        ending.join(scaled(SOON_S))


def test_unknown_ids_are_ignored(engine: Launched, jobs: JobFolders) -> None:
    engine.cancel("unknown")
    assert text(engine.answer(jobs.request(CLIPS / "en-numbers.wav"), id="next")) == " zero one two three"
    engine.cancel("next")
    assert engine.flush().entries == 0
