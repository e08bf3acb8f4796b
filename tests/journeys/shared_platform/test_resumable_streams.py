"""Answers that are read again by their conversation ids, in all APIs."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from typing import Any
from urllib.parse import quote

import pytest

from tests.journeys.conftest import ON_THE_CPU
from tests.support.platform import Platform, running_platform
from tests.support.resumed_streams import answering, requests, stream_path, without_keep_alives
from tests.support.waiting import scaled

pytestmark = pytest.mark.journey

APIS = list(requests("", ""))
TYPES = {400: "invalid_request_error", 404: "not_found_error"}
WORDS = "one two three four five six seven eight nine ten"
UNTIL_CANCELLED = "/stub tokens=1000"
"""The text of a request that takes 50 s, so that a test can act before its end."""


@pytest.fixture
def conversation() -> str:
    """An id that no other test uses, with all that an id may hold."""
    return f"chat/{uuid.uuid4()} ~" + "::lab/stub:q8"


@contextmanager
def call(
    platform: Platform, method: str, path: str, body: object = None, **headers: str
) -> Iterator[HTTPResponse]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    host = platform.url.removeprefix("http://")
    with answering(
        host, method, path, body, {"Authorization": f"Bearer {platform.keys['api_key']}", **named}
    ) as answer:
        yield answer


@contextmanager
def call_begun(platform: Platform, path: str, body: object, **headers: str) -> Iterator[None]:
    """Send a request and read no answer; the connection is closed after the block."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    named["Authorization"] = f"Bearer {platform.keys['api_key']}"
    connection = HTTPConnection(platform.url.removeprefix("http://"))
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json", **named})
    try:
        yield
    finally:
        connection.close()


def ask(platform: Platform, api: str, model: str, conversation: str, text: str = WORDS, **more: Any) -> bytes:
    path, body = requests(text, model, **more)[api]
    with call(platform, "POST", path, body, X_Conversation_Id=conversation) as answer:
        assert answer.status == 200, answer.read()
        return without_keep_alives(answer.read(), lines=api.startswith("ollama"))


def read(platform: Platform, conversation: str, start: int = 0) -> bytes:
    with call(platform, "GET", stream_path(conversation, start)) as answer:
        data = answer.read()
        assert answer.status == 200, data
        is_lines = answer.headers["Content-Type"] == "application/x-ndjson"
        return without_keep_alives(data, lines=is_lines, continues=b"x" if start else b"")


def look_up(platform: Platform, *conversations: str) -> list[dict[str, Any]]:
    with call(platform, "POST", "/v1/streams/lookup", {"conversation_ids": list(conversations)}) as answer:
        assert answer.status == 200
        states: list[dict[str, Any]] = json.loads(answer.read())
        return states


def error_of(answer: HTTPResponse) -> tuple[int, Mapping[str, Any]]:
    error: Mapping[str, Any] = json.loads(answer.read())["error"]
    assert set(error) == {"code", "message", "type"}
    assert error["code"] == answer.status
    return answer.status, error


