"""The contract of all backends, on a GPU."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest

from config.settings import ModelDefinition
from tests.backends.conftest import DEMO_MODEL
from tests.backends.exllamav3 import test_exllamav3
from tests.backends.llama_cpp import test_llama_cpp
from tests.gpu.conftest import needs

pytestmark = [pytest.mark.gpu, pytest.mark.engines, pytest.mark.timeout(900)]


class TestLlamaCpp(test_llama_cpp.TestLlamaCpp):
    backend = "llama_cpp"

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def prepared(cls) -> None:
        needs("llama_cpp")

    def model(self, **fields: object) -> ModelDefinition:
        options = {"gguf_n_ctx": 4096, "gguf_n_gpu_layers": -1}
        return ModelDefinition("model", "llama_cpp", model_path=str(DEMO_MODEL), options=options, **fields)


class TestExllamav3(test_exllamav3.Exllamav3Contract):
    load_s = 300.0  # Triton compiles its kernels when a machine runs them for the first time
    options: ClassVar[dict[str, object]] = {}

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def prepared(cls, demo_checkpoint: Path) -> None:
        needs("exllamav3")
        cls.checkpoint = demo_checkpoint


class TestExllamav3WithAQuantisedCache(TestExllamav3):
    kind = "quantised cache"
    options: ClassVar[dict[str, object]] = {"exllama_cache_quant": "8,6"}
