"""Recordings in llama-server: the demo model with projectors of random weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from backends.base import GenerationError, LoadError
from config.settings import ModelDefinition
from generation.generation import AudioFormat, AudioPart, Generation, Message, Sampling, TextPart
from streams.events import Usage
from tests.backends.conftest import DEMO_MODEL, NAMESPACE, Launched, Launcher, Start, ask
from tests.backends.llama_server import tiny_audio_projector, tiny_mmproj
from tests.support.recordings import encoded, mp3, wav, wav_of

pytestmark = pytest.mark.rule("models/modalities")

DIM = 128  # of the demo model
TEXT = "What is Stoker?"
TOKENS_OF_30_S = 1500 // 4
"""A recording is filled up to 30 s; the projector makes a token of 4 positions."""


@pytest.fixture(scope="module")
def projector(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("projector") / "mmproj.gguf"
    tiny_audio_projector.write(path, DIM)
    return path


def model_with_audio(projector: Path, **options: object) -> ModelDefinition:
    defaults = {
        "llama_server_mmproj": str(projector),
        "llama_server_image_input": False,
        "llama_server_audio_input": True,
        "llama_server_n_ctx": 1024,
        "llama_server_threads": 1,
    }
    return ModelDefinition(
        "model", "llama_server", model_path=str(DEMO_MODEL), options={**defaults, **options}
    )


@pytest.fixture(scope="module")
def engine(projector: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Launched]:
    launcher = Launcher(tmp_path_factory.mktemp("recordings"))
    yield launcher(model_with_audio(projector), slots=1)
    launcher.stop_all()


def request_with(*files: bytes, format: AudioFormat = "wav") -> Generation:
    recordings = (AudioPart(encoded(file), format) for file in files)
    message = Message("user", (TextPart(TEXT), *recordings))
    return Generation("model", (message,), Sampling(max_tokens=4, temperature=0.0), cache_namespace=NAMESPACE)


def usage(engine: Launched, generation: Generation) -> Usage:
    finish = engine.answer(generation).finish
    assert finish is not None
    return finish.usage


@pytest.mark.parametrize(("content", "format"), [(wav(1), "wav"), (mp3(1), "mp3")])
def test_the_engine_reads_a_recording(engine: Launched, content: bytes, format: AudioFormat) -> None:
    plain = usage(engine, request_with()).input_tokens
    assert usage(engine, request_with(content, format=format)).input_tokens - plain >= TOKENS_OF_30_S


def test_the_answer_depends_on_the_recording_when_the_rest_is_equal(engine: Launched) -> None:
    first = usage(engine, request_with(wav(1)))
    same = usage(engine, request_with(wav(1)))
    other = usage(engine, request_with(wav(1, hertz=880)))
    assert first.input_tokens == same.input_tokens == other.input_tokens
    assert same.cached_tokens > TOKENS_OF_30_S > other.cached_tokens, "another recording is not that one"


def test_a_wav_file_without_a_stated_length_is_read_to_its_end(engine: Launched) -> None:
    samples = wav(1)[44:]
    unstated = usage(engine, request_with(wav_of(samples, size=0xFFFFFFFF)))
    assert unstated.input_tokens == usage(engine, request_with(wav_of(samples))).input_tokens


def test_an_undecodable_recording_fails_only_its_request(engine: Launched) -> None:
    with pytest.raises(GenerationError) as caught:
        engine.answer(request_with(b"RIFF0000WAVE" + bytes(40)))
    assert caught.value.code == "invalid_prompt"
    assert engine.answer(request_with(wav())).finish is not None
    assert engine.answer(ask(TEXT, temperature=0.0)).text.startswith("Stoker is")


def test_recordings_over_the_context_length_are_rejected(engine: Launched) -> None:
    with pytest.raises(GenerationError) as caught:
        engine.answer(request_with(*[wav()] * 3))
    assert caught.value.code == "context_length_exceeded"


def test_tokens_are_counted_as_the_engine_reports_them(engine: Launched) -> None:
    asked = request_with(wav(1))
    counted = usage(engine, replace(asked, count_only=True)).input_tokens
    assert counted == usage(engine, asked).input_tokens


def test_a_begun_answer_to_a_recording_is_continued(engine: Launched) -> None:
    asked = request_with(wav(1))
    begun = (*asked.messages, Message("assistant", (TextPart("Stoker"),)))
    continued = replace(asked, messages=begun, continue_last=True)
    assert usage(engine, continued).input_tokens > TOKENS_OF_30_S


def test_a_model_with_a_projector_for_audio_alone_answers_texts_without_the_options(
    start: Start, projector: Path
) -> None:
    """As a presets file has it."""
    model = model_with_audio(projector, llama_server_image_input=True, llama_server_audio_input=False)
    assert start(model, slots=1).answer(ask(TEXT, temperature=0.0)).text.startswith("Stoker is")


@pytest.mark.parametrize("takes", ["audio", "image"])
def test_a_load_fails_when_the_projector_lacks_a_declared_input(
    start: Start, projector: Path, tmp_path: Path, takes: str
) -> None:
    for_images = tmp_path / "images.gguf"
    tiny_mmproj.write(for_images, DIM)
    if takes == "audio":
        model = model_with_audio(projector, llama_server_image_input=True)
        expected = "takes no images: set llama_server_image_input to false"
    else:
        model = model_with_audio(for_images, llama_server_image_input=True)
        expected = "takes no recordings: leave llama_server_audio_input out"
    with pytest.raises(LoadError, match=expected) as caught:
        start(model, slots=1)
    assert caught.value.code == "load_failed"
