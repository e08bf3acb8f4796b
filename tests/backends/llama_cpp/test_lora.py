"""LoRA adapters in llama_cpp: requests with different ones take turns. Needs its environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from backends.base import LoadError
from config.settings import ModelDefinition
from tests.backends.conftest import DEMO_MODEL, Launched, Start, ask
from tests.backends.contract_lora import LoraContract, with_lora
from tests.backends.llama_cpp import tiny_gguf
from tests.support import tiny_lora

pytestmark = pytest.mark.engines


def model(loras: dict[str, Path]) -> ModelDefinition:
    options = {"gguf_n_ctx": 512, "gguf_threads": 1, "gguf_lora": {name: str(p) for name, p in loras.items()}}
    return ModelDefinition("model", "llama_cpp", model_path=str(DEMO_MODEL), options=options)


class TestLorasOfLlamaCpp(LoraContract):
    def model_with_loras(self, folder: Path) -> ModelDefinition:
        names = ("pirate", "poet")
        return model(
            {name: tiny_lora.write(folder / f"{name}.gguf", DEMO_MODEL, n) for n, name in enumerate(names)}
        )

    def test_requests_with_other_adapters_do_not_wait_for_the_end_of_one(
        self, engine_with_loras: Launched
    ) -> None:
        long = ask("0" * 100, temperature=0.0, max_tokens=300)

        def overlap(number: int) -> bool:
            running = [
                engine_with_loras.begin(with_lora(long, name), id=f"long-{name}-{number}")
                for name in (None, "pirate", "poet")
            ]
            for _, thread in running:
                thread.join()
            times = [answer.times for answer, _ in running]
            return max(one[0] for one in times) < min(one[-1] for one in times)

        # they never would if one waited; on a busy machine one may end before the last is sent
        assert any(overlap(number) for number in range(20))


@pytest.mark.parametrize("kind", ["damaged", "of another model"])
def test_unusable_adapter_fails_the_load_with_its_name(start: Start, tmp_path: Path, kind: str) -> None:
    file = tmp_path / "odd.gguf"
    if kind == "damaged":
        file.write_bytes(b"GGUF" + b"\0" * 100)
    else:
        tiny_lora.write(file, tiny_gguf.write(tmp_path / "other.gguf", "gemma3"))
    with pytest.raises(LoadError) as caught:
        start(model({"odd": file}))
    reason = " is damaged or" if kind == "damaged" else ", the LoRA adapter odd, is made for another model or"
    assert f"odd.gguf{reason}" in str(caught.value)
