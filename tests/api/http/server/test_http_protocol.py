"""HTTP on one connection: requests, answers, and the client's end."""

from __future__ import annotations

import socket
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import pytest

from api.http.server.application import LARGE_BODY_THREADS
from tests.api.conftest import KEY
from tests.api.http.server.conftest import RunningServer, Serve
from tests.support.raw_http import request
from tests.support.waiting import scaled, wait_until

DETACHED = request("GET", "/detach")


def test_a_connection_serves_one_request_after_the_other(server: RunningServer) -> None:
    with server.client() as client:
        for body in (b"", b"one", b"x" * 100_000):
            client.send(request("POST", "/echo", body, x_api_key="sk-one"))
            answer = client.answer()
            assert (answer.status, answer.json()["length"]) == (200, len(body))
        client.send(request("GET", "/echo", Connection="close"))
        answer = client.answer()
        assert answer.headers["connection"] == "close"
        client.wait_for_end(0.5)


def test_a_view_that_does_not_block_runs_on_the_loop_and_others_in_a_thread(server: RunningServer) -> None:
    small, large = b"x" * 1000, b"x" * 70_000
    threads = {
        (path, len(body)): server.exchange(request("POST", path, body, x_api_key="sk-one")).json()["thread"]
        for path in ("/echo", "/echo_inline")
        for body in (small, large)
    }
    assert {key for key, thread in threads.items() if thread.startswith("api")} == {
        ("/echo", 1000),
        ("/echo", 70_000),
        ("/echo_inline", 70_000),
    }


def test_a_body_that_is_decoded_first_is_taken_for_a_large_one(server: RunningServer) -> None:
    encoded = request("POST", "/echo_inline", b"x", Content_Encoding="gzip")
    assert server.exchange(encoded).json()["thread"].startswith("api-large-body")


def test_large_bodies_are_parsed_by_threads_of_their_own(server: RunningServer) -> None:
    """Few threads, so that many large bodies at once leave the interpreter to the other requests."""
    large = request("POST", "/echo_inline", b"x" * 70_000, x_api_key="sk-one")
    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(server.exchange, [large] * 12))
    threads = {answer.json()["thread"] for answer in answers}
    assert threads <= {f"api-large-body_{number}" for number in range(LARGE_BODY_THREADS)}


def test_pipelined_requests_are_answered_in_order(server: RunningServer) -> None:
    paths = [path for number in range(100) for path in (f"/echo?{number}", f"/echo_inline?{number}")]
    with server.client() as client:
        client.send(b"".join(request("GET", path) for path in paths))
        answers = [client.answer().json() for _ in paths]
    assert [f"{answer['PATH_INFO']}?{answer['QUERY_STRING']}" for answer in answers] == paths


def test_an_answer_to_head_has_the_length_and_no_body(server: RunningServer) -> None:
    with server.client() as client:
        client.send(request("HEAD", "/whole?size=5") + request("GET", "/whole?size=5"))
        head = client.read_until(b"\r\n\r\n").partition(b"\r\n\r\n")[0]
        assert b"Content-Length: 5" in head
        assert client.read_until(b"xxxxx").count(b"Content-Length: 5") == 2
        assert client.unread.count(b"xxxxx") == 1


def test_an_answer_without_content_has_no_length(server: RunningServer) -> None:
    with server.client() as client:
        client.send(request("GET", "/") + request("GET", "/echo"))
        empty = client.answer()
        assert (empty.status, "content-length" in empty.headers) == (204, False)
        assert client.answer().status == 200


def test_a_client_that_expects_100_continue_gets_it_before_it_sends_the_body(server: RunningServer) -> None:
    with server.client() as client:
        client.send(request("POST", "/echo", Content_Length="3", Expect="100-continue"))
        assert client.answer().status == 100
        client.send(b"abc")
        assert client.answer().json()["length"] == 3


