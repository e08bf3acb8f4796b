"""The form of errors of llama-server's routes."""

from __future__ import annotations

import pytest

from api.http.error_rendering import error_body, render_error
from api.http.llama_server_errors import is_llama_server
from store.errors import ModelLoading


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


@pytest.mark.parametrize("path", ["/completion", "/v1/stream", "/tokenize"])
def test_a_model_that_loads_is_503_on_the_routes_of_llama_server(path: str) -> None:
    error = ModelLoading("the model is loading")
    rendered = render_error(error, error_body(error, path))
    loading = {"code": 503, "message": "Loading model", "type": "unavailable_error"}
    assert (rendered.status, rendered.body) == (503, {"error": loading})
    assert "x-should-retry" not in rendered.headers


def test_a_model_that_loads_is_409_on_other_routes() -> None:
    error = ModelLoading("the model is loading")
    rendered = render_error(error, error_body(error, "/v1/chat/completions"))
    assert (rendered.status, rendered.body["error"]["code"]) == (409, "model_loading")
