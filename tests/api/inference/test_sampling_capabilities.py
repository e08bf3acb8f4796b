"""Sampling fields that a model's backend does not honour are refused; values without effect are not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from api.http.errors import ApiError
from api.http.strict_fields import MAX_LOGIT_BIAS
from api.inference.capabilities import check
from api.inference.dialects.base import ParsedRequest
from config.settings import ModelDefinition
from generation.generation import Generation, Message, Sampling, text_content

STUB, EXL3 = ModelDefinition("echo", "stub"), ModelDefinition("plain", "exllamav3")
GENERATOR = ModelDefinition("generator", "ct2", options={"ct2_task": "generate"})
TRANSLATOR = ModelDefinition("translator", "ct2", options={"ct2_task": "translate"})
ASKED: dict[str, Any] = {
    "top_k": 5,
    "min_p": 0.1,
    "presence_penalty": 1.0,
    "frequency_penalty": 1.0,
    "repetition_penalty": 1.1,
    "logit_bias": ((5, 1.0),),
    "top_logprobs": 0,
}
MESSAGES = (Message("user", text_content("hi")),)


def parsed(sampling: dict[str, Any], **fields: Any) -> ParsedRequest:
    generation = Generation("m", MESSAGES, Sampling(**sampling), **fields)
    return ParsedRequest(generation, field_names={"top_logprobs": "logprobs"})


def refusal(model: ModelDefinition, request: ParsedRequest) -> tuple[str, str | None]:
    with pytest.raises(ApiError) as caught:
        check(model, request)
    return caught.value.code, caught.value.param


@pytest.mark.parametrize("name", ASKED)
def test_field_is_refused_when_the_backend_lacks_it(name: str) -> None:
    check(STUB, parsed({name: ASKED[name]}))
    param = "logprobs" if name == "top_logprobs" else name
    assert refusal(TRANSLATOR, parsed({name: ASKED[name]})) == ("unsupported_parameter", param)


@pytest.mark.parametrize("fields", [{"suffix": "end"}, {"thinking_budget": 5}])
def test_field_of_the_generation_is_refused_when_the_backend_lacks_it(fields: dict[str, Any]) -> None:
    check(STUB, parsed({}, **fields))
    assert refusal(TRANSLATOR, parsed({}, **fields)) == ("unsupported_parameter", next(iter(fields)))


def test_values_without_effect_pass() -> None:
    neutral = {"top_k": 0, "min_p": 0.0, "presence_penalty": 0.0, "frequency_penalty": 0.0}
    check(TRANSLATOR, parsed({**neutral, "repetition_penalty": 1.0}))


def test_bounds_are_checked() -> None:
    biases = tuple((token, 1.0) for token in range(MAX_LOGIT_BIAS + 1))
    assert refusal(STUB, parsed({"logit_bias": biases}))[1] == "logit_bias"
    assert refusal(STUB, parsed({"top_logprobs": 21}))[1] == "logprobs"


def test_remote_model_takes_the_fields_that_its_server_knows() -> None:
    def remote(**options: Any) -> ModelDefinition:
        return ModelDefinition(
            "remote", "openai_remote", options={f"openai_remote_{k}": v for k, v in options.items()}
        )

    def asked(name: str) -> ParsedRequest:
        found = parsed({name: ASKED[name]})
        return replace(found, generation=replace(found.generation, allow_remote=True))

    for name in ASKED:
        is_further = name in ("top_k", "min_p", "repetition_penalty")
        check(remote(further_sampling=True), asked(name))
        if is_further:
            assert refusal(remote(), asked(name)) == ("unsupported_parameter", name)
        else:
            check(remote(), asked(name))
        assert (
            refusal(remote(api="responses", further_sampling=True), asked(name))[0] == "unsupported_parameter"
        )


def test_log_probabilities_of_a_prompt_are_refused_when_the_backend_has_none() -> None:
    asked = parsed({"top_logprobs": 0}, prompt="x", scores_prompt=True)
    check(STUB, asked)
    assert refusal(ModelDefinition("m", "llama_cpp"), asked) == ("unsupported_parameter", "echo")


def test_a_translator_samples_nothing() -> None:
    for name in ("top_k", "repetition_penalty", "top_logprobs"):
        asked = parsed({name: ASKED[name]}, target_lang_code="de")
        check(GENERATOR, asked)
        assert refusal(TRANSLATOR, asked)[0] == "unsupported_parameter"
