"""Ollama's `options` (Ollama API reference, "Parameters"), as sampling parameters.

Ollama takes any number for each: it cuts off the fraction of an integer, and a number beyond the useful range
counts as the end of the range (`sample/samplers.go`, `NewSampler`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from api.inference.dialects.request_fields import INT64_LIMIT, MAX_TOKENS
from api.inference.dialects.sampling import RANDOM_SEED
from generation.generation import Sampling


def sampling_of(body: Mapping[str, Any]) -> Sampling:
    """The sampling parameters: `options`, and the log probabilities that are asked for."""
    options = body.get("options") or {}
    stop, penalty = options.get("stop") or (), options.get("repeat_penalty")
    most, seed = options.get("num_predict"), options.get("seed")
    return Sampling(
        max_tokens=min(int(most), MAX_TOKENS) if most is not None and most >= 1 else None,
        temperature=_within(options.get("temperature"), 0, 2),
        top_p=_within(options.get("top_p"), 0, 1),
        seed=None if seed == RANDOM_SEED else _integer(seed, -INT64_LIMIT, INT64_LIMIT - 1),
        stop=tuple(text for text in ((stop,) if isinstance(stop, str) else stop) if text),
        top_k=_integer(options.get("top_k"), 0, MAX_TOKENS),
        min_p=_within(options.get("min_p"), 0, 1),
        presence_penalty=_within(options.get("presence_penalty"), -2, 2),
        frequency_penalty=_within(options.get("frequency_penalty"), -2, 2),
        repetition_penalty=_within(penalty, 0.01, 100) if penalty is not None and penalty > 0 else None,
        top_logprobs=(body.get("top_logprobs") or 0) if body.get("logprobs") else None,
    )


def _within(value: float | None, least: float, most: float) -> float | None:
    return None if value is None else min(max(value, least), most)


def _integer(value: float | None, least: int, most: int) -> int | None:
    return None if value is None else min(max(int(value), least), most)
