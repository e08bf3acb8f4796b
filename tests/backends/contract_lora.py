"""The behaviour that is required of adapters whose models have LoRA adapters."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from backends.base import GenerationError
from config.settings import ModelDefinition
from generation.generation import Generation
from tests.backends.conftest import Launched, ask

NAMESPACES = {None: "0" * 32, "pirate": "1" * 32, "poet": "2" * 32}
"""The platform derives another namespace for each LoRA adapter (`governance.cache_namespaces`)."""


def with_lora(request: Generation, name: str | None) -> Generation:
    """Return the request with this LoRA adapter."""
    return replace(request, lora=name, cache_namespace=NAMESPACES[name])


class LoraContract:
    """The requirements for a model with the LoRA adapters `pirate` and `poet`."""

    def model_with_loras(self, folder: Path) -> ModelDefinition:
        """Return the model, whose adapters may be written to the folder."""
        raise NotImplementedError

    def prompt(self) -> Generation:
        """Return a request whose answer depends on the adapter."""
        return ask("What is the capital of Norway?", temperature=0.0, max_tokens=24)

    def test_each_adapter_has_an_answer_of_its_own_in_any_order(self, engine_with_loras: Launched) -> None:
        answers = {name: engine_with_loras.answer(with_lora(self.prompt(), name)).text for name in NAMESPACES}
        assert len(set(answers.values())) == len(answers)
        for name in ("poet", None, None, "pirate", "poet", None):
            assert engine_with_loras.answer(with_lora(self.prompt(), name)).text == answers[name]

    def test_requests_at_once_with_and_without_adapter_keep_apart(self, engine_with_loras: Launched) -> None:
        answers = {name: engine_with_loras.answer(with_lora(self.prompt(), name)).text for name in NAMESPACES}
        names = [None, "pirate", "poet", None, "poet", "pirate", "pirate", None]
        running = [
            engine_with_loras.begin(with_lora(self.prompt(), name), id=f"{at}-{name}")
            for at, name in enumerate(names)
        ]
        for name, (answer, thread) in zip(names, running, strict=True):
            thread.join()
            assert (answer.error, answer.text) == (None, answers[name])

    def test_tokens_of_a_prompt_are_counted_with_an_adapter(self, engine_with_loras: Launched) -> None:
        counts = []
        for name in NAMESPACES:
            counted = replace(with_lora(self.prompt(), name), count_only=True)
            finish = engine_with_loras.answer(counted).finish
            assert finish is not None
            counts.append(finish.usage.input_tokens)
        assert counts[0] == counts[1] == counts[2] > 0

    def test_adapter_that_the_engine_lacks_is_refused(self, engine_with_loras: Launched) -> None:
        """The API refuses it, but may have another configuration than the engine was loaded with."""
        with pytest.raises(GenerationError) as caught:
            engine_with_loras.answer(replace(self.prompt(), lora="sailor"))
        assert caught.value.code == "unsupported_parameter"
        assert engine_with_loras.answer(self.prompt()).text
