"""What was measured of a stream: in its head what is known by then, the rest in trailers."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from scheduler.job import Claim
from tests.conftest import ValkeyServer
from tests.support.raw_http import RawClient, request
from tests.support.served_api import Served, serving
from tests.support.waiting import scaled, wait_until

NAMES = ("x-cache-hit", "x-cache-tokens-reused", "x-queue-wait-ms", "x-gpu-time-ms")
DIALECTS = {
    "/v1/responses": {"input": "Hi"},
    "/v1/chat/completions": {"messages": [{"role": "user", "content": "Hi"}]},
    "/v1/completions": {"prompt": "Hi"},
    "/v1/messages": {"max_tokens": 5, "messages": [{"role": "user", "content": "Hi"}]},
    "/api/chat": {"messages": [{"role": "user", "content": "Hi"}]},
}
USAGE = b'{"input_tokens":7,"output_tokens":2,"cached_tokens":3}'


@pytest.fixture(scope="module")
def served(shared_server: ValkeyServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(shared_server, tmp_path_factory.mktemp("streams"), {}, slots=1) as served:
        yield served


@pytest.fixture(scope="module")
def delayed(shared_server: ValkeyServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """An API whose streams begin with their first tokens, or after 2 s (scaled)."""
    variables = {"STOKER_API__HEAD_AFTER_FIRST_TOKEN": "true", "STOKER_API__KEEP_ALIVE_S": str(scaled(2))}
    with serving(shared_server, tmp_path_factory.mktemp("delayed"), variables, slots=1) as served:
        yield served


def client_of(served: Served) -> RawClient:
    host, port = served.url.removeprefix("http://").split(":")
    return RawClient((host, int(port)), timeout_s=20)


def ask(path: str = "/v1/responses", *, version: str = "1.1", **headers: str) -> bytes:
    body = json.dumps({"model": "alpha", "stream": True, **DIALECTS[path]}).encode()
    return request(
        "POST", path, body, version=version, Host="localhost", Content_Type="application/json", **headers
    )


def fields(text: bytes) -> dict[str, str]:
    lines = [line.partition(b":") for line in text.split(b"\r\n") if b":" in line]
    return {name.decode().lower(): value.strip().decode() for name, _, value in lines}


def head_of(client: RawClient) -> dict[str, str]:
    head, _, client.unread = client.read_until(b"\r\n\r\n").partition(b"\r\n\r\n")
    return fields(head)


def trailers_of(client: RawClient) -> dict[str, str]:
    """Read to the end of the body; what follows its last chunk."""
    client.read_until(b"\r\n0\r\n")
    while not client.unread.partition(b"\r\n0\r\n")[2].endswith(b"\r\n"):
        client.receive()
    _, _, trailers = client.unread.partition(b"\r\n0\r\n")
    while not (trailers == b"\r\n" or trailers.endswith(b"\r\n\r\n")):
        client.receive()
        _, _, trailers = client.unread.partition(b"\r\n0\r\n")
    client.unread = b""
    return fields(trailers)


def answer(served: Served, claim: Claim) -> None:
    served.platform.append_text(claim, 1, "Hel")
    served.platform.append_text(claim, 2, "lo.")
    served.platform.release(claim, finish_reason="stop", usage=USAGE)


@pytest.mark.rule("runner/response-headers-of-streams")
@pytest.mark.parametrize("path", DIALECTS)
def test_a_stream_ends_with_trailers_for_a_client_that_takes_them(served: Served, path: str) -> None:
    served.handle = lambda claim: answer(served, claim)
    with client_of(served) as client:
        for _ in range(2):  # the connection is kept alive
            client.send(ask(path, TE="deflate;q=0.5, trailers", Connection="TE"))
            head = head_of(client)
            assert head["x-queue-wait-ms"] == "0", "a slot was free"
            assert head["trailer"] == "X-Cache-Hit, X-Cache-Tokens-Reused, X-GPU-Time-Ms"
            trailers = trailers_of(client)
            assert trailers.keys() == {"x-cache-hit", "x-cache-tokens-reused", "x-gpu-time-ms"}
            assert (trailers["x-cache-hit"], trailers["x-cache-tokens-reused"]) == ("true", "3")


@pytest.mark.parametrize(
    ("version", "headers"), [("1.1", {}), ("1.1", {"TE": "gzip"}), ("1.0", {"TE": "trailers"})]
)
def test_a_client_that_takes_no_trailers_gets_none(
    served: Served, version: str, headers: dict[str, str]
) -> None:
    served.handle = lambda claim: answer(served, claim)
    with client_of(served) as client:
        client.send(ask(version=version, **headers))
        head = head_of(client)
        assert "trailer" not in head
        assert head["x-queue-wait-ms"] == "0"
        if version == "1.1":
            assert trailers_of(client) == {}
        else:
            client.wait_for_end(10)
            assert b"x-cache" not in client.unread.lower()


@pytest.mark.rule("runner/response-headers-of-streams")
def test_a_prompt_without_a_cache_has_reused_nothing_before_it_begins(served: Served) -> None:
    served.handle = lambda claim: answer(served, claim)
    with client_of(served) as client:
        client.send(ask(X_Cache_Mode="none"))
        head = head_of(client)
        assert [head.get(name) for name in NAMES] == ["false", "0", "0", None]


def test_the_wait_of_a_queued_stream_is_in_its_trailers(served: Served) -> None:
    first: list[Claim] = []
    served.handle = first.append
    with client_of(served) as one, client_of(served) as other:
        one.send(ask())
        wait_until(lambda: first)
        other.send(ask(TE="trailers"))
        head = head_of(other)
        assert "x-queue-wait-ms" not in head, "it waits"
        assert head["trailer"] == "X-Cache-Hit, X-Cache-Tokens-Reused, X-Queue-Wait-Ms, X-GPU-Time-Ms"
        served.handle = lambda claim: answer(served, claim)
        served.platform.advance_time(3)
        answer(served, first[0])
        assert int(trailers_of(other)["x-queue-wait-ms"]) >= 0


@pytest.mark.rule("runner/response-headers-of-streams")
def test_a_delayed_head_has_the_wait_of_a_queued_stream(delayed: Served) -> None:
    claims: list[Claim] = []
    delayed.handle = claims.append
    with client_of(delayed) as one, client_of(delayed) as other:
        one.send(ask())
        wait_until(lambda: claims)
        delayed.platform.append_text(claims[0], 1, "Hel")
        assert head_of(one)["x-queue-wait-ms"] == "0"
        other.send(ask(TE="trailers"))
        wait_until(lambda: delayed.platform.client.zcard(f"{delayed.platform.prefix}waiting:alpha"))
        assert not other.unread
        delayed.platform.release(claims[0], finish_reason="stop")
        wait_until(lambda: len(claims) == 2)
        delayed.platform.append_text(claims[1], 1, "Hel")
        head = head_of(other)
        assert 0 <= int(head["x-queue-wait-ms"]) < 60_000
        assert head["trailer"] == "X-Cache-Hit, X-Cache-Tokens-Reused, X-GPU-Time-Ms"
        delayed.platform.release(claims[1], finish_reason="stop", usage=USAGE)
        assert trailers_of(other)["x-cache-tokens-reused"] == "3"


def test_a_delayed_head_of_an_ended_answer_has_all_measurements(delayed: Served) -> None:
    def handle(claim: Claim) -> None:
        delayed.platform.release(claim, finish_reason="stop", usage=USAGE)

    delayed.handle = handle
    with client_of(delayed) as client:
        client.send(ask(TE="trailers"))
        head = head_of(client)
        assert [head[name] for name in NAMES[:3]] == ["true", "3", "0"]
        assert "trailer" not in head
        assert trailers_of(client) == {}


def test_a_delayed_head_comes_with_the_first_keep_alive_at_the_latest(delayed: Served) -> None:
    claims: list[Claim] = []
    delayed.handle = claims.append
    with client_of(delayed) as client:
        client.send(ask())
        head = head_of(client)
        assert head["x-queue-wait-ms"] == "0"
        wait_until(lambda: claims)
        delayed.platform.release(claims[0], finish_reason="stop")
        assert trailers_of(client) == {}


def test_a_client_that_leaves_before_a_delayed_head_cancels_its_request(delayed: Served) -> None:
    claims: list[Claim] = []
    delayed.handle = claims.append
    with client_of(delayed) as client:
        client.send(ask("/v1/chat/completions"))
        wait_until(lambda: claims)
    platform = delayed.platform
    key = f"{platform.prefix}job:{claims[0].id}"
    wait_until(lambda: platform.client.hget(key, "cancel") == b"1")
    platform.release(claims[0], finish_reason="stop")
