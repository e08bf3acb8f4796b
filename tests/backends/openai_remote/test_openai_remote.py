"""A model on somebody else's server: what a load checks, how it is reached, and how it stops."""

from __future__ import annotations

import socket
import threading

import pytest
from urllib3.util import connection

from backends.base import CancellationToken, LoadError
from backends.openai_remote import errors
from backends.shared.http_client import HttpCall
from config.settings import ModelDefinition
from tests.backends.conftest import Start, ask
from tests.backends.openai_remote.scripted import (
    AUTHORITY,
    KEY,
    MODEL,
    Scripted,
    chat,
    far,
    scripted,
    status,
)
from tests.conftest import free_port
from workers.engine_process.errors import EngineLost


def refusal(start: Start, model: ModelDefinition) -> str:
    with pytest.raises(LoadError) as caught:
        start(model)
    assert caught.value.code == "load_failed"
    assert KEY not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a variable that holds a key."""
    monkeypatch.setenv("FAR_KEY", KEY)
    return "FAR_KEY"


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "FIRST_PAUSE_S", 0.01)


# ---- options


@pytest.mark.parametrize(
    ("url", "said"),
    [
        (None, "set openai_remote_url to the server's address, up to and with /v1"),
        ("far.example/v1", "must look like https://host/v1"),
        ("ftp://far.example/v1", "must look like https://host/v1"),
        ("http://far.example:http/v1", "must look like https://host/v1"),
        ("http://[::1/v1", "must look like https://host/v1"),
        ("http://a..b/v1", "must look like https://host/v1"),
        (f"https://me:{KEY}@far.example/v1", "may hold no user"),
        (f"https://far.example/v1?key={KEY}", "may hold no user, query or fragment"),
    ],
)
def test_an_address_that_is_none_is_refused_with_what_to_do(start: Start, url: str | None, said: str) -> None:
    assert said in refusal(start, far(url))


@pytest.mark.parametrize("held", [None, "", "  \n"])
def test_a_key_that_is_not_there_is_named_by_its_variable(
    start: Start, monkeypatch: pytest.MonkeyPatch, held: str | None
) -> None:
    monkeypatch.delenv("FAR_KEY", raising=False)
    if held is not None:
        monkeypatch.setenv("FAR_KEY", held)
    said = refusal(start, far("http://far.example/v1", key_variable="FAR_KEY"))
    assert "the environment variable FAR_KEY is not set, or empty" in said
    assert "restart the worker" in said


def test_a_key_that_no_header_can_carry_is_not_shown(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAR_KEY", f"{KEY}\nX: y")
    said = refusal(start, far("http://far.example/v1", key_variable="FAR_KEY"))
    assert "what the environment variable FAR_KEY holds is no key" in said


@pytest.mark.parametrize("headers", [{"X-One": 1}, {"X One": "1"}, {"X-One": f"{KEY}\r\nX: y"}])
def test_headers_that_are_none_are_refused(start: Start, headers: dict[str, object]) -> None:
    assert "openai_remote_headers: 'X" in refusal(start, far("http://far.example/v1", headers=headers))


def test_a_request_carries_the_key_and_the_configured_headers(start: Start, key: str) -> None:
    with scripted(chat("a")) as server:
        headers = {"OpenAI-Project": "p-1"}
        start(far(server.url, key_variable=key, headers=headers)).answer(ask("Hi"))
    for asked in server.asked:
        assert asked.headers["authorization"] == f"Bearer {KEY}"
        assert asked.headers["openai-project"] == "p-1"
    assert [asked.path for asked in server.asked] == ["/v1/models", "/v1/chat/completions"]
    assert server.posts[0].body["model"] == MODEL


def test_without_a_key_none_is_sent_and_without_a_name_there_the_name_here_is_used(start: Start) -> None:
    with scripted(chat("a"), list_models=status(404)) as server:
        start(far(server.url + "/", model=None)).answer(ask("Hi"))
    assert "authorization" not in server.posts[0].headers
    assert server.posts[0].body["model"] == "model"


def test_the_key_stands_in_no_representation(start: Start, key: str) -> None:
    with scripted() as server:
        engine = start(far(server.url, key_variable=key, headers={"X-Key": KEY})).engine
    assert KEY not in repr(engine._options)


# ---- loading


def test_a_load_looks_for_the_model_and_needs_no_process(start: Start) -> None:
    with scripted() as server:
        launched = start(far(server.url), slots=7)
    assert launched.engine.pid is None
    assert launched.engine.slots == 7
    told = [done for done, _ in launched.progress]
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert launched.progress[0][1] == f"asking 127.0.0.1:{server.port} for its models"
    assert server.connections == 1


def test_a_model_that_is_not_there_is_named_with_those_that_are(start: Start) -> None:
    with scripted() as server:
        said = refusal(start, far(server.url, model="far-2"))
    assert f"has no model far-2, only far-0, {MODEL}: name one in openai_remote_model" in said


def test_a_model_that_is_not_listed_is_taken_where_the_server_knows_more_than_it_lists(start: Start) -> None:
    with scripted(chat("a"), list_models=status(200, {"data": [{"id": "far"}]})) as server:
        answer = start(far(server.url, model="far:online", unlisted=True)).answer(ask("Hi"))
        (asked,) = server.posts
    assert answer.text == "a"
    assert asked.body["model"] == "far:online"


def test_a_configured_header_takes_the_place_of_ours_however_it_is_written(start: Start, key: str) -> None:
    with scripted(chat("a")) as server:
        headers = {"AUTHORIZATION": "Basic eA==", "user-Agent": "mine"}
        start(far(server.url, key_variable=key, headers=headers)).answer(ask("Hi"))
        (asked,) = server.posts
    assert asked.headers["authorization"] == "Basic eA=="
    assert asked.headers["user-agent"] == "mine"


def test_the_name_of_a_model_elsewhere_commands_no_terminal(start: Start) -> None:
    with scripted(list_models=status(200, {"data": [{"id": "\x1b[2Jfar\n-0"}]})) as server:
        assert f"has no model {MODEL}, only [2Jfar-0: name" in refusal(start, far(server.url))


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
def test_a_list_that_says_nothing_against_the_model_will_do(start: Start, listed: object) -> None:
    with scripted(list_models=status(200, listed)) as server:
        assert start(far(server.url)).engine.slots


@pytest.mark.parametrize("code", [404, 405, 501])
def test_a_server_without_a_list_of_models_will_do(start: Start, code: int) -> None:
    with scripted(list_models=status(code, b"<html>no</html>")) as server:
        assert start(far(server.url)).engine.slots


@pytest.mark.parametrize("code", [401, 403])
def test_a_key_that_is_refused_is_named_by_its_variable(start: Start, key: str, code: int) -> None:
    with scripted(list_models=status(code, {"error": {"message": f"bad key {KEY}"}})) as server:
        said = refusal(start, far(server.url, key_variable=key))
        assert said.endswith("refuses the key in FAR_KEY: put a valid one there and restart the worker")
        said = refusal(start, far(server.url))
        assert "asks for a key" in said
        assert "openai_remote_key_variable" in said


@pytest.mark.parametrize(
    "answer", [status(200, b"<html>Welcome</html>"), status(302, Location="https://far.example"), status(500)]
)
def test_what_is_no_such_server_is_said_to_be_none(start: Start, answer: object) -> None:
    with scripted(list_models=answer) as server:
        said = refusal(start, far(server.url))
    assert "is no OpenAI-compatible server" in said
    assert "correct openai_remote_url" in said
    assert server.connections == 1


def test_a_server_that_is_not_there_is_tried_again_before_it_is_given_up(start: Start) -> None:
    port = free_port()
    said = refusal(start, far(f"http://127.0.0.1:{port}/v1"))
    assert said == (
        f"127.0.0.1:{port} cannot be reached: Connection refused; start it, or correct openai_remote_url"
    )


def test_a_name_that_nobody_has_is_said_to_be_unreachable(start: Start) -> None:
    assert "nobody.invalid cannot be reached" in refusal(start, far("http://nobody.invalid/v1", retries=0))


def test_a_busy_server_is_asked_again_while_the_model_loads(start: Start) -> None:
    answers = [status(503), status(429, Retry_After="0")]

    def models(handler: object) -> None:
        step = answers.pop(0) if answers else status(200, {"data": [{"id": MODEL}]})
        step(handler)

    with scripted(list_models=models) as server:
        launched = start(far(server.url))
    assert server.connections == 3
    assert sum("trying again" in stage for _, stage in launched.progress) == 2
    with scripted(list_models=status(503)) as server:
        said = refusal(start, far(server.url, retries=1))
        assert "is there and does not answer (status 503)" in said
        assert server.connections == 2


def test_a_load_ends_at_its_timeout_though_the_server_is_silent(start: Start) -> None:
    with scripted(list_models=lambda handler: handler.wait_until_left()) as server:
        with pytest.raises(LoadError) as caught:
            start(far(server.url, load_timeout_s=0.2))
        assert caught.value.code == "load_timeout"
        assert server.left.wait(5)


@pytest.mark.parametrize("moment", ["while it is silent", "in a pause"])
def test_a_load_can_be_cancelled(start: Start, moment: str) -> None:
    silent = moment == "while it is silent"
    models = (lambda handler: handler.wait_until_left()) if silent else status(503, Retry_After="20")
    cancelled = threading.Event()
    cancellation = CancellationToken()

    def cancel(server: Scripted) -> None:
        assert not silent or server.silent.wait(5)
        while not server.asked:
            cancelled.wait(0.01)
        cancellation.cancel()

    with scripted(list_models=models) as server:
        thread = threading.Thread(target=cancel, args=(server,))
        thread.start()
        with pytest.raises(LoadError) as caught:
            start(far(server.url), cancellation=cancellation)
        thread.join()
        assert caught.value.code == "load_cancelled"
        assert not silent or server.left.wait(5)


# ---- TLS and proxies


def test_a_certificate_has_to_be_trusted(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    with scripted(chat("safe"), secure=True) as server:
        with pytest.raises(LoadError, match=r"its certificate is not trusted: .*; SSL_CERT_FILE may name"):
            start(far(server.url), progress=lambda _, stage: told.append(stage))
        assert not any("trying again" in stage for stage in told), "it does not become better by waiting"
        monkeypatch.setenv("SSL_CERT_FILE", str(AUTHORITY))
        assert start(far(server.url)).answer(ask("Hi")).text == "safe"


def test_a_certificate_for_another_name_is_not_trusted(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(AUTHORITY))
    with scripted(secure=True) as server:
        url = f"https://127.0.0.2:{server.port}/v1"
        monkeypatch.setattr(connection, "create_connection", _always(server.port))
        assert "its certificate is not trusted" in refusal(start, far(url))


def _always(port: int):
    connect = connection.create_connection
    return lambda _address, *rest, **more: connect(("127.0.0.1", port), *rest, **more)


def test_a_proxy_of_the_environment_is_used(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted(chat("a")) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://me:pass%20word@127.0.0.1:{proxy.port}")
        answer = start(far("http://remote.test:1234/v1")).answer(ask("Hi"))
    assert answer.text == "a"
    assert [asked.path for asked in proxy.asked] == [
        "http://remote.test:1234/v1/models",
        "http://remote.test:1234/v1/chat/completions",
    ]
    for asked in proxy.asked:
        assert asked.headers["host"] == "remote.test:1234"
        assert asked.headers["proxy-authorization"] == "Basic bWU6cGFzcyB3b3Jk"


def test_a_proxy_hears_nothing_of_what_is_said_in_tls(
    start: Start, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(AUTHORITY))
    with scripted(chat("a")) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"127.0.0.1:{proxy.port}")
        answer = start(far("https://remote.test/v1", key_variable=key)).answer(ask("Hi"))
    assert answer.text == "a"
    assert [asked.path for asked in proxy.asked] == [
        *("remote.test:443", "/v1/models"),
        *("remote.test:443", "/v1/chat/completions"),
    ]
    assert "authorization" not in proxy.asked[0].headers


def test_this_machine_is_reached_without_a_proxy_and_so_is_what_no_proxy_names(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{free_port()}")
    with scripted() as server:
        assert start(far(server.url)).engine.slots
        monkeypatch.setenv("NO_PROXY", "remote.test")
        monkeypatch.setattr(connection, "create_connection", _always(server.port))
        assert start(far("http://remote.test/v1")).engine.slots


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:9", "http://127.0.0.1:port"])
def test_a_proxy_that_is_none_is_refused(start: Start, monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    said = refusal(start, far("http://remote.test/v1"))
    assert "the proxy that the environment names for http must look like http://host:port" in said


# ---- stopping


def test_a_stop_drops_what_runs_and_what_comes_later(start: Start) -> None:
    with scripted(lambda handler: handler.wait_until_left()) as server:
        launched = start(far(server.url))
        answer, thread = launched.begin(ask("Hi"))
        assert server.silent.wait(5)
        launched.engine.stop(1.0)
        thread.join(1.0)
        assert isinstance(answer.error, EngineLost)
        assert server.left.wait(5)
        with pytest.raises(EngineLost):
            launched.answer(ask("Hi"))
        launched.engine.stop(1.0)
    assert launched.exits.empty()


def test_a_stop_leaves_a_generation_that_was_cancelled_cancelled(start: Start) -> None:
    with scripted(lambda handler: handler.wait_until_left()) as server:
        launched = start(far(server.url))
        answer, thread = launched.begin(ask("Hi"))
        assert server.silent.wait(5)
        launched.engine.cancel("only")
        launched.engine.stop(1.0)
        thread.join(1.0)
    assert answer.finish is not None
    assert answer.finish.reason == "cancelled"


def test_a_late_cancel_does_not_cut_the_connection_that_serves_the_next_call(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[HttpCall] = []
    attach = HttpCall.attach

    def record(call: HttpCall, connection: socket.socket) -> None:
        seen.append(call)
        attach(call, connection)

    monkeypatch.setattr(HttpCall, "attach", record)
    with scripted(chat("a"), chat("b")) as server:
        launched = start(far(server.url))
        launched.answer(ask("Hi"))
        seen[-1].cancel()
        assert launched.answer(ask("Hi")).text == "b"
    assert len({asked.connection for asked in server.posts}) == 1
