"""A page of another origin uses the API in a real browser, if its origin is allowed."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import ValkeyServer
from tests.support.served_api import Served, serving

pytestmark = pytest.mark.browser

CALLS = """
async ([url, key]) => {
  const headers = {"Authorization": `Bearer ${key}`, "Content-Type": "application/json"}
  const ask = async (path, body, more = {}) => {
    try {
      const answer = await fetch(url + path, {method: "POST", headers, body: JSON.stringify(body), ...more})
      return [answer.status, answer.headers.get("x-request-id"), await answer.text()]
    } catch (error) { return [0, null, String(error)] }
  }
  const messages = [{role: "user", content: "Hi"}]
  return {
    whole: await ask("/v1/chat/completions", {model: "alpha", messages}),
    stream: await ask("/v1/chat/completions", {model: "alpha", messages, stream: true}),
    lines: await ask("/api/chat", {model: "alpha", messages}),
    unknown: await ask("/v1/chat/completions", {model: "none", messages}),
    cookies: await ask("/v1/chat/completions", {model: "alpha", messages}, {credentials: "include"}),
  }
}
"""


class Page(http.server.BaseHTTPRequestHandler):
    """An empty page."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>chat</title>")

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


@pytest.fixture
def origin() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def served(shared_server: ValkeyServer, tmp_path_factory: Any, origin: str) -> Iterator[Served]:
    variables = {"STOKER_API_KEY": "sk-page", "STOKER_API__ALLOWED_ORIGINS": origin}
    with serving(shared_server, tmp_path_factory.mktemp("page"), variables) as served:
        served.handle = served.answer_hello
        yield served


def results(chromium: Any, page_url: str, served: Served, key: str = "sk-page") -> dict[str, list[Any]]:
    context = chromium.new_context()
    try:
        page = context.new_page()
        page.goto(page_url)
        found: dict[str, list[Any]] = page.evaluate(CALLS, [served.url, key])
        return found
    finally:
        context.close()


def test_a_page_of_an_allowed_origin_reads_answers_streams_and_errors(
    chromium: Any, served: Served, origin: str
) -> None:
    found = results(chromium, origin, served)
    for name, status, text in (
        ("whole", 200, "Hello."),
        ("stream", 200, "[DONE]"),
        ("lines", 200, '"done":true'),
        ("unknown", 404, "unknown_model"),
    ):
        assert found[name][0] == status
        assert found[name][1], "the page cannot read x-request-id"
        assert text in found[name][2]
    assert found["cookies"][0] == 0
    assert results(chromium, origin, served, key="wrong")["whole"][0] == 401


def test_a_page_of_another_origin_reads_nothing(chromium: Any, served: Served, origin: str) -> None:
    other = origin.replace("127.0.0.1", "localhost")
    assert {answer[0] for answer in results(chromium, other, served).values()} == {0}
    assert not served.claims
