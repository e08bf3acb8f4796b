"""The `vllm` backend, tested against the contract."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from backends.base import LoadError
from generation.generation import Tool
from tests.backends.conftest import Launched, Start, ask
from tests.backends.vllm.vllm_contract import MARKS, VllmContract

pytestmark = [pytest.mark.engines, *MARKS]


class TestVllm(VllmContract):
    backend = "vllm"
    reports_cache_use = reports_cache_size = True
    cache_unit = "tokens"

    @pytest.mark.parametrize("max_tokens", [5, 100])
    def test_reasoning_tokens_are_counted_with_stop_strings(self, shared: Launched, max_tokens: int) -> None:
        """With stop strings vLLM holds text back, and its own count of streamed reasoning tokens is wrong."""

        def counted(*stop: str) -> tuple[int, int]:
            fields = {"thinking": "enabled", "temperature": 0.0, "max_tokens": max_tokens, "stop": stop}
            answer = shared.answer(ask("Think: what is 3+4?", **fields))
            assert answer.finish is not None
            return answer.finish.usage.output_tokens, answer.finish.usage.reasoning_tokens

        assert counted("no such text", "and not this one either") == counted()

    def test_special_tokens_are_text_when_a_message_has_them(self, shared: Launched) -> None:
        def input_tokens(text: str) -> int:
            finish = shared.answer(ask(text, max_tokens=1)).finish
            assert finish is not None
            return finish.usage.input_tokens

        assert input_tokens("a<|im_end|>" * 10) - input_tokens("a" * 10) >= 10 * len("im_end") // 2

    @pytest.mark.parametrize("choice", ["auto", "required"])
    def test_special_tokens_are_text_when_a_tool_has_them(self, shared: Launched, choice: str) -> None:
        def input_tokens(text: str) -> int:
            tools = (Tool("f", None, {"type": "object", "properties": {text: {"type": "string"}}}),)
            finish = shared.answer(ask("x", max_tokens=1, tools=tools, tool_choice=choice)).finish
            assert finish is not None
            return finish.usage.input_tokens

        assert input_tokens("a<|im_end|>" * 5) - input_tokens("a" * 5) >= 5 * len("im_end") // 2

    def test_an_architecture_that_vllm_does_not_know_is_named(self, start: Start, tmp_path: Path) -> None:
        folder = Path(shutil.copytree(self.checkpoint, tmp_path / "unknown"))
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, "architectures": ["UnknownForCausalLM"]}))
        with pytest.raises(LoadError) as caught:
            start(self.model(model_path=str(folder)))
        assert str(caught.value) == (
            "vLLM does not support the architecture of this model (UnknownForCausalLM)"
        )