def test_a_streamed_answer_is_chunked_and_its_connection_stays(server: RunningServer) -> None:
    with server.client() as client:
        client.send(DETACHED + request("GET", "/echo"))
        stream = server.served.result(scaled(5))
        server.call(stream.begin, 200, {"Content-Type": "text/plain"})
        server.call(stream.write, b"one")
        assert b"3\r\none\r\n" in client.read_until(b"one\r\n")
        server.call(stream.write, b"two")
        server.call(stream.end)
        answer = client.answer()
        assert (answer.body, answer.headers["transfer-encoding"]) == (b"onetwo", "chunked")
        assert client.answer().status == 200


def test_a_streamed_answer_of_http_1_0_ends_with_the_connection(server: RunningServer) -> None:
    with server.client() as client:
        client.send(request("GET", "/detach", version="1.0"))
        stream = server.served.result(scaled(5))
        server.call(stream.begin, 200, {})
        server.call(stream.write, b"one")
        server.call(stream.end)
        client.wait_for_end(5)
        assert client.answer().body == b"one"


def test_a_detached_response_answers_as_a_whole_with_the_id_of_the_hooks(server: RunningServer) -> None:
    with server.client() as client:
        client.send(DETACHED)
        server.call(server.served.result(scaled(5)).respond, 409, {"X-Kind": "whole"}, b"{}")
        answer = client.answer()
    assert (answer.status, answer.body, answer.headers["x-kind"]) == (409, b"{}", "whole")


def test_the_body_is_freed_while_a_detached_response_is_awaited(server: RunningServer) -> None:
    size = 4 * 1024 * 1024
    with server.client() as client:
        tracemalloc.start()
        try:
            client.send(request("POST", "/detach", b"x" * size, x_api_key=KEY))
            answer = server.served.result(scaled(5))
            wait_until(lambda: tracemalloc.get_traced_memory()[0] < size / 2)
        finally:
            tracemalloc.stop()
        server.call(answer.respond, 200, {}, b"{}")
        assert client.answer().status == 200


def test_a_header_with_a_line_break_is_never_sent(server: RunningServer) -> None:
    with server.client() as client:
        client.send(DETACHED)
        with pytest.raises(ValueError, match="line break"):
            server.call(server.served.result(scaled(5)).respond, 200, {"X-Kind": "a\r\nSet-Cookie: b"}, b"")


@pytest.mark.parametrize("end", ["close", "reset", "shutdown"])
def test_a_hang_up_is_reported_at_once_while_nothing_is_sent(server: RunningServer, end: str) -> None:
    client = server.client()
    client.send(DETACHED)
    server.call(server.served.result(scaled(5)).begin, 200, {})
    client.socket.shutdown(socket.SHUT_WR) if end == "shutdown" else getattr(client, end)()
    assert server.disconnected.wait(scaled(0.5))
    client.close()
    late = []
    server.call(server.served.result().on_disconnect, lambda: late.append(1))
    server.call(server.served.result().write, b"ignored")
    assert late == [1]


def test_a_hang_up_after_the_next_request_is_reported(serve: Serve) -> None:
    server = serve(write_timeout_s=1)
    with server.client() as client:
        client.send(DETACHED)
        server.call(server.served.result(scaled(5)).begin, 200, {})
        client.send(request("POST", "/echo", b"x" * 50_000))
        time.sleep(0.05)
    assert server.disconnected.wait(scaled(0.5))


def test_a_hang_up_after_more_than_is_read_is_reported(serve: Serve) -> None:
    server = serve(write_timeout_s=1)
    with server.client() as client:
        client.send(DETACHED)
        server.call(server.served.result(scaled(5)).begin, 200, {})
        client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 20_000)
    assert server.disconnected.wait(scaled(2))


