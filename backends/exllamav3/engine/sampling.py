"""The samplers of ExLlamaV3: those of requests, with the model's values for what a request does not set.

Source: `exllamav3/generator/sampler` of version 1.6.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

CHOICE_FIELDS = ("temperature", "top_p", "top_k", "min_p")
NAMES = {
    **{name: name for name in CHOICE_FIELDS},
    "repetition_penalty": "rep_p",
    "presence_penalty": "pres_p",
    "frequency_penalty": "freq_p",
}
"""The library's name for each field of a request."""

DEFAULT_SAMPLING = {"temperature": 0.8, "min_p": 0.08}
"""The sampling when neither the request nor the model's generation_config.json sets it: that of
`DefaultSampler`."""

MIN_VALUE = 1e-6
"""The least temperature and top_p. Below it the best token is taken: single precision cannot divide by such a
value."""


def default_sampling(config: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that a model's generation_config.json sets, or those of the library; by the API's names."""
    configured = {name: config[name] for name in CHOICE_FIELDS if config.get(name) is not None}
    found: dict[str, Any] = configured or dict(DEFAULT_SAMPLING)
    if config.get("repetition_penalty") is not None:
        found["repetition_penalty"] = config["repetition_penalty"]
    return found


def sampler(library: Any, body: Mapping[str, Any], defaults: Mapping[str, Any], prompt_tokens: int) -> Any:
    """The sampler of a request whose prompt has so many tokens."""
    fields = {**defaults, **{name: body[name] for name in NAMES if name in body}}
    if min(fields.get("temperature", 1), fields.get("top_p", 1)) < MIN_VALUE:
        fields = {**fields, "temperature": 0.0}
    settings = {NAMES[name]: value for name, value in fields.items()}
    if biases := body.get("logit_bias"):
        settings["logit_bias"] = {int(token): bias for token, bias in biases.items()}
    if "presence_penalty" in body or "frequency_penalty" in body:
        return _answer_sampler_class(library)(prompt_tokens, settings)
    return library.ComboSampler(**settings)


@cache
def _answer_sampler_class(library: Any) -> Any:
    """A subclass of the library's sampler whose presence and frequency penalties count the answer's tokens.

    The library counts the last `sustain_range` tokens of prompt and answer together.
    """

    class AnswerSampler(library.ComboSampler):  # type: ignore[misc]
        def __init__(self, prompt_tokens: int, settings: Mapping[str, Any]) -> None:
            super().__init__(**settings)
            self._prompt_tokens = prompt_tokens
            self._penalties = [step for step in self.steps if isinstance(step, library.SS_PresFreqP)]

        def forward(self, logits: Any, sequence_ids: Any = None, *arguments: Any, **named: Any) -> Any:
            for step in self._penalties:
                step.sustain_range = sequence_ids.shape[-1] - self._prompt_tokens
            return super().forward(logits, sequence_ids, *arguments, **named)

    return AnswerSampler
