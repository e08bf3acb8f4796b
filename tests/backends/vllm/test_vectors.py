"""The contract of engines that make vectors, for vllm. Needs its environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from config.settings import ModelDefinition
from tests.backends.contract_embedding import EmbeddingContract
from tests.backends.vllm.vllm_contract import MARKS

pytestmark = [pytest.mark.engines, *MARKS]


class TestVllmVectors(EmbeddingContract):
    backend = "vllm"
    checkpoint: Path

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def prepared(cls, demo_checkpoint: Path) -> None:
        cls.checkpoint = demo_checkpoint

    def model(self) -> ModelDefinition:
        named = {"max_model_len": 512, "kv_cache_memory_bytes": 64 << 20, "pooling": "mean"}
        options = {f"vllm_{name}": value for name, value in named.items()}
        return ModelDefinition("model", "vllm", model_path=str(self.checkpoint), options=options)
