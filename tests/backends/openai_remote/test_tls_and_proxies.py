"""A remote server over TLS and through proxies."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from backends.base import LoadError
from backends.openai_remote import errors
from http_client import connector
from tests.backends.conftest import Start, ask
from tests.backends.openai_remote.calls import load_error
from tests.backends.openai_remote.scripted_server import (
    AUTHORITY,
    Handler,
    chat,
    remote_model,
    scripted_server,
)
from tests.conftest import free_port


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "FIRST_PAUSE_S", 0.01)


def test_an_untrusted_certificate_is_rejected(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    stages: list[str] = []
    with scripted_server(chat("safe"), secure=True) as server:
        with pytest.raises(LoadError, match=r"its certificate is not trusted: .*; SSL_CERT_FILE may name"):
            start(remote_model(server.url), progress=lambda _, stage: stages.append(stage))
        assert not any("trying again" in stage for stage in stages), "a retry would not help"
        monkeypatch.setenv("SSL_CERT_FILE", str(AUTHORITY))
        assert start(remote_model(server.url)).answer(ask("Hi")).text == "safe"


def test_a_certificate_for_another_name_is_not_trusted(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(AUTHORITY))
    with scripted_server(secure=True) as server:
        url = f"https://127.0.0.2:{server.port}/v1"
        _resolve_to(server.port, monkeypatch)
        assert "its certificate is not trusted" in load_error(start, remote_model(url))


def _resolve_to(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every host name lead to a port of this machine."""

    async def resolve(_host: str, _port: int) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", ("127.0.0.1", port))]

    monkeypatch.setattr(connector, "resolve_host", resolve)


def test_a_proxy_of_the_environment_is_used(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted_server(chat("a")) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://me:pass%20word@127.0.0.1:{proxy.port}")
        answer = start(remote_model("http://remote.test:1234/v1")).answer(ask("Hi"))
    assert answer.text == "a"
    assert [request.path for request in proxy.requests] == [
        "http://remote.test:1234/v1/models",
        "http://remote.test:1234/v1/chat/completions",
    ]
    for request in proxy.requests:
        assert request.headers["host"] == "remote.test:1234"
        assert request.headers["proxy-authorization"] == "Basic bWU6cGFzcyB3b3Jk"


def test_a_proxy_does_not_see_tls_traffic_or_the_key(
    start: Start, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(AUTHORITY))
    with scripted_server(chat("a")) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"127.0.0.1:{proxy.port}")
        answer = start(remote_model("https://remote.test/v1", key_variable=key)).answer(ask("Hi"))
    assert answer.text == "a"
    assert [request.path for request in proxy.requests] == [
        *("remote.test:443", "/v1/models"),
        *("remote.test:443", "/v1/chat/completions"),
    ]
    assert "authorization" not in proxy.requests[0].headers


def test_no_proxy_is_used_for_this_machine_and_for_no_proxy_hosts(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{free_port()}")
    with scripted_server() as server:
        assert start(remote_model(server.url)).engine.slots
        monkeypatch.setenv("NO_PROXY", "remote.test")
        _resolve_to(server.port, monkeypatch)
        assert start(remote_model("http://remote.test/v1")).engine.slots


def test_a_proxy_that_refuses_is_reported(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(handler: Handler) -> None:
        handler.respond(407, b"no", Proxy_Authenticate="Basic")

    monkeypatch.setattr(Handler, "do_CONNECT", refuse)
    with scripted_server() as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.port}")
        message = load_error(start, remote_model("https://remote.test/v1", retries=0))
    assert message.startswith("remote.test cannot be reached: the proxy answered 407 Proxy Authentication")


def test_the_credentials_of_a_proxy_are_sent_to_it_alone(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(AUTHORITY))
    with scripted_server(chat("a")) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:pass%20word@127.0.0.1:{proxy.port}")
        assert start(remote_model("https://remote.test/v1")).answer(ask("Hi")).text == "a"
    sent = [request.headers.get("proxy-authorization") for request in proxy.requests]
    assert sent == ["Basic bWU6cGFzcyB3b3Jk", None] * 2


def test_a_server_that_does_not_speak_http_is_reported(start: Start) -> None:
    def nonsense(handler: Handler) -> None:
        handler.wfile.write(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")
        handler.cut_connection()

    with scripted_server(list_models=nonsense) as server:
        message = load_error(start, remote_model(server.url, retries=0))
    assert "cannot be reached: it does not answer with HTTP" in message


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:9", "http://127.0.0.1:port"])
def test_an_invalid_proxy_is_rejected(start: Start, monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    message = load_error(start, remote_model("http://remote.test/v1"))
    assert "the proxy that the environment names for http must look like http://host:port" in message
