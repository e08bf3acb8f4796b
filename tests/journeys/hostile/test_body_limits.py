"""Bodies over their limits are refused before they are read, and unknown callers may send little."""

from __future__ import annotations

import pytest

from tests.journeys.hostile.conftest import MAX_BODY, Target
from tests.support.hostile_clients import Behaviour, Crowd
from tests.support.raw_http import chunked, request

pytestmark = [pytest.mark.journey, pytest.mark.hostile]

CHUNK = b"x" * 65536
LARGE = str(MAX_BODY // 2)


def head(key: str, **fields: str | None) -> bytes:
    return request(
        "POST", "/v1/responses", Authorization=f"Bearer {key}", Content_Type="application/json", **fields
    )


def body_of(size: int) -> bytes:
    """A valid body of exactly that size."""
    start, end = b'{"model": "quick", "input": "', b'"}'
    return (
        start
        + b"word " * ((size - len(start) - len(end)) // 5)
        + b"x" * ((size - len(start) - len(end)) % 5)
        + end
    )


def test_a_length_over_the_limit_is_refused_without_the_body(target: Target) -> None:
    with target.client() as client:
        client.send(head(target.key, Content_Length=str(MAX_BODY + 1)))
        answer = client.answer()
        assert (answer.status, answer.error()["code"]) == (413, "request_too_large")
        client.wait_for_end(3)


def test_a_chunked_body_over_the_limit_is_refused(target: Target) -> None:
    body = chunked(*[CHUNK] * (MAX_BODY // len(CHUNK)), b"x")
    answer = target.exchange(head(target.key, Transfer_Encoding="chunked") + body)
    assert (answer.status, answer.error()["code"]) == (413, "request_too_large")


def test_a_chunk_that_announces_more_than_the_limit_is_refused(target: Target) -> None:
    answer = target.exchange(head(target.key, Transfer_Encoding="chunked") + b"7fffffff\r\n" + CHUNK * 20)
    assert (answer.status, answer.error()["code"]) == (413, "request_too_large")


@pytest.mark.parametrize("is_chunked", [False, True])
def test_a_body_of_the_largest_size_is_read(target: Target, is_chunked: bool) -> None:
    body = body_of(MAX_BODY)
    assert len(body) == MAX_BODY
    if is_chunked:
        data = head(target.key, Transfer_Encoding="chunked") + chunked(body[:1000], body[1000:])
    else:
        data = head(target.key, Content_Length=str(len(body))) + body
    answer = target.exchange(data)
    assert answer.error()["code"] == "context_length_exceeded"  # the stub has read it


@pytest.mark.parametrize(
    "fields", [{"Content_Length": LARGE}, {"Transfer_Encoding": "chunked"}], ids=["length", "chunked"]
)
@pytest.mark.parametrize("key", ["sk-unknown", "", "\xff"])
def test_an_unknown_key_with_a_large_body_is_refused_before_the_body(
    target: Target, key: str, fields: dict[str, str]
) -> None:
    with target.client() as client:
        client.send(head(key, **fields).replace(b"\xc3\xbf", b"\xff"))
        if "Transfer_Encoding" in fields:
            client.send(chunked(CHUNK, b"x", end=b""))
        answer = client.answer()
        assert (answer.status, answer.error()["code"]) == (401, "invalid_api_key")
        client.wait_for_end(3)


@pytest.mark.parametrize("path", ["/health", "/v1/none", "/docs"])
def test_a_large_body_for_a_route_without_a_key_is_not_read(target: Target, path: str) -> None:
    with target.client() as client:
        client.send(request("POST", path, Content_Length=LARGE))
        assert client.answer().status in (401, 404, 405, 413)
        client.wait_for_end(3)


def test_a_client_that_expects_100_continue_gets_it_before_its_body(target: Target) -> None:
    body = body_of(1000)
    with target.client() as client:
        client.send(head(target.key, Content_Length=str(len(body)), Expect="100-continue"))
        assert client.answer().status == 100
        client.send(body)
        assert client.answer().status == 200


@pytest.mark.parametrize(
    ("key", "length", "status"), [("valid", str(MAX_BODY + 1), 413), ("unknown", LARGE, 401)]
)
def test_a_client_that_expects_100_continue_is_refused_without_it(
    target: Target, key: str, length: str, status: int
) -> None:
    key = target.key if key == "valid" else key
    answer = target.exchange(head(key, Content_Length=length, Expect="100-continue"))
    assert answer.status == status


def test_unfinished_bodies_take_a_bounded_amount_of_memory(target: Target, attackers: Crowd) -> None:
    before_mib = target.memory_mib()
    unfinished = head(target.key, Content_Length=str(MAX_BODY)) + b"x" * (MAX_BODY - 1000)
    peaks_mib = [0.0]

    def measure() -> bool:
        peaks_mib.append(target.memory_mib())
        return False

    attackers.join(300, Behaviour(unfinished))
    attackers.run(1, until=measure)
    assert max(peaks_mib) - before_mib < 150, "more bodies are held than their limit allows"
    assert target.exchange(request("GET", "/health")).status == 200
