"""Transcriptions through the official SDK: all forms, streams, and what is left on the disk."""

from __future__ import annotations

import http.client
import os
import signal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import openai
import pytest

from api.files.paths_below import paths_below
from tests.support.platform import Platform

SPOKEN = ("spoken.wav", b"one two three")


def uploads(platform: Platform) -> list[Path]:
    """The uploads of jobs, and those that are being written."""
    files = platform.folder / "data" / "files"
    return [*paths_below(files, "*/jobs/*/in-*"), *paths_below(files, "*/*.upload")]


@pytest.fixture(autouse=True)
def _leaves_nothing(shared: Platform) -> Any:
    yield
    shared.wait_for(lambda: not uploads(shared), 30, "removal of the uploads")


def transcribe(sdk: openai.OpenAI, **fields: Any) -> Any:
    return sdk.audio.transcriptions.create(model="scribe", **{"file": SPOKEN, **fields})


def test_sdk_gets_a_transcription_in_each_form(sdk: openai.OpenAI) -> None:
    plain = transcribe(sdk)
    assert plain.text == "one two three"
    assert plain.usage.type == "duration"
    assert plain.usage.seconds == 3
    assert transcribe(sdk, response_format="text") == "one two three\n"
    assert transcribe(sdk, response_format="srt").startswith(
        "1\n00:00:00,000 --> 00:00:01,000\none\n\n2\n00:00:01,000 --> 00:00:02,000\ntwo\n"
    )
    assert transcribe(sdk, response_format="vtt").startswith(
        "WEBVTT\n\n00:00:00.000 --> 00:00:01.000\none\n\n"
    )
    verbose = transcribe(
        sdk, response_format="verbose_json", timestamp_granularities=["word", "segment"], language="de"
    )
    assert (verbose.language, verbose.duration, verbose.text) == ("german", 3, "one two three")
    assert [segment.text for segment in verbose.segments] == [" one", " two", " three"]
    assert [(word.word, word.start, word.end) for word in verbose.words] == [
        ("one", 0, 1),
        ("two", 1, 2),
        ("three", 2, 3),
    ]


@pytest.mark.filterwarnings("ignore:deprecated")  # the SDK marks the route of translations so
def test_sdk_gets_a_translation_in_each_form(sdk: openai.OpenAI) -> None:
    assert sdk.audio.translations.create(model="scribe", file=SPOKEN).text == "one two three"
    verbose = sdk.audio.translations.create(model="scribe", file=SPOKEN, response_format="verbose_json")
    assert (verbose.language, verbose.duration) == ("english", 3)
    assert "one\n" in sdk.audio.translations.create(model="scribe", file=SPOKEN, response_format="srt")


def test_sdk_streams_a_transcription(sdk: openai.OpenAI) -> None:
    events = list(transcribe(sdk, stream=True))
    assert [event.type for event in events] == ["transcript.text.delta"] * 3 + ["transcript.text.done"]
    assert "".join(event.delta for event in events[:-1]) == events[-1].text == "one two three"


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"response_format": "diarized_json"}, "response_format"),
        ({"response_format": "xml"}, "response_format"),
        ({"timestamp_granularities": ["word"]}, "timestamp_granularities"),
        ({"language": "klingon"}, "language"),
        ({"temperature": 2}, "temperature"),
        ({"stream": True, "response_format": "srt"}, "response_format"),
        ({"file": ("empty.wav", b"")}, "file"),
    ],
)
def test_a_request_that_does_not_fit_is_refused_with_its_field(
    sdk: openai.OpenAI, fields: dict[str, Any], param: str
) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        transcribe(sdk, **fields)
    assert refused.value.param == param


def test_models_of_text_and_of_audio_refuse_each_others_requests(
    shared: Platform, sdk: openai.OpenAI
) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        sdk.audio.transcriptions.create(model="stub", file=SPOKEN)
    assert refused.value.code == "wrong_endpoint"
    status, answer = shared.respond("scribe", "hello")
    assert (status, answer["error"]["code"]) == (400, "generation_unsupported")
    assert "/v1/audio/transcriptions" in answer["error"]["message"]


def test_a_refused_request_leaves_no_folder(shared: Platform, sdk: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError):
        sdk.audio.transcriptions.create(model="no-such-model", file=SPOKEN)
    with pytest.raises(openai.ConflictError):
        sdk.audio.transcriptions.create(model="mute", file=SPOKEN)
    shared.wait_for(lambda: not uploads(shared), 20, "removal of the upload")


@pytest.mark.rule("runner/media-no-cache")
def test_answers_have_what_was_measured_and_a_repeat_gets_the_first_answer(sdk: openai.OpenAI) -> None:
    headers = {"Idempotency-Key": "one-recording"}
    first = sdk.audio.transcriptions.with_raw_response.create(
        model="scribe", file=SPOKEN, extra_headers=headers
    )
    assert int(first.headers["X-GPU-Time-Ms"]) >= 0
    assert int(first.headers["X-Queue-Wait-Ms"]) >= 0
    assert (first.headers["X-Cache-Hit"], first.headers["X-Cache-Tokens-Reused"]) == ("false", "0")
    again = sdk.audio.transcriptions.with_raw_response.create(
        model="scribe", file=SPOKEN, extra_headers=headers
    )
    assert again.text == first.text
    with pytest.raises(openai.ConflictError) as reused:
        transcribe(sdk, file=("spoken.wav", b"another"), extra_headers=headers)
    assert reused.value.code == "idempotency_key_reused"


def test_a_large_upload_takes_no_memory_of_redis(shared: Platform, sdk: openai.OpenAI) -> None:
    redis = shared.redis()
    before = redis.info("memory")["used_memory_dataset"]
    content = b"one two\n" + b"\xff" * (25 << 20)
    assert transcribe(sdk, file=("large.wav", content)).text.startswith("a recording of 65536 bytes")
    assert redis.info("memory")["used_memory_dataset"] - before < 100 * 1024


def test_a_client_that_leaves_cancels_its_job(shared: Platform) -> None:
    address = urlsplit(shared.url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=30)
    body = (
        b'--b\r\nContent-Disposition: form-data; name="model"\r\n\r\nscribe\r\n'
        b'--b\r\nContent-Disposition: form-data; name="stream"\r\n\r\ntrue\r\n'
        b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\n'
        b"/stub tokens_per_s=2 tokens=1000 x\r\n--b--\r\n"
    )
    connection.request(
        "POST",
        "/v1/audio/transcriptions",
        body,
        {
            "Content-Type": "multipart/form-data; boundary=b",
            "Authorization": f"Bearer {shared.keys['api_key']}",
        },
    )
    answer = connection.getresponse()
    assert answer.status == 200
    while not answer.readline().startswith(b"event: transcript.text.delta"):
        pass
    assert uploads(shared)
    assert shared.redis().keys("{stoker}:slots:scribe#*")
    answer.close()
    connection.close()
    shared.wait_for(lambda: not shared.redis().keys("{stoker}:slots:scribe#*"), 20, "free slot")


def test_a_stream_ends_with_an_error_when_its_engine_is_killed(shared: Platform, sdk: openai.OpenAI) -> None:
    stream = transcribe(sdk, file=("a.wav", b"/stub tokens_per_s=5 tokens=100 x"), stream=True)
    events = iter(stream)
    assert next(events).type == "transcript.text.delta"
    os.kill(shared.engine_pid("scribe"), signal.SIGKILL)
    with pytest.raises(openai.APIError, match="engine"):
        list(events)
    shared.wait_state("scribe", "loaded", 60)
    assert transcribe(sdk).text == "one two three"
