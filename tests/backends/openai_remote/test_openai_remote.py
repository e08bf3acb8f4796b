"""A model on a remote server: its options, its load and its stop."""

from __future__ import annotations

import threading

import pytest

from backends.base import CancellationToken, LoadError
from backends.openai_remote import errors
from backends.openai_remote.remote_engine import CACHE_NOTE
from engines.engine_process.errors import EngineLost
from tests.backends.conftest import Start, ask
from tests.backends.openai_remote.calls import load_error
from tests.backends.openai_remote.scripted_server import (
    KEY,
    KEY_VARIABLE,
    MODEL,
    ScriptedServer,
    chat,
    remote_model,
    scripted_server,
    status,
)
from tests.conftest import free_port
from tests.support.waiting import scaled


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "FIRST_PAUSE_S", 0.01)


# ---- options


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (None, "set openai_remote_url to the server's address, up to and with /v1"),
        ("remote.example/v1", "must look like https://host/v1"),
        ("ftp://remote.example/v1", "must look like https://host/v1"),
        ("http://remote.example:http/v1", "must look like https://host/v1"),
        ("http://[::1/v1", "must look like https://host/v1"),
        ("http://a..b/v1", "must look like https://host/v1"),
        (f"https://me:{KEY}@remote.example/v1", "must not contain a user"),
        (f"https://remote.example/v1?key={KEY}", "must not contain a user, query or fragment"),
    ],
)
def test_an_invalid_url_is_rejected_with_a_remedy(start: Start, url: str | None, expected: str) -> None:
    assert expected in load_error(start, remote_model(url))


@pytest.mark.parametrize("held", [None, "", "  \n"])
def test_a_missing_key_is_reported_by_its_variable(
    start: Start, monkeypatch: pytest.MonkeyPatch, held: str | None
) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    if held is not None:
        monkeypatch.setenv(KEY_VARIABLE, held)
    message = load_error(start, remote_model("http://remote.example/v1", key_variable=KEY_VARIABLE))
    assert "the environment variable REMOTE_KEY is not set, or empty" in message
    assert "restart the worker" in message


def test_a_key_that_no_header_can_hold_is_not_shown(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, f"{KEY}\nX: y")
    message = load_error(start, remote_model("http://remote.example/v1", key_variable=KEY_VARIABLE))
    assert "the value of the environment variable REMOTE_KEY is not a valid key" in message


@pytest.mark.parametrize("headers", [{"X-One": 1}, {"X One": "1"}, {"X-One": f"{KEY}\r\nX: y"}])
def test_invalid_headers_are_rejected(start: Start, headers: dict[str, object]) -> None:
    assert "openai_remote_headers: 'X" in load_error(
        start, remote_model("http://remote.example/v1", headers=headers)
    )


def test_a_request_carries_the_key_and_the_configured_headers(start: Start, key: str) -> None:
    with scripted_server(chat("a")) as server:
        headers = {"OpenAI-Project": "p-1"}
        start(remote_model(server.url, key_variable=key, headers=headers)).answer(ask("Hi"))
    for request in server.requests:
        assert request.headers["authorization"] == f"Bearer {KEY}"
        assert request.headers["openai-project"] == "p-1"
    assert [request.path for request in server.requests] == ["/v1/models", "/v1/chat/completions"]
    assert server.posts[0].body["model"] == MODEL


def test_a_model_without_key_and_remote_name_sends_no_key_and_its_own_name(start: Start) -> None:
    with scripted_server(chat("a"), list_models=status(404)) as server:
        start(remote_model(server.url + "/", model=None)).answer(ask("Hi"))
    assert "authorization" not in server.posts[0].headers
    assert server.posts[0].body["model"] == "model"


def test_the_key_is_not_in_the_repr_of_the_options(start: Start, key: str) -> None:
    with scripted_server() as server:
        engine = start(remote_model(server.url, key_variable=key, headers={"X-Key": KEY})).engine
    assert KEY not in repr(engine._options)


# ---- flushing


