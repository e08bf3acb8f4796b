"""Whisper through its engine: words, times, languages, translations, silence, many requests, and failures.

The tiny model was trained on clips of a few words, so a long sound has one clip in each window of 30 s, and
its silence is heard, too.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

import psutil
import pytest

from backends.base import GenerationError, LoadError
from engines.engine_process.errors import EngineLost
from streams.events import Usage
from streams.media_events import AudioFacts, SegmentDelta, WorkProgress
from tests.backends.conftest import Answer, Launched, Start
from tests.backends.whisper.speech import (
    CLIPS,
    ENGLISH,
    MODEL,
    RATE,
    WORDS,
    JobFolders,
    samples_of,
    wav,
    whisper,
    word_errors,
)
from tests.checkpoints.fixtures import python_of
from tests.support.waiting import scaled

pytestmark = [pytest.mark.engines, pytest.mark.contract, pytest.mark.timeout(300)]

TOGETHER = Path(__file__).with_name("together.py")
SOON_S = 1.0
MAX_WER = 0.1
"""No word of the clips was wrong when this was measured."""


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
    """A sound with a clip at the begin of each window of 30 s."""
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


# answering


def test_the_words_of_all_clips_are_written_down_in_their_language(
    engine: Launched, jobs: JobFolders
) -> None:
    wrong = 0
    for name, words in WORDS.items():
        answer = engine.answer(jobs.request(CLIPS / name))
        assert facts(answer).language == name[:2], name
        assert text(answer).startswith(" ")
        wrong += word_errors(text(answer).split(), words.split())
    assert wrong <= MAX_WER * sum(len(words.split()) for words in WORDS.values())


def test_german_clips_are_translated_to_english(engine: Launched, jobs: JobFolders) -> None:
    wrong = 0
    for name, words in ENGLISH.items():
        answer = engine.answer(jobs.request(CLIPS / name, "translate"))
        assert facts(answer).language == "de"
        wrong += word_errors(text(answer).split(), words.split())
    assert wrong <= MAX_WER * sum(len(words.split()) for words in ENGLISH.values())


def test_the_times_of_words_are_in_order_and_within_the_sound(engine: Launched, jobs: JobFolders) -> None:
    for name in list(WORDS)[::2]:
        answer = engine.answer(jobs.request(CLIPS / name, words=True))
        words = [word for segment in segments(answer) for word in segment.words]
        assert [word.word.strip() for word in words] == text(answer).split()
        times = [time for word in words for time in (word.start, word.end)]
        assert times == sorted(times)
        assert 0 <= times[0] < times[-1] <= facts(answer).duration_ms / 1000
    assert all(not segment.words for segment in segments(engine.answer(jobs.request(CLIPS / name))))


def test_a_segment_has_the_numbers_of_whisper_and_the_usage_the_length(
    engine: Launched, jobs: JobFolders
) -> None:
    answer = engine.answer(jobs.request(CLIPS / "en-numbers.wav"))
    (segment,) = segments(answer)
    assert segment.tokens
    assert -1 < segment.avg_logprob < 0
    assert 0 < segment.compression_ratio < 2.4
    assert 0 <= segment.no_speech_prob < 0.6
    assert (segment.temperature, segment.seek) == (0.0, 0)
    assert 0 <= segment.start < segment.end <= facts(answer).duration_ms / 1000
    length_ms = len(samples_of("en-numbers.wav")) // 32
    assert facts(answer).duration_ms == length_ms
    assert usage(answer) == Usage(audio_ms=length_ms)
    assert answer.finish is not None
    assert answer.finish.reason == "stop"


def test_a_request_may_name_language_temperature_and_prompt(engine: Launched, jobs: JobFolders) -> None:
    fields = {"language": "en", "temperature": 0.0}
    answer = engine.answer(jobs.request(CLIPS / "en-numbers.wav", **fields))
    assert (facts(answer).language, text(answer)) == ("en", " zero one two three")
    with_prompt = engine.answer(jobs.request(CLIPS / "en-numbers.wav", prompt="four five " * 300, **fields))
    assert usage(with_prompt) == usage(answer)


@pytest.mark.parametrize("language", ["fr", "xx", ""])
def test_a_language_that_the_model_does_not_have_is_refused(
    engine: Launched, jobs: JobFolders, language: str
) -> None:
    with pytest.raises(GenerationError, match=r"only .*(de.*en|en.*de)") as caught:
        engine.answer(jobs.request(CLIPS / "en-numbers.wav", language=language))
    assert caught.value.code == "unsupported_parameter"


@pytest.mark.parametrize("kind", ["zeros", "noise", "tone", "nothing"])
def test_a_sound_without_speech_has_no_words(engine: Launched, jobs: JobFolders, kind: str) -> None:
    count = 3 * RATE
    noise = os.urandom(count)
    samples = {
        "zeros": bytes(2 * count),
        "noise": b"".join((byte * 4 - 512).to_bytes(2, "little", signed=True) for byte in noise),
        "tone": b"".join(
            (4000 if i // 18 % 2 else -4000).to_bytes(2, "little", signed=True) for i in range(count)
        ),
        "nothing": bytes(2),
    }[kind]
    answer = engine.answer(jobs.request(wav(samples)))
    assert (segments(answer), facts(answer).language) == ([], "en")
    assert usage(answer) == Usage(audio_ms=len(samples) // 32)


# long sounds


def test_a_long_sound_is_reported_while_it_is_transcribed(engine: Launched, jobs: JobFolders) -> None:
    answer = engine.answer(jobs.request(windows("en-numbers.wav", 3), skips_silence=False))
    found = segments(answer)
    assert [segment.text for segment in found] == [" zero one two three"] * 3
    assert [int(segment.start // 30) for segment in found] == [0, 1, 2]
    assert [segment.seek for segment in found] == [0, 3000, 6000]
    assert facts(answer).duration_ms == usage(answer).audio_ms == 90_000
    first, last = (answer.times[answer.deltas.index(segment)] for segment in (found[0], found[-1]))
    assert first - answer.times[0] < last - first
    progress = [delta for delta in answer.deltas if isinstance(delta, WorkProgress)]
    assert progress
    assert all(0 < each.done <= each.total == 90_000 for each in progress)
    assert [each.done for each in progress] == sorted(each.done for each in progress)


def test_times_go_on_where_a_long_sound_is_cut_into_blocks(engine: Launched, jobs: JobFolders) -> None:
    """Two blocks of at most 300 s; words and times of the second go on after the first."""
    answer = engine.answer(jobs.request(windows("en-numbers.wav", 12), skips_silence=False, words=True))
    found = segments(answer)
    assert "".join(segment.text for segment in found).split() == WORDS["en-numbers.wav"].split() * 12
    assert found[-1].start > 329
    starts = [word.start for segment in found for word in segment.words]
    assert starts == sorted(starts)
    assert [segment.seek for segment in found] == sorted(segment.seek for segment in found)
    assert usage(answer).audio_ms == 360_000


def test_a_silent_beginning_decides_no_language(engine: Launched, jobs: JobFolders) -> None:
    sound = wav(bytes(2 * RATE * 320) + samples_of("de-numbers.wav"))
    answer = engine.answer(jobs.request(sound))
    assert (facts(answer).language, text(answer)) == ("de", " eins zwei drei vier")
    assert segments(answer)[0].start > 319


# many requests


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


# ends of engines


def test_requests_of_an_engine_that_is_killed_fail_and_no_decoder_survives(
    start: Start, jobs: JobFolders
) -> None:
    launched = start(whisper(whisper_previous_text=False), slots=1, files=jobs.root)
    answer, thread = begin_long(launched, jobs, "long")
    assert launched.engine.pid is not None
    decoders = psutil.Process(launched.engine.pid).children()
    assert decoders  # it waits until the first block has been heard
    os.kill(launched.engine.pid, signal.SIGKILL)
    thread.join(scaled(10))
    assert isinstance(answer.error, EngineLost)
    assert answer.error.code == "engine_crashed"
    gone, alive = psutil.wait_procs(decoders, scaled(5))
    assert (len(gone), alive) == (len(decoders), [])


def test_an_engine_can_be_stopped_twice_while_it_runs_a_request(start: Start, jobs: JobFolders) -> None:
    launched = start(whisper(whisper_previous_text=False), slots=1, files=jobs.root)
    answer, thread = begin_long(launched, jobs, "long")
    launched.engine.stop(scaled(2))
    launched.engine.stop(scaled(2))
    thread.join(scaled(10))
    assert isinstance(answer.error, EngineLost)


# loads


def test_a_load_reports_progress_the_version_and_the_type_of_the_weights(engine: Launched) -> None:
    fractions = [done for done, _ in engine.progress]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    facts = engine.engine.facts  # type: ignore[attr-defined]
    assert facts.version.startswith("1.2")
    assert facts.quantization.startswith("int8")
    assert engine.engine.slots == 4


def damaged(folder: Path, name: str, content: bytes | None) -> Path:
    shutil.copytree(MODEL, folder)
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(content)
    return folder


UNUSABLE: list[tuple[str, bytes | None, dict[str, Any], str]] = [
    ("tokenizer.json", None, {}, "has no tokenizer.json: convert the model again"),
    ("model.bin", b"nonsense", {}, "has no Whisper model that CTranslate2 can read"),
    ("tokenizer.json", b"{}", {}, "has no Whisper model that CTranslate2 can read"),
    ("config.json", b"{}", {"whisper_compute_type": "int3"}, "whisper_compute_type int3 is not available"),
    ("preprocessor_config.json", b'{"feature_size": 128}', {}, "takes 80 features of a recording, not 128"),
]


@pytest.mark.parametrize("damage", UNUSABLE, ids=lambda damage: damage[3][:30])
def test_a_model_that_cannot_be_used_is_refused_in_a_sentence(
    start: Start, jobs: JobFolders, tmp_path: Path, damage: tuple[str, bytes | None, dict[str, Any], str]
) -> None:
    name, content, options, sentence = damage
    with pytest.raises(LoadError, match=sentence) as caught:
        start(whisper(damaged(tmp_path / "model", name, content), **options), files=jobs.root)
    assert caught.value.code == "load_failed"


def test_a_model_without_settings_of_its_features_has_those_of_whisper(
    start: Start, jobs: JobFolders, tmp_path: Path
) -> None:
    """Most converted models on the hub have no such file."""
    folder = damaged(tmp_path / "model", "preprocessor_config.json", None)
    launched = start(whisper(folder), files=jobs.root)
    assert text(launched.answer(jobs.request(CLIPS / "en-numbers.wav"))) == " zero one two three"
