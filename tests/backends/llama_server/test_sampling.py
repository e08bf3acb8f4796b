"""The sampling fields in the requests to llama-server; the contract tests their effects on the server."""

from __future__ import annotations

import orjson
import pytest

from backends.llama_server.request_body import request_body
from config.settings import ModelDefinition
from tests.backends.conftest import DEMO_MODEL, Start, ask
from tests.backends.contract_sampling import ZEROS


def test_penalties_count_all_tokens_of_the_context() -> None:
    penalized = ask("Tell me a story.", presence_penalty=1.5)
    body = orjson.loads(request_body(penalized, "qwen3_template", context=512))
    assert (body["presence_penalty"], body["repeat_last_n"]) == (1.5, 512)
    assert "repeat_last_n" not in orjson.loads(request_body(ask("Hi"), "qwen3_template", context=512))


def test_llama_cpps_parameters_of_a_conversation_reach_the_server_with_bounded_windows() -> None:
    llama = {"samplers": ["top_k"], "dry_multiplier": 0.5, "dry_penalty_last_n": 10**9, "repeat_last_n": -1}
    body = orjson.loads(request_body(ask("Hi", llama=llama), "qwen3_template", context=512))
    assert body["messages"]
    assert body["samplers"] == ["top_k"]
    assert (body["dry_penalty_last_n"], body["repeat_last_n"]) == (512, 512)


@pytest.mark.engines
def test_llama_cpps_parameters_have_an_effect_on_the_answer_to_a_conversation(start: Start) -> None:
    model = ModelDefinition(
        "model", "llama_server", model_path=str(DEMO_MODEL), options={"llama_server_threads": 1}
    )
    server = start(model)
    fields = {"temperature": 2.0, "max_tokens": 30}
    greedy = server.answer(ask(ZEROS, **{**fields, "temperature": 0.0})).text
    drawn = {server.answer(ask(ZEROS, seed=seed, **fields)).text for seed in range(3)}
    assert drawn != {greedy}
    narrow = {"top_n_sigma": 0.001}
    assert {server.answer(ask(ZEROS, seed=seed, llama=narrow, **fields)).text for seed in range(3)} == {
        greedy
    }
