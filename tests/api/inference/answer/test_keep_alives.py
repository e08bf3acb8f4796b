"""Answers that are silent for a while keep their connection busy, in a form that clients skip."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import openai
import pytest

from scheduler.job import Claim, Status
from tests.conftest import ValkeyServer
from tests.support.served_api import Served, serving
from tests.support.waiting import scaled

KEY = "sk-patient"
BUSY = {"STOKER_API_KEY": KEY, "STOKER_API__WHOLE_KEEP_ALIVE_S": "0.1", "STOKER_API__KEEP_ALIVE_S": "0.1"}
CHAT = {"model": "alpha", "messages": [{"role": "user", "content": "Hi"}]}


@pytest.fixture(scope="module")
def served(shared_server: ValkeyServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(shared_server, tmp_path_factory.mktemp("busy"), BUSY) as served:
        yield served


def answer_when_read(
    served: Served, path: str, body: dict[str, Any], end: Callable[[Claim], None]
) -> tuple[http.client.HTTPResponse, bytes, bytes]:
    """The answer, what came of it before the job ended, and the rest."""
    is_read = threading.Event()

    def handle(claim: Claim) -> None:
        assert is_read.wait(scaled(20))
        end(claim)

    served.handle = handle
    connection = http.client.HTTPConnection(served.url.removeprefix("http://"), timeout=scaled(20))
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    connection.request("POST", path, json.dumps(body), headers)
    answer = connection.getresponse()
    first = answer.read1()
    is_read.set()
    return answer, first, answer.read()


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/chat/completions", CHAT),
        ("/v1/responses", {"model": "alpha", "input": "Hi"}),
        ("/v1/messages", CHAT | {"max_tokens": 5}),
        ("/api/chat", CHAT | {"stream": False}),
    ],
)
def test_an_answer_in_one_piece_begins_with_white_space_while_it_waits(
    served: Served, path: str, body: dict[str, Any]
) -> None:
    answer, first, rest = answer_when_read(served, path, body, served.answer_hello)
    assert first.strip() == b""
    assert first
    assert (answer.status, answer.headers["Content-Type"]) == (200, "application/json")
    assert "Hello." in json.dumps(json.loads(first + rest))


def test_a_failure_after_white_space_is_the_body_of_an_answer_with_status_200(served: Served) -> None:
    def fail(claim: Claim) -> None:
        served.platform.release(claim, Status.FAILED, code="engine_crashed", message="it crashed")

    answer, _, rest = answer_when_read(served, "/v1/chat/completions", CHAT, fail)
    assert answer.status == 200
    assert json.loads(rest)["error"]["code"] == "engine_crashed"


def test_lines_of_json_are_kept_alive_by_spaces_before_the_next_line(served: Served) -> None:
    answer, first, rest = answer_when_read(served, "/api/chat", CHAT, served.answer_hello)
    assert answer.headers["Content-Type"] == "application/x-ndjson"
    assert first.strip(b" ") == b""
    lines = (first + rest).split(b"\n")
    assert lines.pop() == b""
    assert "".join(json.loads(line)["message"]["content"] for line in lines) == "Hello."
    assert json.loads(lines[-1])["done"] is True


def test_an_sdk_reads_an_answer_that_begins_with_white_space(served: Served) -> None:
    def handle(claim: Claim) -> None:
        assert not waiting.wait(0.5)  # several keep-alives
        served.answer_hello(claim)

    waiting = threading.Event()
    served.handle = handle
    with openai.OpenAI(api_key=KEY, base_url=f"{served.url}/v1", max_retries=0) as client:
        chat = client.chat.completions.create(model="alpha", messages=[{"role": "user", "content": "Hi"}])
    assert chat.choices[0].message.content == "Hello."
