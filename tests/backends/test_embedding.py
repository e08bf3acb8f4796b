"""The contract of engines that make vectors, for the backends that every installation has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from backends.base import GenerationError, LoadError
from config.settings import ModelDefinition
from tests.backends.conftest import DEMO_MODEL, Launched, Start
from tests.backends.contract_embedding import MANY, EmbeddingContract, asked, check_an_encoder
from tests.backends.contract_rerank import RerankContract, ranked, scores
from tests.backends.llama_cpp import tiny_gguf


class TestStubVectors(EmbeddingContract):
    backend = "stub"
    knows_tokens = False
    many = 10 * MANY

    def model(self) -> ModelDefinition:
        return ModelDefinition("model", "stub", options={"stub_dimensions": 64, "stub_context": 512})


class TestLlamaServerVectors(EmbeddingContract):
    backend = "llama_server"

    def model(self, pooling: str = "mean") -> ModelDefinition:
        named = {"n_ctx": 512, "threads": 1, "pooling": pooling}
        options = {f"llama_server_{name}": value for name, value in named.items()}
        return ModelDefinition("model", "llama_server", model_path=str(DEMO_MODEL), options=options)

    def test_a_model_without_a_classifier_scores_no_documents(self, start: Start) -> None:
        with pytest.raises(LoadError, match="classifier"):
            start(self.model("rank"))

    def test_an_input_that_is_refused_is_named_with_those_of_its_part(self, shared: Launched) -> None:
        with pytest.raises(GenerationError, match="one of the inputs 16 to 17: an input has"):
            shared.answer(asked(*["short"] * 16, "short", "word " * 600))
        with pytest.raises(GenerationError, match=r"^input 0: "):
            shared.answer(asked((1, 2, 2**31 - 1)))

    def test_an_encoder_makes_vectors(self, start: Start, tmp_path: Path) -> None:
        path = tiny_gguf.write(tmp_path / "bert.gguf", "bert")
        launched = start(replace(self.model("auto"), model_path=str(path)))
        check_an_encoder(launched)

    def test_a_file_that_names_no_pooling_needs_the_option(self, start: Start) -> None:
        with pytest.raises(LoadError) as caught:
            start(self.model("auto"))
        assert caught.value.code == "load_failed"
        assert "llama_server_pooling" in str(caught.value)


class TestStubScores(RerankContract):
    backend = "stub"
    many = 10 * MANY

    def model(self) -> ModelDefinition:
        return ModelDefinition("model", "stub", options={"stub_rerank": True, "stub_context": 512})

    def test_a_score_is_the_share_of_the_querys_words(self, shared: Launched) -> None:
        documents = ("The CAPITAL of Norway is Oslo", "of", "none")
        assert scores(shared, ranked("capital of Norway", *documents)) == pytest.approx([1, 1 / 3, 0])


class TestLlamaServerScores(RerankContract):
    backend = "llama_server"

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def _write(cls, tmp_path_factory: pytest.TempPathFactory) -> None:
        cls.path = tiny_gguf.write(tmp_path_factory.mktemp("tiny") / "reranker.gguf", "bert-reranker")

    def model(self) -> ModelDefinition:
        named = {"n_ctx": 512, "threads": 1, "pooling": "rank"}
        options = {f"llama_server_{name}": value for name, value in named.items()}
        return ModelDefinition("model", "llama_server", model_path=str(self.path), options=options)
