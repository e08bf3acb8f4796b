"""The form of errors of llama-server's routes."""

from __future__ import annotations

import pytest

from api.http.llama_server_errors import is_llama_server


@pytest.mark.parametrize(
    "path",
    ["/completion", "/slots", "/slots/0", "/tools", "/v1/stream/a/b", "/v1/streams/lookup", "/v1/health"],
)
def test_own_routes_have_llama_servers_form(path: str) -> None:
    assert is_llama_server(path)


@pytest.mark.parametrize("path", ["/", "/v1", "/v1/chat/completions", "/health", "/v1/streaming", "/slotted"])
def test_other_routes_have_another_form(path: str) -> None:
    assert not is_llama_server(path)


def test_the_control_of_a_chat_has_llama_servers_form() -> None:
    assert is_llama_server("/v1/chat/completions/control")
