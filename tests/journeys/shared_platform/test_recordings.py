"""Recordings in messages on the whole platform, sent with the official SDK in strict mode."""

from __future__ import annotations

from typing import Any

import httpx
import openai
import pytest

from generation.generation import AudioPart, Generation, TextPart
from tests.support.recordings import audio_part, encoded, mp3, wav, wav_of
from tests.support.waiting import scaled

pytestmark = pytest.mark.journey
LISTENER = "listener"
LARGE = wav(10)


def asked(*parts: dict[str, Any], text: str = "/stub echo_json what is this?") -> Any:
    return [{"role": "user", "content": [{"type": "input_text", "text": text}, *parts]}]


def chat(*parts: dict[str, Any]) -> Any:
    return [{"role": "user", "content": [{"type": "text", "text": "/stub echo_json what is this?"}, *parts]}]


def test_recordings_reach_the_engine_unchanged_in_responses(sdk: openai.OpenAI) -> None:
    response = sdk.responses.create(model=LISTENER, input=asked(audio_part(LARGE), audio_part(mp3(1), "mp3")))
    (message,) = Generation.from_json(response.output_text).messages
    assert message.content == (
        TextPart("/stub echo_json what is this?"),
        AudioPart(encoded(LARGE), "wav", 10_000),
        AudioPart(encoded(mp3(1)), "mp3", 1018),
    )
    assert response.usage
    assert response.usage.input_tokens == 7, "a recording is a word of the stub"


def test_recordings_reach_the_engine_unchanged_in_chat(sdk: openai.OpenAI) -> None:
    answer = sdk.chat.completions.create(model=LISTENER, messages=chat(audio_part(LARGE)))
    (message,) = Generation.from_json(answer.choices[0].message.content or "").messages
    assert message.recordings == (AudioPart(encoded(LARGE), "wav", 10_000),)
    stream = sdk.chat.completions.create(model=LISTENER, messages=chat(audio_part(LARGE)), stream=True)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)
    (message,) = Generation.from_json(text).messages
    assert message.recordings == (AudioPart(encoded(LARGE), "wav", 10_000),)


def test_a_continued_response_has_the_recording(sdk: openai.OpenAI) -> None:
    first = sdk.responses.create(model=LISTENER, input=asked(audio_part(LARGE), text="what is this?"))
    again = sdk.responses.create(
        model=LISTENER, previous_response_id=first.id, input="/stub echo_json and now?"
    )
    message, *_ = Generation.from_json(again.output_text).messages
    assert message.recordings == (AudioPart(encoded(LARGE), "wav", 10_000),)


def test_a_conversation_keeps_the_recording(sdk: openai.OpenAI) -> None:
    conversation = sdk.conversations.create()
    sdk.responses.create(
        model=LISTENER, conversation=conversation.id, input=asked(audio_part(LARGE), text="what is this?")
    )
    again = sdk.responses.create(
        model=LISTENER, conversation=conversation.id, input="/stub echo_json and now?"
    )
    message, *_ = Generation.from_json(again.output_text).messages
    assert message.recordings == (AudioPart(encoded(LARGE), "wav", 10_000),)
    # the SDK has no type for such a part of an item, so these answers are read without it
    for path in (f"conversations/{conversation.id}/items", f"responses/{again.id}/input_items"):
        answer = httpx.get(
            f"{sdk.base_url}{path}", params={"order": "asc"}, headers=sdk.auth_headers, timeout=scaled(30)
        )
        assert answer.json()["data"][0]["content"][1] == audio_part(LARGE), path


@pytest.mark.parametrize(
    ("parts", "code", "at"),
    [
        ([{"type": "input_audio", "input_audio": {"data": "%%%", "format": "wav"}}], "invalid_audio", 1),
        ([audio_part(wav_of(bytes(3200), size=1 << 30))], "invalid_audio", 1),
        ([audio_part(wav(), "mp3")], "invalid_audio", 1),
        ([audio_part(wav(0.01))] * 100, "unsupported_input", 33),
        ([audio_part(LARGE[:5000])], "invalid_audio", 1),
        ([audio_part(mp3(1801, slow=True), "mp3")], "audio_too_long", 1),
    ],
    ids=["no base64", "a header that lies", "another format", "100 parts", "cut off", "too long"],
)
def test_hostile_recordings_are_refused_with_their_path(
    sdk: openai.OpenAI, parts: list[dict[str, Any]], code: str, at: int
) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        sdk.responses.create(model=LISTENER, input=asked(*parts))
    assert caught.value.code == code
    assert f"input[0].content[{at}]" in str(caught.value.param)
    with pytest.raises(openai.BadRequestError) as caught:
        sdk.chat.completions.create(model=LISTENER, messages=chat(*parts))
    assert caught.value.code == code
    assert f"messages[0].content[{at}]" in str(caught.value.param)


def test_a_huge_recording_is_refused_as_a_body(sdk: openai.OpenAI) -> None:
    with pytest.raises(openai.APIStatusError) as caught:
        sdk.responses.create(model=LISTENER, input=asked(audio_part(bytes(9 << 20))))
    assert (caught.value.status_code, caught.value.code) == (413, "request_too_large")


@pytest.mark.parametrize("model", ["stub", "stoker-demo"])
def test_a_recording_is_refused_when_the_model_takes_none(sdk: openai.OpenAI, model: str) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        sdk.responses.create(model=model, input=asked(audio_part(LARGE)))
    assert (caught.value.code, caught.value.param) == ("audio_unsupported", "input[0].content[1]")


def test_the_list_of_models_shows_which_take_recordings(sdk: openai.OpenAI) -> None:
    models = {model.id: model.to_dict() for model in sdk.models.list()}
    listener: Any = models[LISTENER]
    assert listener["architecture"]["input_modalities"] == ["text", "audio"]
    assert listener["chat"]["input"] == ["text", "audio", "document"]
    stub: Any = models["stub"]
    assert "audio" not in stub["architecture"]["input_modalities"]
