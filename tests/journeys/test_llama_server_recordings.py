"""Recordings to a true llama-server with a projector for audio, over the whole platform with the SDK."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest

from tests.backends.conftest import DEMO_MODEL
from tests.backends.llama_server import tiny_audio_projector
from tests.journeys.conftest import ON_THE_CPU
from tests.support.platform import Platform, running_platform
from tests.support.recordings import audio_part, mp3, wav

pytestmark = [pytest.mark.engines, pytest.mark.journey, pytest.mark.timeout(300)]

DIM = 128  # of the demo model
TOKENS_OF_30_S = 1500 // 4
MODEL = "listener"


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    folder = tmp_path_factory.mktemp("up")
    projector = tmp_path_factory.mktemp("projector") / "mmproj.gguf"
    tiny_audio_projector.write(projector, DIM)
    model = {
        "backend": "llama_server",
        "enabled": True,
        "model_path": str(DEMO_MODEL),
        "target_inflight": 2,
        "llama_server_mmproj": str(projector),
        "llama_server_image_input": False,
        "llama_server_audio_input": True,
        "llama_server_n_ctx": 1024,
        "llama_server_threads": 1,
    }
    with running_platform(
        folder, {"models": {MODEL: model}}, "--port", "0", environment=ON_THE_CPU
    ) as running:
        running.wait_state(MODEL, "loaded", 60)
        yield running


@pytest.fixture
def sdk(platform: Platform) -> Iterator[openai.OpenAI]:
    with platform.sdk() as client:
        yield client


def asked(*parts: dict[str, Any], text_type: str = "input_text") -> Any:
    return [{"role": "user", "content": [{"type": text_type, "text": "What is Stoker?"}, *parts]}]


@pytest.mark.parametrize(("content", "format"), [(wav(2), "wav"), (mp3(2), "mp3")])
def test_the_model_reads_the_recording(sdk: openai.OpenAI, content: bytes, format: str) -> None:
    part = audio_part(content, format)
    plain = sdk.responses.create(model=MODEL, input=asked(), max_output_tokens=4)
    answer = sdk.responses.create(model=MODEL, input=asked(part), max_output_tokens=4)
    chat = sdk.chat.completions.create(
        model=MODEL, messages=asked(part, text_type="text"), max_completion_tokens=4
    )
    assert plain.usage
    assert answer.usage
    assert chat.usage
    assert answer.usage.input_tokens >= plain.usage.input_tokens + TOKENS_OF_30_S
    assert chat.usage.prompt_tokens == answer.usage.input_tokens


def test_a_continued_response_reads_the_recording_again(sdk: openai.OpenAI) -> None:
    first = sdk.responses.create(model=MODEL, input=asked(audio_part(wav(2))), max_output_tokens=4)
    again = sdk.responses.create(
        model=MODEL, previous_response_id=first.id, input="And now?", max_output_tokens=4
    )
    assert again.usage
    assert again.usage.input_tokens > TOKENS_OF_30_S
    assert again.usage.input_tokens_details.cached_tokens > TOKENS_OF_30_S


def test_the_properties_show_that_the_model_takes_recordings(platform: Platform, sdk: openai.OpenAI) -> None:
    def get(path: str) -> Any:
        return httpx.get(f"{platform.url}{path}", headers=sdk.auth_headers).json()

    assert get(f"/props?model={MODEL}")["modalities"] == {"vision": False, "video": False, "audio": True}
    flags = get("/v1/capabilities")["capabilities"]
    assert (flags["audioInput"], flags["visionInput"]) == (True, False)
    row: Any = next(model.to_dict() for model in sdk.models.list() if model.id == MODEL)
    assert row["architecture"]["input_modalities"] == ["text", "audio"]


def test_a_recording_that_the_engine_cannot_read_fails_only_its_request(sdk: openai.OpenAI) -> None:
    image = {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}
    with pytest.raises(openai.BadRequestError):
        sdk.responses.create(model=MODEL, input=asked(image))
    with pytest.raises(openai.BadRequestError) as caught:
        sdk.responses.create(model=MODEL, input=asked(*[audio_part(wav())] * 3))
    assert caught.value.code == "context_length_exceeded"
    assert sdk.responses.create(model=MODEL, input=asked(), max_output_tokens=4).output_text
