"""While its model loads, a route of llama-server answers 503 as llama-server does."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from fleet.load_request import LoadRequest
from tests.conftest import ValkeyServer
from tests.support.served_api import Served, serving
from tests.support.waiting import wait_until
from tests.support.wheel_server import call

LOADING = {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}
KEY = "sk-loading"


def post_in_thread(served: Served, body: dict[str, object], conversation: str) -> threading.Thread:
    arguments = (served.url, "/v1/chat/completions", body)
    options = {"key": KEY, "headers": {"X-Conversation-Id": conversation}}
    thread = threading.Thread(target=call, args=arguments, kwargs=options)
    thread.start()
    return thread


@pytest.mark.rule("llama-server/stream-errors")
def test_a_model_that_loads_is_503_for_new_requests_and_for_streams_that_wait(
    shared_server: ValkeyServer, tmp_path: Path
) -> None:
    body: dict[str, object] = {"model": "alpha", "stream": True}
    body["messages"] = [{"role": "user", "content": "Hi"}]
    with serving(shared_server, tmp_path, {"STOKER_API_KEY": KEY}, slots=1) as served:
        platform = served.platform
        served.handle = lambda _claim: None
        clients = [post_in_thread(served, body, "runs")]
        wait_until(lambda: len(served.claims) == 1)
        clients.append(post_in_thread(served, body, "waits"))
        wait_until(lambda: len(platform.waiting()) == 1)
        (replica,) = {claim.replica for claim in served.claims}
        platform.crash(replica)
        assert platform.model() == "failed"
        outcome = platform.fleet.load("alpha", LoadRequest())
        assert platform.model() == "loading"

        again = call(served.url, "/v1/stream/waits", key=KEY)
        assert (again.status, again.json) == (503, LOADING)
        tokens = call(served.url, "/tokenize", {"content": "a"}, key=KEY)
        assert (tokens.status, tokens.json) == (503, LOADING)
        chat = call(served.url, "/v1/chat/completions", body, key=KEY)
        assert (chat.status, chat.json["error"]["code"]) == (409, "model_loading")

        served.handle = served.answer_hello
        platform.finish_load(outcome, slots=1)
        for client in clients:
            client.join()
        answer = call(served.url, "/v1/stream/waits", key=KEY)
        assert answer.status == 200
        assert b"lo." in answer.body
