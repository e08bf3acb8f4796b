"""The requests to vLLM, without vLLM."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from backends.vllm.request_body import vllm_body
from generation.generation import AudioPart, ImagePart, Message, TextPart, Tool
from tests.backends.conftest import ask


def test_a_required_tool_call_must_match_its_schema() -> None:
    tool = Tool("f", None, {"type": "object"})
    forced = vllm_body(ask("x", tools=(tool,), tool_choice="required"), "generic")
    assert forced["tools"][0]["function"]["strict"] is True
    assert "strict" not in vllm_body(ask("x", tools=(tool,)), "generic")["tools"][0]["function"]


def picture(url: str, **fields: object) -> dict[str, Any]:
    """The body of a request with one image."""
    request = replace(
        ask("", **fields), messages=(Message("user", (ImagePart(url), TextPart("What is it?"))),)
    )
    return vllm_body(request, "generic")


def test_a_recording_has_one_name_in_a_namespace_and_another_in_all_others() -> None:
    def named(data: str, namespace: str) -> str:
        message = Message("user", (AudioPart(data, "wav"), TextPart("What is it?")))
        body = vllm_body(replace(ask("", cache_namespace=namespace), messages=(message,)), "generic")
        part, text = body["messages"][0]["content"]
        assert part["input_audio"] == {"data": data, "format": "wav"}
        assert "uuid" not in text
        return str(part["uuid"])

    assert named("UklG", "a") == named("UklG", "a")
    assert len({named("UklG", "a"), named("UklH", "a"), named("UklG", "b")}) == 3


def test_the_salt_is_the_namespace_or_one_that_no_other_request_has() -> None:
    salts = [vllm_body(ask("x", cache_namespace=name), "generic")["cache_salt"] for name in ("a", "a", "b")]
    assert salts == ["a", "a", "b"]
    for alone in ({"cache_mode": "none"}, {"cache_namespace": None}):
        found = {vllm_body(ask("x", **alone), "generic")["cache_salt"] for _ in range(3)}
        assert len({*found, *salts}) == 5


def test_an_image_has_one_name_in_a_namespace_and_another_in_all_others() -> None:
    """vLLM caches images by name, for all requests."""

    def name(url: str, **fields: object) -> str:
        first, second = picture(url, **fields)["messages"][0]["content"]
        assert "uuid" not in second
        return str(first["uuid"])

    a, b = {"cache_namespace": "a"}, {"cache_namespace": "b"}
    assert name("data:x", **a) == name("data:x", **a)
    assert len({name("data:x", **a), name("data:y", **a), name("data:x", **b)}) == 3
    assert name("data:x", cache_mode="none") != name("data:x", cache_mode="none")


@pytest.mark.parametrize(("seed", "sent"), [(-1, 2**63 - 1), (0, 0), (-2, -2), (2**32, 2**32)])
def test_a_seed_that_vllm_takes_for_no_seed_is_replaced(seed: int, sent: int) -> None:
    assert vllm_body(ask("x", seed=seed), "generic")["seed"] == sent
    assert "seed" not in vllm_body(ask("x"), "generic")


def test_sampling_fields_are_sent_only_where_they_are_asked_for() -> None:
    fields = {"top_k": 5, "min_p": 0.1, "presence_penalty": 1.0, "repetition_penalty": 1.1}
    body = vllm_body(ask("x", logit_bias=((7, -1.5),), **fields), "generic")
    assert {name: body[name] for name in fields} == fields
    assert body["logit_bias"] == {"7": -1.5}
    assert not {"logit_bias", "frequency_penalty", "logprobs", *fields} & set(vllm_body(ask("x"), "generic"))
