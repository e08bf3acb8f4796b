"""A text without words does not end an engine of llama.cpp, whose expressions take stack per character."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from backends.base import GenerationError
from config.settings import ModelDefinition
from generation.generation import Generation, TextTask
from streams.events import TokensDelta
from tests.backends.conftest import Launched, Start, ask
from tests.backends.llama_cpp import tiny_gguf

pytestmark = [pytest.mark.engines, pytest.mark.timeout(120)]

PRETOKENIZERS = ("tekken", "default", "deepseek-llm")
RUNS = ("a", "!", " ", "1", "\u00e9", "\u65e5", "\n")


def tokenized(engine: Launched, text: str) -> list[int]:
    answer = engine.answer(Generation("model", (), text_task=TextTask("tokenize", (text,))))
    items = b",".join(delta.items for delta in answer.deltas if isinstance(delta, TokensDelta))
    return list(orjson.loads(b"[%b]" % items))


@pytest.mark.parametrize("pretokenizer", PRETOKENIZERS)
@pytest.mark.parametrize("backend", ["llama_cpp", "llama_server"])
def test_a_text_without_words_has_tokens(
    start: Start, tmp_path: Path, backend: str, pretokenizer: str
) -> None:
    path = tiny_gguf.write(tmp_path / "model.gguf", "qwen3", **{"ggml.pre": pretokenizer})
    context = "gguf_n_ctx" if backend == "llama_cpp" else "llama_server_n_ctx"
    engine = start(ModelDefinition("model", backend, model_path=str(path), options={context: 4096}))
    for run in RUNS:
        text = run * 100_000
        assert bytes(tokenized(engine, text)).decode() == text
    assert tokenized(engine, "a th b") == tokenized(engine, "a ") + tokenized(engine, "th b")


def test_a_prompt_without_words_does_not_end_llama_cpp(start: Start, tmp_path: Path) -> None:
    path = tiny_gguf.write(
        tmp_path / "model.gguf", "qwen3", **{"ggml.pre": "tekken", "ggml.add_bos_token": True}
    )
    options = {"gguf_n_ctx": 4096}
    engine = start(ModelDefinition("model", "llama_cpp", model_path=str(path), options=options))
    with pytest.raises(Exception, match="fit"):  # it has more tokens than the context
        engine.answer(ask("a" * 30_000))
    assert engine.answer(ask("a", max_tokens=1)).finish is not None


def test_a_prompt_without_words_is_refused_by_llama_server(start: Start, tmp_path: Path) -> None:
    path = tiny_gguf.write(tmp_path / "model.gguf", "qwen3", **{"ggml.pre": "tekken"})
    options = {"llama_server_n_ctx": 4096}
    engine = start(ModelDefinition("model", "llama_server", model_path=str(path), options=options))
    text = "is it? " + "a" * 40_000
    for request in (ask(text), replace(ask(""), messages=(), prompt=text)):
        for asked in (request, replace(request, count_only=True)):
            with pytest.raises(GenerationError, match="in a row") as caught:
                engine.answer(asked)
            assert caught.value.code == "invalid_prompt"
    assert engine.answer(ask("a " * 1000, max_tokens=1)).finish is not None
