"""docs/llama-server.md: every rule has a test; the constants and routes of the specification have a row."""

from __future__ import annotations

import re

from tests.config.test_stream_variables import CONSTANTS
from tests.docs.page import code, read, rows
from tests.docs.rules import NOT_BUILT, keys_of, marked_rules, rule_rows

PAGE = read("llama-server.md")
PREFIX = "llama-server/"
ROUTES = {
    *("/completion", "/completions", "/infill", "/tokenize", "/detokenize", "/apply-template"),
    *("/embedding", "/embeddings", "/rerank", "/reranking", "/props", "/slots", "/lora-adapters", "/metrics"),
    *("/v1/health", "/v1/models", "/chat/completions", "/responses", "/v1/chat/completions/control"),
    *("/v1/stream", "/v1/streams/lookup", "/tools", "/cors-proxy", "/models/sse"),
}


def test_each_rule_has_a_test_and_each_mark_names_a_rule() -> None:
    assert {key for key in marked_rules() if key.startswith(PREFIX)} == set(keys_of(PAGE))


def test_a_rule_without_a_test_key_is_not_built_yet() -> None:
    assert {row[-1] for row in rule_rows(PAGE) if not code(row[-1])} <= {NOT_BUILT}


def test_every_route_and_constant_has_a_row() -> None:
    named = " ".join(name for row in rows(PAGE) for cell in row for name in code(cell))
    assert set(CONSTANTS) <= set(re.findall(r"\w+", named))
    assert set(re.findall(r"/[\w/-]*\w", named)) >= ROUTES
