"""Makes vectors of texts, or of tokens, with vLLM's pooling models."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Sequence
from copy import deepcopy
from importlib import import_module
from typing import Any

from .chat import VllmRequestError

PART_INPUTS = 16
PART_TOKENS = 8192
"""The inputs of a part, and how many tokens several of them may have. Other requests run between parts."""

Input = str | list[int]


class InputPreparer:
    """Makes the vectors of one loaded engine. `context` is the most tokens of an input."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        model = engine.model_config
        self.context: int = model.max_model_len
        self._vocabulary: int = model.get_vocab_size()
        self._tokenizer = deepcopy(engine.renderer.tokenizer)  # vLLM uses its own in threads
        self._parameters = import_module("vllm").PoolingParams
        self._normalize = import_module("torch").nn.functional.normalize
        self._numbers = 0  # of a vector

    async def warm_up(self) -> None:
        """Make a vector, which has the numbers of all others."""
        self._numbers = len(await self._vector("warm-up", [0]))

    def check(self, body: dict[str, Any]) -> None:
        """Raise `VllmRequestError` if the vectors have fewer numbers than `dimensions` asks for."""
        if (body["dimensions"] or 0) > self._numbers:
            sentence = f"the embeddings of this model have {self._numbers} dimensions"
            raise VllmRequestError("invalid_prompt", sentence)

    async def part(self, inputs: Sequence[Input], first: int) -> list[list[int]]:
        """The tokens of the inputs from `first` on: of one, and of more as far as they fit into a part.

        Raises `VllmRequestError`.
        """
        part: list[list[int]] = []
        size = 0
        for index in range(first, min(len(inputs), first + PART_INPUTS)):
            tokens = await self._tokens(inputs[index], index)
            size += len(tokens)
            if part and size > PART_TOKENS:
                break
            part.append(tokens)
        return part

    async def vectors(self, id: str, part: list[list[int]], dimensions: int | None) -> list[str]:
        """The vectors of token sequences (float32, little-endian, in base64)."""
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._vector(f"{id}-{index}", tokens)) for index, tokens in enumerate(part)
            ]
        return [self._encoded(task.result(), dimensions) for task in tasks]

    def _encoded(self, vector: Any, dimensions: int | None) -> str:
        shortened = self._normalize(vector[:dimensions].float(), dim=0)
        return base64.b64encode(shortened.numpy().astype("<f4").tobytes()).decode()

    async def _vector(self, id: str, tokens: list[int]) -> Any:
        prompt = {"prompt_token_ids": tokens}
        made = None
        async for item in self._engine.encode(prompt, self._parameters(task="embed"), id):
            made = item.outputs.data
        if made is None:
            raise RuntimeError("the engine did not compute an embedding")
        return made

    async def _tokens(self, given: Input, index: int) -> list[int]:
        if isinstance(given, str):
            tokens: list[int] = await asyncio.to_thread(self._tokenizer.encode, given)
        else:
            tokens = given
            if not all(token < self._vocabulary for token in tokens):
                sentence = f"input {index} has a token that the model does not have"
                raise VllmRequestError("invalid_prompt", sentence)
        if len(tokens) > self.context:
            sentence = f"input {index} has {len(tokens)} tokens; {self.context} fit"
            raise VllmRequestError("context_length_exceeded", sentence)
        if not tokens:
            raise VllmRequestError("invalid_prompt", f"input {index} has no tokens")
        return tokens