def test_a_flush_gives_as_its_reason_that_the_cache_is_the_servers(start: Start) -> None:
    with scripted_server(chat("a")) as server:
        launched = start(remote_model(server.url))
        launched.answer(ask("Hi"))
        count = launched.flush()
        assert len(server.posts) == 1
    assert (count.entries, count.memory_mib) == (None, None)
    assert count.reason == CACHE_NOTE


# ---- loading


def test_a_load_checks_the_list_of_models_and_starts_no_process(start: Start) -> None:
    with scripted_server() as server:
        launched = start(remote_model(server.url), slots=7)
    assert launched.engine.pid is None
    assert launched.engine.slots == 7
    reported = [done for done, _ in launched.progress]
    assert reported == sorted(reported)
    assert reported[-1] == 1.0
    assert launched.progress[0][1] == f"asking 127.0.0.1:{server.port} for its models"
    assert server.connections == 1


def test_a_missing_model_is_reported_with_the_models_that_exist(start: Start) -> None:
    with scripted_server() as server:
        message = load_error(start, remote_model(server.url, model="remote-2"))
    assert f"has no model remote-2, only remote-0, {MODEL}: name one in openai_remote_model" in message


def test_an_unlisted_model_is_accepted_if_configured(start: Start) -> None:
    with scripted_server(chat("a"), list_models=status(200, {"data": [{"id": "remote"}]})) as server:
        answer = start(remote_model(server.url, model="remote:online", unlisted=True)).answer(ask("Hi"))
        (request,) = server.posts
    assert answer.text == "a"
    assert request.body["model"] == "remote:online"


def test_a_configured_header_replaces_the_default_one_in_any_case(start: Start, key: str) -> None:
    with scripted_server(chat("a")) as server:
        headers = {"AUTHORIZATION": "Basic eA==", "user-Agent": "mine"}
        start(remote_model(server.url, key_variable=key, headers=headers)).answer(ask("Hi"))
        (request,) = server.posts
    assert request.headers["authorization"] == "Basic eA=="
    assert request.headers["user-agent"] == "mine"


def test_control_characters_in_remote_model_names_are_removed(start: Start) -> None:
    with scripted_server(list_models=status(200, {"data": [{"id": "\x1b[2Jremote\n-0"}]})) as server:
        assert f"has no model {MODEL}, only [2Jremote-0: name" in load_error(start, remote_model(server.url))


@pytest.mark.parametrize(
    "listed",
    [
        {"object": "list", "data": []},
        {"object": "list"},
        {"data": [{"id": "first-page"}], "has_more": True},
        [{"id": MODEL}, {"id": "b"}],
        ["a"],
        7,
        "a",
        {"data": 7},
        {"data": [{"id": ["b"]}, {"id": None}, {"id": 7}]},
    ],
)
def test_a_list_without_evidence_against_the_model_is_accepted(start: Start, listed: object) -> None:
    with scripted_server(list_models=status(200, listed)) as server:
        assert start(remote_model(server.url)).engine.slots


@pytest.mark.parametrize("code", [404, 405, 501])
def test_a_server_without_a_list_of_models_is_accepted(start: Start, code: int) -> None:
    with scripted_server(list_models=status(code, b"<html>no</html>")) as server:
        assert start(remote_model(server.url)).engine.slots


@pytest.mark.parametrize("code", [401, 403])
def test_a_rejected_key_is_reported_by_its_variable(start: Start, key: str, code: int) -> None:
    with scripted_server(list_models=status(code, {"error": {"message": f"bad key {KEY}"}})) as server:
        message = load_error(start, remote_model(server.url, key_variable=key))
        assert message.endswith("refuses the key in REMOTE_KEY: put a valid one there and restart the worker")
        message = load_error(start, remote_model(server.url))
        assert "requires a key" in message
        assert "openai_remote_key_variable" in message


@pytest.mark.parametrize(
    "answer",
    [status(200, b"<html>Welcome</html>"), status(302, Location="https://remote.example"), status(500)],
)
def test_a_server_that_is_not_openai_compatible_is_rejected(start: Start, answer: object) -> None:
    with scripted_server(list_models=answer) as server:
        message = load_error(start, remote_model(server.url))
    assert "is not an OpenAI-compatible server" in message
    assert "correct openai_remote_url" in message
    assert server.connections == 1


