"""The WSGI environ of a request."""

from __future__ import annotations

import pytest

from api.http.server.request import HttpRequest, environ_key
from api.http.server.request_path import one_path
from tests.api.http.server.conftest import RunningServer
from tests.support.raw_http import chunked, request


def test_no_header_changes_the_address_the_scheme_or_the_prefix(server: RunningServer) -> None:
    fields = b"".join(
        name + b": /admin\r\n"
        for name in (b"SCRIPT_NAME", b"Script-Name", b"X-Forwarded-For", b"X-Forwarded-Prefix", b"Forwarded",
                     b"Remote-Addr", b"REMOTE_ADDR", b"wsgi.url_scheme", b"Path_Info", b"X_Api_Key")
    )  # fmt: skip
    facts = server.exchange(request("GET", "/echo?a=b%20c")[:-2] + fields + b"\r\n").json()
    assert facts["SCRIPT_NAME"] == ""
    assert facts["REMOTE_ADDR"] == "127.0.0.1"
    assert facts["wsgi.url_scheme"] == "http"
    assert (facts["PATH_INFO"], facts["QUERY_STRING"]) == ("/echo", "a=b%20c")
    assert facts["HTTP_SCRIPT_NAME"] == "/admin"
    assert "HTTP_X_API_KEY" not in facts


def test_a_path_is_decoded_once(server: RunningServer) -> None:
    assert server.get("/%65cho%3F?x").status == 404
    assert server.get("/%65cho").json()["PATH_INFO"] == "/echo"
    assert server.get("/%2565cho").status == 404
    assert server.get("/echo#fragment?x=1").json()["QUERY_STRING"] == ""


@pytest.mark.parametrize("target", ["http://other/echo?x=1", "HTTP://other:80/echo?x=1"])
def test_a_target_in_absolute_form_is_its_path(server: RunningServer, target: str) -> None:
    facts = server.get(target).json()
    assert (facts["PATH_INFO"], facts["QUERY_STRING"]) == ("/echo", "x=1")


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("//echo?x=1", "/echo"),
        ("/echo/?x=1", "/echo"),
        ("///echo//", "/echo"),
        ("http://other//echo/", "/echo"),
        ("//", "/"),
        ("/echo?a=//b/", "/echo"),
    ],
)
def test_slashes_that_are_doubled_or_at_the_end_change_no_path(
    server: RunningServer, target: str, path: str
) -> None:
    answer = server.get(target)
    if path == "/":
        assert answer.status == 204
    else:
        facts = answer.json()
        assert facts["PATH_INFO"] == path
        assert facts["QUERY_STRING"] == ("x=1" if "x=1" in target else "a=//b/" if "a=" in target else "")


def test_a_path_of_another_host_is_only_a_path(server: RunningServer) -> None:
    assert server.get("//other/echo").status == 404


@pytest.mark.rule("llama-server/second-paths")
@pytest.mark.parametrize(
    ("asked", "served"),
    [
        (b"/chat/completions", b"/v1/chat/completions"),
        (b"/chat/completions/", b"/v1/chat/completions"),
        (b"/responses", b"/v1/responses"),
        (b"/v1/reranking", b"/v1/rerank"),
        (b"/completions", b"/completion"),
        (b"/v1/completions", b"/v1/completions"),
    ],
)
def test_second_paths_of_llama_server_lead_to_the_same_route(asked: bytes, served: bytes) -> None:
    assert one_path(asked) == served


def test_escaped_slashes_and_those_of_pages_stay() -> None:
    assert one_path(b"/v1/models/a%2F%2Fb%2F") == b"/v1/models/a%2F%2Fb%2F"
    assert one_path(b"/ui/") == b"/ui/"
    assert one_path(b"//ui//models/") == b"/ui/models/"


@pytest.mark.parametrize("target", ["echo", "ftp://other/echo", "*", "http://[x/echo"])
def test_another_target_is_refused(server: RunningServer, target: str) -> None:
    assert server.get(target).status == 400


@pytest.mark.parametrize(
    "field", [b"Host: y", b"Content-Length: 0\r\nContent-Length: 0", b"Content-Type: a\r\nContent-Type: b"]
)
def test_a_field_that_must_be_unique_is_refused_twice(server: RunningServer, field: bytes) -> None:
    assert server.exchange(request("GET", "/echo")[:-2] + field + b"\r\n\r\n").status == 400


def test_other_repeated_fields_are_joined(server: RunningServer) -> None:
    fields = b"Prefer: a\r\nPrefer: b\r\nCookie: c=1\r\nCookie: d=2\r\n\r\n"
    facts = server.exchange(request("GET", "/echo")[:-2] + fields).json()
    assert (facts["HTTP_PREFER"], facts["HTTP_COOKIE"]) == ("a,b", "c=1; d=2")


def test_a_chunked_body_has_its_length(server: RunningServer) -> None:
    head = b"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    facts = server.exchange(head + chunked(b"abc", b"de")).json()
    assert (facts["length"], facts["CONTENT_LENGTH"]) == (5, "5")
    assert "HTTP_TRANSFER_ENCODING" not in facts


def test_names_with_an_underscore_are_dropped() -> None:
    assert environ_key(b"X-Api-Key") == "HTTP_X_API_KEY"
    assert environ_key(b"X_Api-Key") is None
    assert environ_key(b"content-TYPE") == "CONTENT_TYPE"


def test_a_body_of_several_parts_is_copied_once() -> None:
    """A copy of 8 MiB holds the interpreter for 6 ms."""
    request = HttpRequest()
    request.add_body(b"x" * 4096)
    request.add_body(b"y" * 4096)
    body = request.finish_environ({})["wsgi.input"]
    assert body.read() is request.body
    assert request.body == b"x" * 4096 + b"y" * 4096
