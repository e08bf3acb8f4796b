"""The access log of a server on a real port."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from api.http.server.access_log import AccessLog
from api.http.server.http_answer import HttpAnswer
from api.http.server.request import HttpRequest
from tests.api.http.server.conftest import THREADS
from tests.support.raw_http import request as http_request
from tests.support.waiting import scaled, wait_until


def lines(server: Any) -> list[dict[str, Any]]:
    server.call(server.connections.access_log.write)
    return [json.loads(line) for line in server.access_log.getvalue().splitlines()]


@pytest.fixture(autouse=True)
def _info_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="api.access")


def test_each_request_of_a_connection_has_a_line(server):
    with server.client() as client:
        client.send(http_request("GET", "/echo_inline?key=secret") + http_request("GET", "/"))
        first, second = client.answer(), client.answer()

    wait_until(lambda: len(lines(server)) == 2)
    one, other = lines(server)
    assert (one["method"], one["path"], one["status"]) == ("GET", "/echo_inline", first.status)
    assert one["bytes"] > len(first.body)
    assert (other["path"], other["status"]) == ("/", second.status)
    assert one["request_id"] != other["request_id"]
    assert one["address"] == "127.0.0.1"
    assert "secret" not in server.access_log.getvalue()


def test_a_client_that_disconnects_is_noted(server):
    with server.client() as client:
        client.send(http_request("GET", "/detach"))
        server.served.result(scaled(5))
    wait_until(lambda: lines(server))

    assert lines(server)[0]["disconnected"] is True


def test_a_long_path_is_cut(server):
    server.get("/" + "x" * 5000)
    wait_until(lambda: lines(server))

    assert lines(server)[0]["path"] == "/" + "x" * 199 + "... (5001 characters)"


@pytest.mark.parametrize(
    ("request_bytes", "status", "method", "path"),
    [
        (b"FOO BAR\r\n\r\n", 400, "-", "-"),
        (b"GET /" + b"x" * 20_000 + b" HTTP/1.1\r\n\r\n", 414, "-", "-"),
        (b"GET /echo HTTP/1.1\r\nX: " + b"x" * 90_000, 431, "-", "-"),
        (
            b"POST /echo?a=secret HTTP/1.1\r\nHost: a\r\nContent-Length: 999999999999\r\n\r\n",
            413,
            "POST",
            "/echo",
        ),
        (b"GET /echo HTTP/1.1\r\n\r\n", 400, "GET", "/echo"),
    ],
)
def test_a_refused_request_has_a_line_with_the_id_of_its_answer(
    server, request_bytes: bytes, status: int, method: str, path: str
):
    answer = server.exchange(request_bytes)
    wait_until(lambda: lines(server))

    assert answer.status == status
    (line,) = lines(server)
    assert (line["status"], line["method"], line["path"]) == (status, method, path)
    assert line["request_id"] == answer.headers["x-request-id"] == answer.headers["request-id"]
    assert line["bytes"] > len(answer.body) > 0
    assert "disconnected" not in line
    assert "secret" not in server.access_log.getvalue()


@pytest.mark.parametrize(("path", "status"), [("/broken_body", 500), ("/echo", 503)])
def test_an_answer_of_the_server_itself_has_the_id_of_its_line(serve, monkeypatch, path: str, status: int):
    if status == 503:
        monkeypatch.setattr("api.http.server.application.MAX_WAITING", -THREADS)
    server = serve()
    answer = server.get(path)
    wait_until(lambda: lines(server))

    assert answer.status == status
    assert lines(server)[0]["request_id"] == answer.headers["x-request-id"]


def test_a_path_with_an_api_key_is_written_without_it(server):
    server.get("/v1/admin/keys/sk-stoker-0123_abc-DEF?x=1")
    wait_until(lambda: lines(server))

    assert lines(server)[0]["path"] == "/v1/admin/keys/sk-..."


def test_requests_without_a_tenant_cannot_fill_the_log(server, caplog, monkeypatch):
    monkeypatch.setattr("api.http.server.access_log.ANONYMOUS_LINES", 3)
    with server.client() as client:
        for _ in range(5):
            client.send(http_request("GET", "/"))
            client.answer()
    assert len(lines(server)) == 3

    server.connections.access_log._window_end = 0.0
    server.get("/")
    wait_until(lambda: len(lines(server)) == 4)
    assert caplog.messages == ["2 more requests without a tenant were not logged"]


def test_a_tenant_cannot_fill_the_log_and_others_keep_their_lines(caplog, monkeypatch):
    monkeypatch.setattr("api.http.server.access_log.TENANT_LINES", 3)
    stream, request = io.StringIO(), HttpRequest()
    log = AccessLog(as_json=True, stream=stream)

    def answer(tenant: str, times: int = 1) -> None:
        for _ in range(times):
            ended = HttpAnswer(None, request)
            ended.ids.tenant = tenant
            log.add(request, ended, "127.0.0.1")
        log.write()

    answer("acme", 5)
    answer("other", 3)
    written = [json.loads(line)["tenant"] for line in stream.getvalue().splitlines()]
    assert written == ["acme"] * 3 + ["other"] * 3

    log._window_end = 0.0
    answer("acme")
    assert len(stream.getvalue().splitlines()) == 7
    assert caplog.messages == ["2 more requests of the tenant acme were not logged"]


def test_no_line_is_made_below_the_level(server, caplog):
    caplog.set_level("WARNING", logger="api.access")
    server.get("/")

    assert lines(server) == []
