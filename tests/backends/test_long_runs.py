"""A text without words does not end an engine of llama.cpp, whose expressions take stack for each character."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

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
