"""Transcripts in each form, from the events of a response."""

from __future__ import annotations

import pytest

from api.http.answers import TextAnswer
from api.http.errors import InvalidRequest
from api.inference.audio.languages import language_code, language_name
from api.inference.audio.subtitles import srt, vtt
from api.inference.audio.transcript import Transcript
from streams.events import End, Event, Usage
from streams.media_events import AudioFacts, SegmentDelta, Word

SEGMENTS = [
    SegmentDelta(0.0, 1.2345, " Hello <b>", words=(Word(" Hello", 0.0, 0.5), Word(" <b>", 0.5, 1.2))),
    SegmentDelta(3599.9996, 3661.5, " a --> b & c\nd"),
]
EVENTS: list[Event] = [
    AudioFacts("de", 3_700_000),
    *SEGMENTS,
    End("completed", usage=Usage(audio_ms=3_661_500)),
]


def test_subtitles_have_times_in_hours_and_no_text_that_ends_a_block() -> None:
    assert srt(SEGMENTS) == (
        "1\n00:00:00,000 --> 00:00:01,234\nHello <b>\n\n2\n01:00:00,000 --> 01:01:01,500\na -> b & c d\n\n"
    )
    assert vtt(SEGMENTS) == (
        "WEBVTT\n\n00:00:00.000 --> 00:00:01.234\nHello &lt;b>\n\n"
        "01:00:00.000 --> 01:01:01.500\na -> b &amp; c d\n\n"
    )


def test_a_transcript_has_the_length_in_the_usage() -> None:
    transcript = Transcript(EVENTS)
    assert (transcript.language, transcript.duration) == ("de", 3661.5)
    assert Transcript(EVENTS[:-1]).duration == 3700.0


def test_a_translation_has_no_usage_and_is_in_english() -> None:
    verbose = Transcript(EVENTS).answer("translate", "verbose_json", [])
    assert isinstance(verbose, dict)
    assert (verbose["task"], verbose["language"], "usage" in verbose) == ("translate", "english", False)
    assert Transcript(EVENTS).answer("translate", "json", []) == {"text": Transcript(EVENTS).text}


def test_words_are_listed_only_when_they_are_asked_for() -> None:
    for granularities, members in (
        ([], {"segments"}),
        (["segment"], {"segments"}),
        (["word"], {"words"}),
        (["word", "segment"], {"words", "segments"}),
    ):
        verbose = Transcript(EVENTS).answer("transcribe", "verbose_json", granularities)
        assert isinstance(verbose, dict)
        assert verbose.keys() & {"words", "segments"} == members


def test_a_recording_without_words_is_an_empty_text() -> None:
    events: list[Event] = [AudioFacts("en", 3000), End("completed", usage=Usage(audio_ms=3000))]
    assert Transcript(events).answer("transcribe", "text", []) == TextAnswer(
        "\n", "text/plain; charset=utf-8"
    )
    assert Transcript(events).answer("transcribe", "srt", []) == TextAnswer("", "text/plain; charset=utf-8")


@pytest.mark.parametrize("given", ["de", "DE", "German", " german "])
def test_a_language_is_named_by_its_code_or_its_english_name(given: str) -> None:
    assert language_code(given) == "de"
    assert language_name("de") == "german"


def test_a_language_of_several_words_is_known() -> None:
    assert language_code("Haitian Creole") == "ht"
    assert language_name("ht") == "haitian creole"
    with pytest.raises(InvalidRequest) as refused:
        language_code("klingon")
    assert refused.value.param == "language"
