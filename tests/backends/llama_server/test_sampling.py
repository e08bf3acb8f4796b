"""The sampling fields in the requests to llama-server; the contract tests their effects on the server."""

from __future__ import annotations

import orjson

from backends.llama_server.request_body import request_body
from tests.backends.conftest import ask


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
