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
