"""The requests to vLLM, without vLLM."""

from __future__ import annotations

import pytest

from backends.vllm.adapter import vllm_body
from tasks.generation import Tool
from tests.backends.conftest import ask


def test_a_required_tool_call_must_match_its_schema() -> None:
    tool = Tool("f", None, {"type": "object"})
    forced = vllm_body(ask("x", tools=(tool,), tool_choice="required"), "generic")
    assert forced["tools"][0]["function"]["strict"] is True
    assert "strict" not in vllm_body(ask("x", tools=(tool,)), "generic")["tools"][0]["function"]


@pytest.mark.parametrize(("seed", "sent"), [(-1, 2**63 - 1), (0, 0), (-2, -2), (2**32, 2**32)])
def test_a_seed_that_vllm_takes_for_no_seed_is_replaced(seed: int, sent: int) -> None:
    assert vllm_body(ask("x", seed=seed), "generic")["seed"] == sent
    assert "seed" not in vllm_body(ask("x"), "generic")