@pytest.mark.rule("llama-server/stream-bytes")
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("api", APIS)
def test_an_answer_is_read_again_byte_for_byte_from_any_offset(
    shared: Platform, conversation: str, api: str, stream: bool
) -> None:
    first = ask(shared, api, "stub", conversation, stream=stream)
    assert read(shared, conversation) == first
    for start in (1, len(first) // 3, len(first) - 1, len(first), len(first) + 1000):
        assert read(shared, conversation, start) == first[start:]
    (state,) = look_up(shared, conversation)
    assert state["conversation_id"] == conversation
    assert state["is_done"]
    assert state["total_bytes"] == len(first)
    assert 0 < state["started_at"] <= state["completed_at"]


@pytest.mark.rule("llama-server/stream-live")
@pytest.mark.parametrize("api", ["chat", "messages", "ollama_generate", "responses"])
def test_a_stream_goes_on_when_its_client_is_gone_and_several_readers_get_all_of_it(
    shared: Platform, conversation: str, api: str
) -> None:
    path, body = requests(WORDS, "slow", tokens=30)[api]
    with call(shared, "POST", path, body, X_Conversation_Id=conversation) as answer:
        begun = answer.read1(200)
    with ThreadPoolExecutor(4) as readers:
        *whole, rest = readers.map(lambda start: read(shared, conversation, start), (0, 0, 0, 150))
    assert len(set(whole)) == 1
    assert whole[0].startswith(without_keep_alives(begun, lines=api.startswith("ollama"))[:100])
    assert rest == whole[0][150:]
    assert b"tok30" in whole[0] or b"30" in whole[0]


@pytest.mark.rule("llama-server/stream-replace")
def test_a_new_request_of_a_conversation_cancels_the_one_before(shared: Platform, conversation: str) -> None:
    path, body = requests("one", "slow")["chat"]
    with call(shared, "POST", path, body, X_Conversation_Id=conversation) as answer:
        answer.read1(200)
        second = ask(shared, "chat", "stub", conversation)
        assert b'"code":"cancelled"' in answer.read()
    assert read(shared, conversation) == second


@pytest.mark.rule("llama-server/stream-delete")
@pytest.mark.parametrize("stream", [True, False])
def test_a_deleted_stream_is_cancelled_and_unknown(shared: Platform, conversation: str, stream: bool) -> None:
    path, body = requests("one", "slow", stream=stream)["chat"]
    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(ended, shared, path, body, conversation)
        shared.wait_for(lambda: look_up(shared, conversation), 5, "the stream")
        for _ in range(2):
            with call(shared, "DELETE", stream_path(conversation)) as answer:
                assert (answer.status, answer.read()) == (204, b"")
        assert b"cancelled" in first.result(scaled(10))
    with call(shared, "GET", stream_path(conversation)) as answer:
        status, error = error_of(answer)
    assert (status, error["type"]) == (404, "not_found_error")
    assert look_up(shared, conversation) == []


def ended(platform: Platform, path: str, body: object, conversation: str) -> bytes:
    with call(platform, "POST", path, body, X_Conversation_Id=conversation) as answer:
        return answer.read()


@pytest.mark.rule("llama-server/stream-delete")
def test_a_deleted_stream_that_waits_in_the_queue_is_cancelled(shared: Platform, conversation: str) -> None:
    path, body = requests("one", "slow")["chat"]
    others = [f"{conversation}{number}" for number in range(2)]
    for other in (*others, conversation):  # the model has two slots
        with call(shared, "POST", path, body, X_Conversation_Id=other) as answer:
            answer.read1(1)
    with call(shared, "GET", stream_path(conversation)) as waiting:
        assert waiting.status == 200
        for other in (conversation, *others):
            with call(shared, "DELETE", stream_path(other)) as answer:
                assert answer.status == 204
        assert b'"code":"cancelled"' in waiting.read()


@pytest.mark.rule("llama-server/on-disconnect")
@pytest.mark.parametrize(
    ("choice", "goes_on"), [("cancel", False), ("finish", True), ("detach", True), (None, False)]
)
@pytest.mark.parametrize("stream", [True, False])
def test_the_request_chooses_what_happens_on_disconnect(
    shared: Platform, choice: str | None, goes_on: bool, stream: bool
) -> None:
    path, body = requests(UNTIL_CANCELLED, "slow", stream=stream, tokens=1000)["chat"]
    before = {row["id"] for row in running(shared)}
    headers = {"X_On_Disconnect": choice} if choice else {}
    with call_begun(shared, path, body, **headers):
        (row,) = shared.wait_for(
            lambda: [row for row in running(shared) if row["id"] not in before], 5, "the request"
        )
    assert row["api"] == "chat"
    assert row["conversation_id"] == (row["id"] if choice == "detach" else None)
    if not goes_on:
        shared.wait_for(lambda: row["id"] not in {one["id"] for one in running(shared)}, 3, "its end")
        return
    with call(shared, "POST", f"/v1/responses/{row['id']}/cancel") as answer:
        assert json.loads(answer.read())["status"] == "cancelled"
    with call(shared, "GET", stream_path(row["id"])) as answer:
        assert answer.status == (404 if choice == "finish" else 200 if stream else 409)


@pytest.mark.rule("llama-server/on-disconnect")
def test_a_running_request_is_detached_by_one_call(shared: Platform) -> None:
    path, body = requests(UNTIL_CANCELLED, "slow", tokens=1000)["chat"]
    with call(shared, "POST", path, body) as answer:
        id = json.loads(answer.read1(5000).split(b"data: ")[1])["id"]
        with call(shared, "POST", f"/v1/responses/{id}/detach") as detached:
            assert json.loads(detached.read())["status"] in {"queued", "in_progress"}
    with call(shared, "POST", f"/v1/responses/{id}/cancel") as answer:
        assert json.loads(answer.read())["status"] == "cancelled"


def running(platform: Platform) -> list[dict[str, Any]]:
    rows, after = [], ""
    while True:
        with call(platform, "GET", f"/v1/responses?status=in_progress&limit=1{after}") as answer:
            page = json.loads(answer.read())
        rows += page["data"]
        if not page["has_more"]:
            return rows
        after = f"&after={quote(page['next_after'])}"


@pytest.mark.rule("llama-server/stream-errors")
@pytest.mark.parametrize(
    ("query", "status", "message"),
    [
        ("conv_id=unknown", 404, "Stream not found or expired"),
        ("", 400, "Missing conversation id in path"),
        ("conv_id=known&from=x", 400, "Invalid 'from' offset"),
        ("conv_id=known&from=-1", 400, "Invalid 'from' offset"),
        (f"conv_id=known&from={'9' * 30}", 400, "Invalid 'from' offset"),
        (f"conv_id={'x' * 513}", 400, "conv_id must be 1 to 512 printable ASCII characters"),
        ("conv_id=%00", 400, "conv_id must be 1 to 512 printable ASCII characters"),
    ],
)
def test_a_stream_that_cannot_be_read_is_refused_in_the_form_of_llama_server(
    shared: Platform, query: str, status: int, message: str
) -> None:
    with call(shared, "GET", f"/v1/stream?{query}") as answer:
        assert error_of(answer) == (status, {"code": status, "message": message, "type": TYPES[status]})


@pytest.mark.rule("llama-server/stream-ids")
@pytest.mark.parametrize("id", ["a%0Ab", "%C2%96", "%2F%0A", "a" * 513])
def test_an_id_in_a_path_that_no_stream_has_is_refused_as_in_the_query(shared: Platform, id: str) -> None:
    for method in ("GET", "DELETE"):
        with call(shared, method, f"/v1/stream/{id}") as answer:
            status, error = error_of(answer)
        assert (status, error["message"]) == (400, "conv_id must be 1 to 512 printable ASCII characters")


def test_a_request_for_several_choices_cannot_be_read_again(shared: Platform, conversation: str) -> None:
    path, body = requests("one", "stub")["chat"]
    with call(shared, "POST", path, {**body, "n": 2}, X_Conversation_Id=conversation) as answer:
        assert answer.status == 400
        assert json.loads(answer.read())["error"]["param"] == "n"


@pytest.mark.rule("llama-server/stream-lookup")
@pytest.mark.parametrize("ids", [["x"] * 65, ["x" * 513], [7], "x", None])
def test_a_lookup_is_bounded(shared: Platform, ids: object) -> None:
    with call(shared, "POST", "/v1/streams/lookup", {"conversation_ids": ids}) as answer:
        assert error_of(answer)[0] == 400


@pytest.mark.rule("llama-server/stream-lookup", "llama-server/stream-ids")
def test_a_lookup_finds_the_streams_of_all_models_of_a_conversation(shared: Platform) -> None:
    base = uuid.uuid4().hex
    for suffix in ("", "::one", "::two", "-other"):
        ask(shared, "chat", "stub", f"{base}{suffix}")
    found = {state["conversation_id"] for state in look_up(shared, base, "unknown")}
    assert found == {base, f"{base}::one", f"{base}::two"}
    with call(shared, "GET", "/v1/streams") as answer:
        assert answer.status == 404, "live streams cannot be listed"


KEYS = {"one": "key-of-one", "two": "key-of-two"}


@pytest.fixture(scope="module")
def bounded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """A platform with two tenants that keeps the last KiB of a stream."""
    tenants = {
        name: {"api_keys_sha256": [hashlib.sha256(key.encode()).hexdigest()]} for name, key in KEYS.items()
    }
    local = {
        "models": {"stoker-demo": {"enabled": False}, "stub": {"backend": "stub", "enabled": True}},
        "tenants": tenants,
    }
    variables = {**ON_THE_CPU, "STREAM_SESSION_MAX_BYTES": "1024"}
    folder = tmp_path_factory.mktemp("bounded")
    with running_platform(folder, local, "--port", "0", "--no-flower", environment=variables) as platform:
        platform.wait_state("stub", "loaded", 60)
        yield platform


@pytest.mark.rule("llama-server/stream-lost", "llama-server/stream-lookup")
def test_a_stream_is_unknown_to_other_tenants_and_only_its_last_bytes_are_kept(
    bounded: Platform,
) -> None:
    path, body = requests(" ".join(map(str, range(100))), "stub")["chat"]
    one, two = ({"Authorization": f"Bearer {key}"} for key in KEYS.values())
    with call(bounded, "POST", path, body, X_Conversation_Id="talk", **one) as answer:
        first = answer.read()
    for conversation in ("talk", "unknown"):
        with call(bounded, "GET", stream_path(conversation), **two) as answer:
            assert error_of(answer)[1]["message"] == "Stream not found or expired"
        with call(bounded, "DELETE", stream_path(conversation), **two) as answer:
            assert (answer.status, answer.read()) == (204, b"")
    with call(bounded, "POST", "/v1/streams/lookup", {"conversation_ids": ["talk"]}, **two) as answer:
        assert json.loads(answer.read()) == []
    with call(bounded, "GET", stream_path("talk", len(first) - 1025), **one) as answer:
        assert error_of(answer)[1]["message"] == "Stream offset lost, please restart"
    with call(bounded, "GET", stream_path("talk", len(first) - 1024), **one) as answer:
        assert answer.read() == first[-1024:]
