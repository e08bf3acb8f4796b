"""Whisper through its engine: words, times, languages, translations, silence, and long recordings."""

from __future__ import annotations

import os

import pytest

from backends.base import GenerationError
from streams.events import Usage
from streams.media_events import WorkProgress
from tests.backends.conftest import Launched
from tests.backends.whisper.answers import facts, segments, text, usage, windows
from tests.backends.whisper.speech import (
    CLIPS,
    ENGLISH,
    RATE,
    WORDS,
    JobFolders,
    samples_of,
    wav,
    word_errors,
)

pytestmark = [pytest.mark.engines, pytest.mark.contract, pytest.mark.timeout(300)]

MAX_WER = 0.1
"""No word of the clips was wrong when this was measured."""


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


def test_the_times_of_words_are_in_order_and_within_the_recording(engine: Launched, jobs: JobFolders) -> None:
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
def test_a_recording_without_speech_has_no_words(engine: Launched, jobs: JobFolders, kind: str) -> None:
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


# long recordings


def test_a_long_recording_is_reported_while_it_is_transcribed(engine: Launched, jobs: JobFolders) -> None:
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


def test_times_go_on_where_a_long_recording_is_cut_into_blocks(engine: Launched, jobs: JobFolders) -> None:
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
    audio = wav(bytes(2 * RATE * 320) + samples_of("de-numbers.wav"))
    answer = engine.answer(jobs.request(audio))
    assert (facts(answer).language, text(answer)) == ("de", " eins zwei drei vier")
    assert segments(answer)[0].start > 319
