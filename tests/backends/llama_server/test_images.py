"""Images in llama-server: the demo model with a projector of random weights."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from backends.base import GenerationError
from config.settings import ModelDefinition
from generation.generation import Generation, ImagePart, Message, Sampling, TextPart
from streams.events import Usage
from tests.backends.conftest import DEMO_MODEL, NAMESPACE, Launched, Launcher, Start, ask
from tests.backends.llama_server import tiny_mmproj
from tests.support.pictures import data_url, png

pytestmark = pytest.mark.rule("models/modalities")

DIM = 128  # of the demo model
TEXT = "What is Stoker?"
SMALL, LARGE = data_url(png(64, 32)), data_url(png(256, 256))


@pytest.fixture(scope="module")
def projector(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("projector") / "mmproj.gguf"
    tiny_mmproj.write(path, DIM)
    return path


def model_with_images(projector: Path, **options: object) -> ModelDefinition:
    defaults = {"llama_server_mmproj": str(projector), "llama_server_n_ctx": 1024, "llama_server_threads": 1}
    return ModelDefinition(
        "model", "llama_server", model_path=str(DEMO_MODEL), options={**defaults, **options}
    )


@pytest.fixture(scope="module")
def engine(projector: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Launched]:
    launcher = Launcher(tmp_path_factory.mktemp("images"))
    yield launcher(model_with_images(projector), slots=1)
    launcher.stop_all()


def request_with(*urls: str, at: int = len("What is ")) -> Generation:
    message = Message("user", (TextPart(TEXT[:at]), *map(ImagePart, urls), TextPart(TEXT[at:])))
    return Generation("model", (message,), Sampling(max_tokens=4, temperature=0.0), cache_namespace=NAMESPACE)


def usage(engine: Launched, generation: Generation) -> Usage:
    finish = engine.answer(generation).finish
    assert finish is not None
    return finish.usage


def test_the_tokens_of_an_image_depend_on_its_size(engine: Launched) -> None:
    plain = usage(engine, request_with()).input_tokens
    small = usage(engine, request_with(SMALL)).input_tokens - plain
    large = usage(engine, request_with(LARGE)).input_tokens - plain
    assert (64 // 16) * (32 // 16) <= small < large
    assert large >= (256 // 16) * (256 // 16)
    assert usage(engine, request_with(SMALL, SMALL)).input_tokens - plain >= 2 * (64 // 16) * (32 // 16)


def test_an_image_and_the_text_before_it_are_cached(engine: Launched) -> None:
    first = usage(engine, request_with(LARGE))
    again = usage(engine, request_with(LARGE))
    assert again.input_tokens == first.input_tokens
    assert again.cached_tokens > (256 // 16) * (256 // 16)


def test_a_model_with_a_projector_answers_text_without_images(engine: Launched) -> None:
    assert engine.answer(ask(TEXT, temperature=0.0)).text.startswith("Stoker is")


def test_an_undecodable_image_fails_only_its_request(engine: Launched) -> None:
    with pytest.raises(GenerationError) as caught:
        engine.answer(request_with(data_url(png(64, 32)[:40])))
    assert caught.value.code == "invalid_prompt"
    assert engine.answer(request_with(SMALL)).finish is not None


def test_images_over_the_context_length_are_rejected(engine: Launched) -> None:
    with pytest.raises(GenerationError) as caught:
        engine.answer(request_with(*[LARGE] * 5))
    assert caught.value.code == "context_length_exceeded"


def test_the_tokens_of_an_image_can_be_limited(start: Start, projector: Path) -> None:
    engine = start(model_with_images(projector, llama_server_image_max_tokens=64), slots=1)
    assert usage(engine, request_with(LARGE)).input_tokens < 150
