"""LoRA adapters in the backends that every installation has."""

from __future__ import annotations

import os
from pathlib import Path

from config.settings import ModelDefinition
from tests.backends.conftest import DEMO_MODEL, NATIVE
from tests.backends.contract_lora import LoraContract
from tests.support import tiny_lora


class TestLorasOfStub(LoraContract):
    def model_with_loras(self, folder: Path) -> ModelDefinition:
        loras = {name: str(folder / name) for name in ("pirate", "poet")}
        return ModelDefinition("model", "stub", options={"stub_lora": loras})


class TestLorasOfLlamaServer(LoraContract):
    binary: str | None = None

    def model_with_loras(self, folder: Path) -> ModelDefinition:
        loras = {
            name: str(tiny_lora.write(folder / f"{name}.gguf", DEMO_MODEL, seed))
            for seed, name in enumerate(("pirate", "poet"))
        }
        options = {
            "llama_server_n_ctx": 512,
            "llama_server_threads": 1,
            "llama_server_lora": loras,
            "llama_server_binary": self.binary,
        }
        return ModelDefinition("model", "llama_server", model_path=str(DEMO_MODEL), options=options)


if NATIVE in os.environ:

    class TestLorasOfNativeLlamaServer(TestLorasOfLlamaServer):
        """The same with a native binary, if there is one."""

        binary = os.environ[NATIVE]
