"""The `vllm` backend, held to the contract."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from backends.base import LoadError
from tests.backends.conftest import Launched, Start, ask
from tests.backends.vllm.vllm_contract import MARKS, VllmContract

pytestmark = list(MARKS)


class TestVllm(VllmContract):
    backend = "vllm"

    @pytest.mark.parametrize("most", [5, 100])
    def test_what_is_thought_is_counted_whatever_may_stop_the_answer(
        self, shared: Launched, most: int
    ) -> None:
        """A stop string holds letters back, and vLLM's own count of what it reads as it comes goes wrong."""

        def counted(*stop: str) -> tuple[int, int]:
            wishes = {"thinking": "enabled", "temperature": 0.0, "max_tokens": most, "stop": stop}
            answer = shared.answer(ask("Think: what is 3+4?", **wishes))
            assert answer.finish is not None
            return answer.finish.usage.output_tokens, answer.finish.usage.reasoning_tokens

        assert counted("no such text", "and not this one either") == counted()

    def test_a_model_that_vllm_does_not_know_is_named(self, start: Start, tmp_path: Path) -> None:
        folder = Path(shutil.copytree(self.checkpoint, tmp_path / "unknown"))
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, "architectures": ["NobodyForCausalLM"]}))
        with pytest.raises(LoadError) as caught:
            start(self.model(model_path=str(folder)))
        assert str(caught.value) == "vLLM does not know the architecture of this model (NobodyForCausalLM)"