def test_a_refused_connection_is_retried_and_then_reported(start: Start) -> None:
    port = free_port()
    message = load_error(start, remote_model(f"http://127.0.0.1:{port}/v1"))
    assert message == (
        f"127.0.0.1:{port} cannot be reached: Connection refused; start it, or correct openai_remote_url"
    )


def test_an_unknown_host_is_reported_as_unreachable(start: Start) -> None:
    assert "unknown.invalid cannot be reached" in load_error(
        start, remote_model("http://unknown.invalid/v1", retries=0)
    )


def test_a_busy_server_is_retried_during_a_load(start: Start) -> None:
    answers = [status(503), status(429, Retry_After="0")]

    def models(handler: object) -> None:
        step = answers.pop(0) if answers else status(200, {"data": [{"id": MODEL}]})
        step(handler)

    with scripted_server(list_models=models) as server:
        launched = start(remote_model(server.url))
    assert server.connections == 3
    assert sum("trying again" in stage for _, stage in launched.progress) == 2
    with scripted_server(list_models=status(503)) as server:
        message = load_error(start, remote_model(server.url, retries=1))
        assert "is busy (status 503)" in message
        assert server.connections == 2


def test_a_load_times_out_while_the_server_is_silent(start: Start) -> None:
    with scripted_server(list_models=lambda handler: handler.wait_for_disconnect()) as server:
        with pytest.raises(LoadError) as caught:
            start(remote_model(server.url, load_timeout_s=scaled(0.5)))
        assert caught.value.code == "load_timeout"
        assert server.client_disconnected.wait(scaled(5))


@pytest.mark.parametrize("moment", ["while it is silent", "in a pause"])
def test_a_load_can_be_cancelled(start: Start, moment: str) -> None:
    waiting = moment == "while it is silent"
    models = (lambda handler: handler.wait_for_disconnect()) if waiting else status(503, Retry_After="20")
    cancelled = threading.Event()
    cancellation = CancellationToken()

    def cancel(server: ScriptedServer) -> None:
        assert not waiting or server.waiting.wait(scaled(5))
        while not server.requests:
            cancelled.wait(0.01)
        cancellation.cancel()

    with scripted_server(list_models=models) as server:
        thread = threading.Thread(target=cancel, args=(server,))
        thread.start()
        with pytest.raises(LoadError) as caught:
            start(remote_model(server.url), cancellation=cancellation)
        thread.join()
        assert caught.value.code == "load_cancelled"
        assert not waiting or server.client_disconnected.wait(scaled(5))


# ---- stopping


def test_a_stop_fails_running_and_later_requests(start: Start) -> None:
    with scripted_server(lambda handler: handler.wait_for_disconnect()) as server:
        launched = start(remote_model(server.url))
        answer, thread = launched.begin(ask("Hi"))
        assert server.waiting.wait(scaled(5))
        launched.engine.stop(1.0)
        thread.join(scaled(1.0))
        assert isinstance(answer.error, EngineLost)
        assert server.client_disconnected.wait(scaled(5))
        with pytest.raises(EngineLost):
            launched.answer(ask("Hi"))
        launched.engine.stop(1.0)
    assert launched.exits.empty()


def test_a_cancelled_generation_stays_cancelled_after_a_stop(start: Start) -> None:
    with scripted_server(lambda handler: handler.wait_for_disconnect()) as server:
        launched = start(remote_model(server.url))
        answer, thread = launched.begin(ask("Hi"))
        assert server.waiting.wait(scaled(5))
        launched.cancel("only")
        launched.engine.stop(1.0)
        thread.join(scaled(1.0))
    assert answer.finish is not None
    assert answer.finish.reason == "cancelled"


def test_a_late_cancel_does_not_cut_the_connection_that_serves_the_next_call(start: Start) -> None:
    with scripted_server(chat("a"), chat("b")) as server:
        launched = start(remote_model(server.url))
        launched.answer(ask("Hi"), id="first")
        launched.cancel("first")
        assert launched.answer(ask("Hi")).text == "b"
    assert len({request.connection for request in server.posts}) == 1
