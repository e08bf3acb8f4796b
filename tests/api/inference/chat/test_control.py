"""The end of a running reasoning, and the progress of a prompt: an API process over a real ledger."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPResponse
from pathlib import Path
from typing import Any

import pytest

from scheduler.job import AppendRequest, Claim
from streams.events import Delta, PromptProgress, ReasoningDelta, TextDelta
from tests.conftest import ValkeyServer
from tests.support.received_events import chunks_in
from tests.support.resumed_streams import answering, stream_path, without_keep_alives
from tests.support.served_api import Served, serving

CONTROL = "/v1/chat/completions/control"
KEYS = {"one": "key-of-one", "two": "key-of-two"}
TENANTS = {
    name: {"api_keys_sha256": [hashlib.sha256(key.encode()).hexdigest()]} for name, key in KEYS.items()
}
UNKNOWN = {"success": False, "message": "no active completion for this id"}
CHAT = {"model": "alpha", "messages": [{"role": "user", "content": "Hi"}], "stream": True}
OF_WEB_UI = {**CHAT, "return_progress": True, "timings_per_token": True, "reasoning_control": True}


@pytest.fixture(scope="module")
def served(shared_server: ValkeyServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("api")
    with serving(shared_server, folder, {}, slots=8, tenants=TENANTS) as served:
        served.handle = lambda claim: append(served, claim, 1, ReasoningDelta("Hm"))
        yield served


def append(served: Served, claim: Claim, number: int, *events: Delta) -> None:
    encoded = tuple(event.encode() for event in events)
    request = AppendRequest(claim.id, claim.replica, claim.fence, number, encoded)
    assert served.platform.step(claim, [request], []).stopped == {}


@contextmanager
def call(
    served: Served, path: str, body: object, key: str = KEYS["one"], method: str = "POST", **headers: str
) -> Iterator[HTTPResponse]:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    host = served.url.removeprefix("http://")
    with answering(host, method, path, body, {"Authorization": f"Bearer {key}", **given}) as answer:
        yield answer


def control(served: Served, body: Mapping[str, Any], key: str = KEYS["one"]) -> tuple[int, Any]:
    with call(served, CONTROL, body, key) as answer:
        return answer.status, json.loads(answer.read())


@contextmanager
def reasoning(served: Served, body: Mapping[str, Any]) -> Iterator[Claim]:
    """An answer that reasons, until the block ends."""
    count = len(served.claims)
    with call(served, "/v1/chat/completions", body) as answer:
        assert answer.status == 200
        while b"reasoning_content" not in answer.read1(65536):
            pass
        claim = served.claims[count]
        yield claim
        served.platform.release(claim, finish_reason="stop")
        answer.read()


def test_the_worker_of_a_running_answer_gets_the_message_to_end_its_reasoning(served: Served) -> None:
    messages = served.platform.record("notify:w1")
    with reasoning(served, OF_WEB_UI) as claim:
        asked = {"id": claim.id, "action": "reasoning_end", "model": "alpha"}
        assert control(served, asked, KEYS["two"]) == (200, UNKNOWN)
        assert control(served, {**asked, "id": "chatcmpl-" + "0" * 32}, KEYS["two"]) == (200, UNKNOWN)
        for _ in range(2):
            assert control(served, asked) == (200, {"success": True})
    assert control(served, asked) == (200, UNKNOWN), "it has ended"
    assert messages.messages() == [("notify:w1", f"end_reasoning {claim.id}")] * 2


def test_an_answer_without_reasoning_control_is_left_alone(served: Served) -> None:
    with reasoning(served, CHAT) as claim:
        refusal = "reasoning control not enabled for this completion"
        asked = {"id": claim.id, "action": "reasoning_end"}
        assert control(served, asked) == (200, {"success": False, "message": refusal})


@pytest.mark.parametrize(
    "body",
    [
        *({}, {"action": "reasoning_end"}, {"id": "x"}, {"id": "x", "action": "unknown"}),
        *({"id": 7, "action": "reasoning_end"}, {"id": "x" * 257, "action": "reasoning_end"}),
        {"id": "x", "action": "reasoning_end", "model": 7},
    ],
    ids=lambda body: str(body)[:60],
)
def test_a_request_that_names_no_action_is_refused_in_the_form_of_llama_server(
    served: Served, body: dict[str, Any]
) -> None:
    status, answer = control(served, body)
    assert (status, answer["error"]["code"], answer["error"]["type"]) == (400, 400, "invalid_request_error")


def test_an_engine_that_cannot_end_a_reasoning_is_501(shared_server: ValkeyServer, tmp_path: Path) -> None:
    models = {"alpha": {"backend": "vllm", "model_path": "models/demo"}}
    with serving(shared_server, tmp_path, {}, models=models, tenants=TENANTS) as served:
        served.handle = lambda claim: append(served, claim, 1, ReasoningDelta("Hm"))
        with reasoning(served, OF_WEB_UI) as claim:
            status, answer = control(served, {"id": claim.id, "action": "reasoning_end"})
    assert (status, answer["error"]["type"]) == (501, "not_supported_error")


def test_a_request_that_names_no_model_is_for_the_only_one(
    served: Served, shared_server: ValkeyServer, tmp_path: Path
) -> None:
    with reasoning(served, {name: value for name, value in OF_WEB_UI.items() if name != "model"}):
        pass
    models = {name: {"backend": "stub"} for name in ("alpha", "beta")}
    with serving(shared_server, tmp_path, {}, models=models, tenants=TENANTS) as several:
        body = {"messages": CHAT["messages"], "model": ""}
        for path in ("/v1/chat/completions", "/v1/chat/completions/input_tokens"):
            with call(several, path, body) as answer:
                assert answer.status == 400
                assert json.loads(answer.read())["error"]["param"] == "model"


def test_the_progress_of_a_prompt_is_read_again_byte_for_byte_also_when_the_job_ran_twice(
    served: Served,
) -> None:
    def handle(claim: Claim) -> None:
        append(served, claim, 1, PromptProgress(9, 1, 1, 0), PromptProgress(9, 1, 5, 20))
        append(served, claim, 3, PromptProgress(9, 0, 0, 0), PromptProgress(9, 0, 9, 40))
        append(served, claim, 5, ReasoningDelta("Hm"), TextDelta("We"), TextDelta("ll"))
        served.platform.release(claim, finish_reason="stop")

    before, served.handle = served.handle, handle
    try:
        with call(served, "/v1/chat/completions", OF_WEB_UI, X_Conversation_Id="talk") as answer:
            first = without_keep_alives(answer.read(), lines=False)
    finally:
        served.handle = before
    chunks = chunks_in(first)
    progress = [chunk["prompt_progress"]["processed"] for chunk in chunks if "prompt_progress" in chunk]
    assert progress == [1, 5, 0, 9]
    assert all("prompt_progress" in chunk for chunk in chunks[:4])
    assert chunks[-1]["timings"]["predicted_n"] == 0
    for start in (0, 1, len(first) // 3, len(first) - 1):
        with call(served, stream_path("talk", start), None, method="GET") as answer:
            again = without_keep_alives(answer.read(), lines=False, continues=b"x" if start else b"")
        assert again == first[start:]