def test_a_plain_answer_is_given_to_a_client_that_has_closed_its_side(server: RunningServer) -> None:
    with server.client() as client:
        client.send(request("GET", "/block"))
        assert server.blocked.acquire(timeout=scaled(5))
        client.socket.shutdown(socket.SHUT_WR)
        time.sleep(0.05)
        server.unblock.set()
        assert client.answer().body == b"unblocked"
        client.wait_for_end(1)


def test_a_stream_is_not_writable_until_its_client_has_read(server: RunningServer) -> None:
    with server.client(receive_buffer=4096) as client:
        client.send(DETACHED)
        stream, written = server.served.result(scaled(5)), 0
        resumed: list[bool] = []
        server.call(stream.on_writable, lambda: resumed.append(stream.writable))
        server.call(stream.begin, 200, {})
        while stream.writable:
            server.call(stream.write, b"x" * 32_768)
            written += 32_768
            assert written < 10_000_000
        assert resumed == []
        server.call(stream.end)
        assert len(client.answer().body) == written
        wait_until(lambda: not server.connections.body_bytes)


def test_an_upgrade_is_not_followed(server: RunningServer) -> None:
    with server.client() as client:
        client.send(request("GET", "/echo", Connection="Upgrade, HTTP2-Settings", Upgrade="h2c"))
        assert client.answer().status == 200
        client.wait_for_end(1)


def test_an_error_in_a_view_is_internal_error(server: RunningServer) -> None:
    answer = server.get("/whole")  # without `size`
    assert answer.status == 400
    assert server.get("/whole?size=x").status == 500


def test_a_streamed_answer_to_head_ends_with_its_head(server: RunningServer) -> None:
    with server.client() as client:
        client.send(request("HEAD", "/detach") + request("GET", "/echo"))
        stream = server.served.result(scaled(5))
        server.call(stream.begin, 200, {})
        assert server.disconnected.wait(scaled(5))
        server.call(stream.write, b"one")
        server.call(stream.end)
        head, _, rest = client.read_until(b"\r\n\r\n").partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 ")
        client.unread = rest
        assert client.answer().json()["length"] == 0


def test_a_client_whose_request_waited_for_an_answer_gets_100_continue(server: RunningServer) -> None:
    with server.client() as client:
        client.send(
            request("GET", "/block") + request("POST", "/echo", Content_Length="3", Expect="100-continue")
        )
        assert server.blocked.acquire(timeout=scaled(5))
        server.unblock.set()
        assert client.answer().body == b"unblocked"
        assert client.answer().status == 100
        client.send(b"abc")
        assert client.answer().json()["length"] == 3


@pytest.mark.parametrize("encoding", ["gzip, chunked", "chunked, chunked", "x-chunked", "identity"])
def test_a_transfer_encoding_other_than_chunked_is_refused(server: RunningServer, encoding: str) -> None:
    data = request("POST", "/echo", Transfer_Encoding=encoding) + b"0\r\n\r\n"
    answer = server.exchange(data)
    assert (answer.status, answer.error()["code"]) == (400, "invalid_request")


def test_an_error_inside_the_server_has_the_id_of_a_request(server: RunningServer) -> None:
    answer = server.get("/broken_body")
    assert (answer.status, answer.error()["code"]) == (500, "internal_error")
    assert answer.headers["x-request-id"].startswith("req_")


def test_the_head_of_a_streamed_answer_leaves_with_its_first_part_or_alone(server: RunningServer) -> None:
    with server.client() as client:
        client.send(DETACHED)
        stream = server.served.result(scaled(5))
        (connection,) = server.connections._all
        written = []

        def begin() -> None:
            stream.begin(200, {})
            written.append(connection._written)
            stream.write(b"one")
            written.append(connection._written)

        server.call(begin)
        assert written[0] == 0 < written[1]
        server.call(stream.end)
        assert client.answer().body == b"one"
    with server.client() as client:
        server.served = type(server.served)()
        client.send(DETACHED)
        server.call(server.served.result(scaled(5)).begin, 200, {})
        client.read_until(b"\r\n\r\n")
