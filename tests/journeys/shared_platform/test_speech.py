"""Speech through the official SDK: whole, streamed while it is made, and as events."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

import httpx2
import openai
import pytest

from tests.support.platform import Platform

SECOND = 2 * 24_000


def speak(sdk: openai.OpenAI, text: str = "one two three", **fields: Any) -> Any:
    return sdk.audio.speech.create(
        **{"model": "voice", "voice": "alloy", "input": f"/stub echo {text}", **fields}
    )


def expected(words: int) -> bytes:
    return b"".join(struct.pack("<h", at) * 24_000 for at in range(words))


def test_sdk_gets_audio(sdk: openai.OpenAI) -> None:
    answer = speak(sdk, response_format="pcm")
    assert answer.content == expected(3)
    assert answer.response.headers["Content-Type"] == "audio/pcm"
    assert "X-Queue-Wait-Ms" in answer.response.headers


def test_the_audio_comes_while_it_is_made(sdk: openai.OpenAI) -> None:
    arguments: Any = {"model": "voice", "voice": "alloy", "response_format": "wav"}
    with sdk.audio.speech.with_streaming_response.create(
        input="/stub tokens_per_s=2 tokens=8 x", **arguments
    ) as answer:
        parts = answer.iter_bytes()
        received = next(parts)
        assert len(received) < 8 * SECOND  # the rest is not made yet
        received += b"".join(parts)
    assert received == expected(8)


def test_sdk_gets_audio_as_events(sdk: openai.OpenAI) -> None:
    with sdk.audio.speech.with_streaming_response.create(
        model="voice", voice="alloy", input="/stub echo one two", stream_format="sse"
    ) as answer:
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        lines = [line for line in answer.iter_lines() if line.startswith("data: {")]
    events: list[Any] = [json.loads(line.removeprefix("data: ")) for line in lines]
    assert [event["type"] for event in events] == ["speech.audio.delta"] * 2 + ["speech.audio.done"]
    assert b"".join(base64.b64decode(event["audio"]) for event in events[:-1]) == expected(2)


def test_a_failure_before_the_audio_has_a_status_of_its_own(sdk: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        speak(sdk, voice="unknown")
    assert refused.value.code == "unknown_voice"
    with pytest.raises(openai.BadRequestError) as wrong:
        speak(sdk, response_format="ogg")
    assert wrong.value.param == "response_format"


def test_a_failure_of_speech_as_events_is_an_event(sdk: openai.OpenAI) -> None:
    with sdk.audio.speech.with_streaming_response.create(
        model="voice", voice="unknown", input="/stub echo one", stream_format="sse"
    ) as answer:
        assert answer.status_code == 200
        lines = [line for line in answer.iter_lines() if line.startswith("data: {")]
    (failure,) = (json.loads(line.removeprefix("data: ")) for line in lines)
    assert failure["error"]["code"] == "unknown_voice"


def test_a_failure_amid_the_audio_cuts_the_connection(shared: Platform, sdk: openai.OpenAI) -> None:
    with pytest.raises((openai.APIConnectionError, httpx2.HTTPError)):
        _ = speak(sdk, text="", input="/stub tokens_per_s=4 tokens=20 crash_after=3 x").content
    shared.wait_state("voice", "loaded", 60)
    assert speak(sdk, response_format="pcm").content == expected(3)
