"""Odd GGUF files on both backends of llama.cpp: each failed load says why and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from backends.base import LoadError
from config.settings import ModelDefinition
from tests.backends.conftest import Start, ask
from tests.support.odd_gguf import FAULTS, NEEDS_ARGUMENT, SOUND, changed, plain, with_template

pytestmark = pytest.mark.engines

PREFIXES = {"llama_server": "llama_server_", "llama_cpp": "gguf_"}
BACKENDS = ["llama_server", "llama_cpp"]


def model(backend: str, path: Path, **options: object) -> ModelDefinition:
    named = {f"{PREFIXES[backend]}{name}": value for name, value in {"threads": 1, **options}.items()}
    return ModelDefinition("model", backend, model_path=str(path), options={**named}, load_timeout_s=20.0)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_file_that_cannot_be_loaded_fails_with_one_sentence(
    start: Start, tmp_path: Path, backend: str, fault: str
) -> None:
    make, sentence = FAULTS[fault]
    with pytest.raises(LoadError) as caught:
        start(model(backend, make(tmp_path)))
    message = str(caught.value)
    assert caught.value.code == "load_failed"
    assert sentence in message
    assert "\n" not in message
    assert len(message) < 600


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("file", SOUND)
def test_an_odd_file_that_is_sound_answers(start: Start, tmp_path: Path, backend: str, file: str) -> None:
    launched = start(model(backend, SOUND[file](tmp_path), n_ctx=256))
    answer = launched.answer(ask("Hi", max_tokens=3))
    assert answer.finish is not None
    assert answer.finish.usage.input_tokens > 0


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_template_gets_the_configured_arguments(start: Start, tmp_path: Path, backend: str) -> None:
    template = NEEDS_ARGUMENT + "{% for m in messages %}{{ mode * 40 }}{{ m.content }}{% endfor %}"
    path = with_template(template)(tmp_path)
    launched = start(model(backend, path, n_ctx=256, chat_template_kwargs={"mode": "fast"}))
    answer = launched.answer(ask("Hi", max_tokens=3))
    assert answer.finish is not None
    assert answer.finish.usage.input_tokens >= 160, "the tokens are bytes"


def test_a_template_that_raises_is_quoted_when_the_server_tries_it(start: Start, tmp_path: Path) -> None:
    path = with_template(NEEDS_ARGUMENT + "{{ messages[0].content }}")(tmp_path)
    with pytest.raises(LoadError, match=r"in llama_server_chat_template_kwargs, .*: mode must be set\)$"):
        start(model("llama_server", path))


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_context_of_all_slots_is_bounded_by_that_of_the_model(
    start: Start, tmp_path: Path, backend: str
) -> None:
    path = changed(tmp_path, {"qwen3.context_length": 64})
    launched = start(model(backend, path, n_ctx=1_000_000), slots=4)
    assert launched.engine.context == 64


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_encoder_with_a_pooling_is_loaded(start: Start, tmp_path: Path, backend: str) -> None:
    start(model(backend, plain(tmp_path, "bert"), n_ctx=256, pooling="mean"))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_further_file_that_is_odd_is_named_with_its_option(
    start: Start, tmp_path: Path, backend: str
) -> None:
    option = f"{PREFIXES[backend]}lora.poet"
    with pytest.raises(LoadError, match=f"no.gguf does not exist: put the file there, or correct {option}"):
        start(model(backend, plain(tmp_path), lora={"poet": str(tmp_path / "no.gguf")}))
    with pytest.raises(LoadError, match=r"odd.gguf is a model, not a LoRA adapter: name the file of a LoRA"):
        start(model(backend, plain(tmp_path), lora={"poet": str(plain(tmp_path))}))
