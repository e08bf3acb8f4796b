"""`Sampling` from the fields that the request bodies of OpenAI's APIs share."""

from __future__ import annotations

from typing import Any

from generation.generation import Sampling

RANDOM_SEED = -1
"""The seed by which clients of vLLM and llama-server ask for none."""


def sampling_of(body: dict[str, Any], max_tokens: int | None, top_logprobs: int | None) -> Sampling:
    """The sampling parameters of a body that fits `SamplingFields`."""
    stop, top_k = body.get("stop") or (), body.get("top_k")
    return Sampling(
        max_tokens=max_tokens,
        temperature=body.get("temperature"),
        top_p=body.get("top_p"),
        seed=None if body.get("seed") == RANDOM_SEED else body.get("seed"),
        stop=(stop,) if isinstance(stop, str) else tuple(filter(None, stop)),
        top_k=None if top_k is None else max(top_k, 0),
        min_p=body.get("min_p"),
        presence_penalty=body.get("presence_penalty"),
        frequency_penalty=body.get("frequency_penalty"),
        repetition_penalty=body.get("repetition_penalty"),
        logit_bias=tuple((int(token), bias) for token, bias in (body.get("logit_bias") or {}).items()),
        top_logprobs=top_logprobs,
    )
