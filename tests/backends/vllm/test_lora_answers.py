"""LoRA adapters in both vLLM backends, whose steps may have requests with different ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from backends.base import LoadError
from config.settings import ModelDefinition
from tests.backends.conftest import DEMO_MODEL, Start
from tests.backends.contract_lora import LoraContract
from tests.backends.vllm.vllm_contract import MARKS
from tests.support import tiny_lora

pytestmark = [pytest.mark.engines, *MARKS]


def model(backend: str, checkpoint: Path, loras: dict[str, Path]) -> ModelDefinition:
    options = {
        "vllm_max_model_len": 512,
        "vllm_kv_cache_memory_bytes": 64 << 20,
        "vllm_chat_template_kwargs": {"enable_thinking": False},
        "vllm_lora": {name: str(folder) for name, folder in loras.items()},
    }
    return ModelDefinition(
        "model", backend, model_path=str(checkpoint), prompt_format="qwen3_template", options=options
    )


class VllmLoraContract(LoraContract):
    backend: str
    checkpoint: Path

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def prepared(cls, demo_checkpoint: Path) -> None:
        cls.checkpoint = demo_checkpoint

    def model_with_loras(self, folder: Path) -> ModelDefinition:
        loras = {
            name: tiny_lora.write_peft(folder / name, DEMO_MODEL, seed)
            for seed, name in enumerate(("pirate", "poet"))
        }
        return model(self.backend, self.checkpoint, loras)


class TestLorasOfVllm(VllmLoraContract):
    backend = "vllm"


class TestLorasOfVllmServe(VllmLoraContract):
    backend = "vllm_serve"


@pytest.mark.parametrize(("backend", "named"), [("vllm", "adapter odd"), ("vllm_serve", "adapters")])
def test_unusable_adapter_fails_the_load(
    start: Start, tmp_path: Path, demo_checkpoint: Path, backend: str, named: str
) -> None:
    folder = tiny_lora.write_peft(tmp_path / "odd", DEMO_MODEL)
    (folder / "adapter_model.safetensors").write_bytes(b"damaged")
    with pytest.raises(LoadError, match=f"vLLM cannot load the LoRA {named}: "):
        start(model(backend, demo_checkpoint, {"odd": folder}))
