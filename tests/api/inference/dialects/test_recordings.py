"""Recordings in requests: parsing, validation, cost, and models that do not accept them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import openai
import pytest
from flask.testing import FlaskClient

from api.http.errors import InvalidRequest
from api.http.strict_schema import SchemaMismatch
from api.inference.chat import dialect as chat
from api.inference.chat.schema import ChatRequest
from api.inference.dialects.recordings import MAX_AUDIO_BYTES, MAX_RECORDINGS
from api.inference.responses import dialect as responses
from api.inference.responses.schema import ResponsesRequest
from config.settings import ModelDefinition, Settings
from generation.generation import MAX_AUDIO_S, AudioPart, Generation, Message, TextPart
from generation.token_estimates import AUDIO_TOKENS_PER_S
from tests.support.api_fakes import Fakes
from tests.support.pictures import DOT
from tests.support.recordings import audio_part, encoded, mp3, wav, wav_of

WAV = wav(0.5)
TEXT = {"type": "input_text", "text": "What is "}
CHAT_TEXT = {"type": "text", "text": "What is "}
AUDIO = audio_part(WAV)
PART = AudioPart(encoded(WAV), "wav", 500)


@pytest.fixture
def settings(settings: Settings) -> Settings:
    listener = ModelDefinition("listener", "stub", options={"stub_audio_input": True})
    return replace(settings, models={**settings.models, "listener": listener})


def user(*parts: dict[str, Any], role: str = "user") -> list[dict[str, Any]]:
    return [{"role": role, "content": list(parts)}]


def parse(*parts: dict[str, Any]) -> Any:
    body = {"model": "listener", "input": user(*parts)}
    ResponsesRequest.check(body)
    return responses.parse(body)


def parse_chat(*messages: dict[str, Any]) -> Any:
    body = {"model": "listener", "messages": list(messages)}
    ChatRequest.check(body)
    return chat.parse(body)


def rejection(*parts: dict[str, Any]) -> tuple[str, str | None]:
    """The code and the path of the error of a request with these parts, which both APIs give."""
    with pytest.raises(InvalidRequest) as caught:
        parse(*parts)
    with pytest.raises(InvalidRequest) as of_chat:
        parse_chat(*user(*parts))
    assert of_chat.value.code == caught.value.code
    assert of_chat.value.param == str(caught.value.param).replace("input[", "messages[")
    return caught.value.code, caught.value.param


# ---- parsing


def test_a_recording_stays_between_the_texts_in_responses() -> None:
    parsed = parse(TEXT, AUDIO, {"type": "input_text", "text": "?"}, audio_part(mp3(1), "mp3"))
    of_mp3 = AudioPart(encoded(mp3(1)), "mp3", 1018)  # 39 frames
    assert parsed.generation.messages == (
        Message("user", (TextPart("What is "), PART, TextPart("?"), of_mp3)),
    )
    assert parsed.audio_params == ("input[0].content[1]", "input[0].content[3]")
    assert parsed.image_params == ()


def test_a_recording_stays_behind_the_text_in_chat() -> None:
    parsed = parse_chat({"role": "system", "content": "Hi"}, *user(CHAT_TEXT, AUDIO))
    assert parsed.generation.messages[1] == Message("user", (TextPart("What is "), PART))
    assert parsed.audio_params == ("messages[1].content[1]",)


def test_a_part_without_a_type_is_a_recording_when_it_has_one() -> None:
    part = {"input_audio": AUDIO["input_audio"]}
    assert parse(part).generation.messages[0].recordings == (PART,)
    assert parse_chat(*user(dict(part))).generation.messages[0].recordings == (PART,)


def test_base64_is_joined_when_it_stands_in_lines() -> None:
    lines = "\n".join(encoded(WAV)[at : at + 76] for at in range(0, len(encoded(WAV)), 76))
    part = {"type": "input_audio", "input_audio": {"data": lines, "format": "wav"}}
    assert parse(part).generation.messages[0].recordings == (PART,)


@pytest.mark.parametrize("role", ["system", "developer", "assistant"])
def test_a_recording_is_refused_when_its_message_is_none_of_the_user(role: str) -> None:
    with pytest.raises(InvalidRequest, match="only user messages may contain recordings") as caught:
        parse_chat(*user(AUDIO, role=role))
    assert (caught.value.code, caught.value.param) == ("unsupported_input", "messages[0].content[0]")
    body = {"model": "listener", "input": user(AUDIO, role=role)}
    ResponsesRequest.check(body)
    with pytest.raises(InvalidRequest, match="only user messages may contain recordings"):
        responses.parse(body)


def test_a_recording_is_refused_when_it_is_the_result_of_a_call() -> None:
    calls = [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    result = {"role": "tool", "tool_call_id": "a", "content": [AUDIO]}
    with pytest.raises(InvalidRequest, match="only user messages may contain recordings"):
        parse_chat({"role": "assistant", "tool_calls": calls}, result)
    output = {"type": "function_call_output", "call_id": "a", "output": [AUDIO]}
    with pytest.raises(SchemaMismatch) as caught:
        ResponsesRequest.check({"model": "listener", "input": [output]})
    assert caught.value.code == "unsupported_input"


# ---- validation


@pytest.mark.parametrize(
    ("data", "format"),
    [
        ("no base64 at all!", "wav"),
        ("UklGR", "wav"),
        ("", "wav"),
        ("", "mp3"),
        (encoded(b"RIFF"), "wav"),
        (encoded(WAV), "mp3"),
        (encoded(mp3()), "wav"),
        (encoded(bytes(4000)), "mp3"),
        (encoded(b"\xff" * 4000), "mp3"),
        (encoded(b"ID3\x04\0\0\0\0\0\x0a" + bytes(10)), "mp3"),
        (encoded(b"GIF89a" + bytes(100)), "wav"),
    ],
)
def test_a_file_that_is_no_recording_of_its_format_is_refused_with_its_path(data: str, format: str) -> None:
    part = {"type": "input_audio", "input_audio": {"data": data, "format": format}}
    assert rejection(TEXT, part) == ("invalid_audio", "input[0].content[1].input_audio.data")


@pytest.mark.parametrize(
    "header",
    [
        {"size": 1 << 20},
        {"rate": 1, "byte_rate": 2},
        {"rate": 1 << 30, "byte_rate": 1 << 31},
        {"byte_rate": 1 << 30},
        {"block": 4},
        {"bits": 0, "block": 0, "byte_rate": 0},
        {"channels": 0, "block": 0, "byte_rate": 0},
        {"channels": 9, "block": 18, "byte_rate": 18 * 16_000},
        {"kind": 2},
        {"kind": 6, "bits": 16},
        {"size": 0},
    ],
)
def test_a_wav_file_is_refused_when_its_header_lies(header: dict[str, int]) -> None:
    assert rejection(audio_part(wav_of(bytes(3200), **header)))[0] == "invalid_audio"


@pytest.mark.parametrize(
    ("part", "path"),
    [
        ({"type": "input_audio"}, "input[0].content[0].input_audio"),
        ({"type": "input_audio", "input_audio": {"format": "wav"}}, "input[0].content[0].input_audio.data"),
        (
            {"type": "input_audio", "input_audio": {"data": encoded(WAV), "format": "flac"}},
            "input[0].content[0].input_audio.format",
        ),
        (
            {"type": "input_audio", "input_audio": {"data": 1, "format": "wav"}},
            "input[0].content[0].input_audio.data",
        ),
    ],
)
def test_a_part_of_another_form_is_refused_with_its_path(part: dict[str, Any], path: str) -> None:
    with pytest.raises(SchemaMismatch) as caught:
        parse(part)
    assert (caught.value.code, caught.value.path) == ("invalid_request", path)


def test_recordings_beyond_the_limit_of_a_request_are_refused() -> None:
    small = audio_part(wav(0.01))
    assert len(parse(*[small] * MAX_RECORDINGS).audio_params) == MAX_RECORDINGS
    path = f"input[0].content[{MAX_RECORDINGS}]"
    assert rejection(*[small] * 100) == ("unsupported_input", path)


@pytest.mark.parametrize("format", ["wav", "mp3"])
def test_recordings_that_are_too_long_together_are_refused(format: str) -> None:
    half = MAX_AUDIO_S // 2 + 1
    content = mp3(half, slow=True)
    if format == "wav":
        content = wav_of(bytes(8000 * half), rate=4000, byte_rate=8000)
    part = audio_part(content, format)
    assert rejection(part, part) == ("audio_too_long", "input[0].content[1]")


def test_recordings_that_are_too_large_together_are_refused() -> None:
    rate = 192_000 * 8 * 4
    large = wav_of(
        bytes(MAX_AUDIO_BYTES // 2 + 1), kind=3, channels=8, rate=192_000, byte_rate=rate, block=32, bits=32
    )
    assert rejection(audio_part(large), audio_part(large)) == ("unsupported_input", "input[0].content[1]")


# ---- admission


def test_the_cost_of_a_recording_follows_from_its_length(http: FlaskClient, fakes: Fakes) -> None:
    loud = wav_of(bytes(8 * 16_000 * 4), bits=64, kind=3, block=8, byte_rate=8 * 16_000)
    for content in (wav(4), loud):
        http.post("/v1/responses", json={"model": "listener", "input": user(TEXT, audio_part(content))})
    http.post("/v1/responses", json={"model": "listener", "input": user(TEXT)})
    small, large, plain = fakes.ledger.jobs.values()
    assert len(large.generation) > len(small.generation) + 400_000
    assert small.cost == large.cost
    assert 4 * AUDIO_TOKENS_PER_S < small.cost - plain.cost < 4 * AUDIO_TOKENS_PER_S + 30


@pytest.mark.rule("models/modalities")
@pytest.mark.parametrize("model", ["demo", "org/plain"])
def test_a_recording_is_refused_when_the_model_accepts_text_only(
    http: FlaskClient, fakes: Fakes, model: str
) -> None:
    for path, body, param in (
        ("responses", {"input": user(TEXT, AUDIO)}, "input[0].content[1]"),
        ("chat/completions", {"messages": user(AUDIO)}, "messages[0].content[0]"),
        ("chat/completions/input_tokens", {"messages": user(AUDIO)}, "messages[0].content[0]"),
    ):
        answer = http.post(f"/v1/{path}", json={"model": model, **body})
        assert (answer.status_code, answer.json["error"]["code"]) == (400, "audio_unsupported"), path
        assert answer.json["error"]["param"] == param
        assert answer.json["error"]["message"] == f"model {model} does not accept audio, only text"
    assert not fakes.ledger.jobs


def test_an_image_is_refused_when_the_model_takes_audio_alone(http: FlaskClient) -> None:
    image = {"type": "input_image", "image_url": DOT}
    answer = http.post("/v1/responses", json={"model": "listener", "input": user(AUDIO, image)})
    assert answer.json["error"]["code"] == "image_unsupported"
    assert answer.json["error"]["message"].endswith("only text and audio")


def test_recordings_of_the_sdk_reach_the_ledger(sdk: openai.OpenAI, fakes: Fakes) -> None:
    given: Any = user(TEXT, AUDIO)
    assert sdk.responses.create(model="listener", input=given).output_text == "Hello."
    asked: Any = user(CHAT_TEXT, AUDIO)
    sdk.chat.completions.create(model="listener", messages=asked)
    for job in fakes.ledger.jobs.values():
        (message,) = Generation.from_json(job.generation).messages
        assert message == Message("user", (TextPart("What is "), PART))
