"""The contract of engines that make vectors, for llama_cpp. Needs its environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from config.settings import ModelDefinition
from tests.backends.conftest import DEMO_MODEL, Start
from tests.backends.contract_embedding import EmbeddingContract, check_an_encoder
from tests.backends.llama_cpp import tiny_gguf
from tests.backends.llama_cpp.test_llama_cpp import gguf, load_error

pytestmark = pytest.mark.engines


class TestLlamaCppVectors(EmbeddingContract):
    backend = "llama_cpp"

    def model(self) -> ModelDefinition:
        return gguf(n_ctx=512, pooling="mean")


@pytest.mark.parametrize("pooling", ["cls", "last"])
def test_each_pooling_makes_vectors(start: Start, pooling: str) -> None:
    assert start(gguf(DEMO_MODEL, n_ctx=256, pooling=pooling)).engine.context == 256


def test_an_encoder_makes_vectors(start: Start, tmp_path: Path) -> None:
    path = tiny_gguf.write(tmp_path / "bert.gguf", "bert")
    check_an_encoder(start(gguf(path, n_ctx=512, pooling="auto")))


def test_a_file_that_names_no_pooling_needs_the_option(start: Start) -> None:
    assert "gguf_pooling" in load_error(start, gguf(pooling="auto"))
