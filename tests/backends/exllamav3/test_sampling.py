"""The values of a model's generation_config.json fill what a request does not set."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from backends.exllamav3.engine.sampling import default_sampling, sampler

LIBRARY = SimpleNamespace(ComboSampler=dict)
"""The settings of a sampler instead of the sampler."""


def settings(body: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = sampler(LIBRARY, body, default_sampling(config), 1)
    return found


def test_values_of_the_model_fill_what_a_request_omits() -> None:
    config = {"temperature": 0.6, "top_k": 20, "repetition_penalty": 1.1, "max_length": 20}
    assert settings({}, config) == {"temperature": 0.6, "top_k": 20, "rep_p": 1.1}
    body = {"top_k": 0, "repetition_penalty": 1.0, "min_p": 0.1}
    assert settings(body, config) == {"temperature": 0.6, "top_k": 0, "rep_p": 1.0, "min_p": 0.1}


def test_model_without_values_has_those_of_the_library() -> None:
    assert settings({}, {}) == {"temperature": 0.8, "min_p": 0.08}
    assert settings({}, {"repetition_penalty": 1.1}) == {"temperature": 0.8, "min_p": 0.08, "rep_p": 1.1}


@pytest.mark.parametrize("body", [{"temperature": 0.0}, {"top_p": 0.0}, {"temperature": 1e-7}])
def test_likeliest_token_is_taken_after_biases_and_penalties(body: dict[str, Any]) -> None:
    found = settings({**body, "logit_bias": {"7": -100.0}, "repetition_penalty": 1.2}, {})
    assert found["temperature"] == 0.0
    assert (found["logit_bias"], found["rep_p"]) == ({7: -100.0}, 1.2)
