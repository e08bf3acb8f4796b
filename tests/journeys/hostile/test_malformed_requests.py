"""Requests that are no HTTP, or that two servers in a row could read differently: refused, and nothing else.

A refusal is an error in the API's envelope, and the end of the connection: what follows may be anything.
"""

from __future__ import annotations

import contextlib
import random

import pytest

from tests.journeys.hostile.conftest import Target
from tests.support.hostile_clients import Behaviour, Crowd
from tests.support.raw_http import Incomplete, chunked, parse, request

pytestmark = [pytest.mark.journey, pytest.mark.hostile]

BODY = b'{"model": "quick", "input": "/stub tokens=1"}'
HEALTH_HEAD = b"GET /health HTTP/1.1\r\nHost: stoker\r\n"
MAX_HEAD = 64 * 1024


def assert_refused(target: Target, data: bytes, *statuses: int) -> None:
    """The first answer is one of these errors, and the connection ends after it."""
    with target.client() as client:
        client.send(data)
        answer = client.answer()
        assert answer.status in statuses, (answer, data[:200])
        assert answer.headers["content-type"] == "application/json"
        assert answer.error()["type"] == "invalid_request_error"
        client.wait_for_end(3)
        assert client.unread == b"", client.unread


def generation(target: Target, *fields: bytes) -> bytes:
    """The head of a request for a generation, with these fields and without one for its length."""
    head = request(
        "POST", "/v1/responses", Authorization=f"Bearer {target.key}", Content_Type="application/json"
    )
    return head[:-2] + b"".join(field + b"\r\n" for field in fields) + b"\r\n"


@pytest.mark.parametrize(
    "body",
    [
        b"zz\r\n" + BODY + b"\r\n0\r\n\r\n",
        b"-1\r\n" + BODY + b"\r\n0\r\n\r\n",
        b"+2d\r\n" + BODY + b"\r\n0\r\n\r\n",
        b"0x2d\r\n" + BODY + b"\r\n0\r\n\r\n",
        b"2_d\r\n" + BODY + b"\r\n0\r\n\r\n",
        b" 2d\r\n" + BODY + b"\r\n0\r\n\r\n",
        b"\r\n" + BODY + b"\r\n0\r\n\r\n",
        b";\r\n" + BODY + b"\r\n0\r\n\r\n",
        b"2d\n" + BODY + b"\n0\n\n",
        b"2c\r\n" + BODY + b"\r\n0\r\n\r\n",
        b"10000000000000000\r\n" + BODY,
        b"2d;" + b"x" * (16 * MAX_HEAD) + b"\r\n" + BODY + b"\r\n0\r\n\r\n",
    ],
    ids=[
        "no_number", "negative", "plus", "hexadecimal_prefix", "underscore", "space", "empty",
        "extension_only", "line_feeds", "too_short", "over_64_bits", "long_extension",
    ],
)  # fmt: skip
def test_a_bad_chunk_is_refused(target: Target, body: bytes) -> None:
    assert_refused(target, generation(target, b"Transfer-Encoding: chunked") + body, 400, 413, 431)


@pytest.mark.parametrize(
    "trailer",
    [
        b"Content-Length: 5",
        b"Transfer-Encoding: chunked",
        b"Host: other",
        b"Authorization: Bearer other",
        b"X-Api-Key: other",
        b"Content-Type: text/plain",
        b"Trailing : space",
        b"no colon",
        b"X-Much: " + b"x" * (16 * MAX_HEAD),
    ],
)
def test_a_forbidden_trailer_is_refused(target: Target, trailer: bytes) -> None:
    body = chunked(BODY, end=b"0\r\n" + trailer + b"\r\n\r\n")
    assert_refused(target, generation(target, b"Transfer-Encoding: chunked") + body, 400, 431)


def test_a_chunked_body_with_extensions_and_a_harmless_trailer_is_accepted(target: Target) -> None:
    body = b"14;name=value\r\n" + BODY[:20] + b"\r\n19\r\n" + BODY[20:] + b"\r\n0\r\nX-Checksum: 7\r\n\r\n"
    answer = target.exchange(generation(target, b"Transfer-Encoding: chunked") + body)
    assert (answer.status, answer.json()["status"]) == (200, "completed")


@pytest.mark.parametrize(
    "fields",
    [
        [b"Content-Length: 45", b"Transfer-Encoding: chunked"],
        [b"Transfer-Encoding: chunked", b"Content-Length: 45"],
        [b"Content-Length: 45", b"Content-Length: 46"],
        [b"Content-Length: 45, 46"],
        [b"Content-Length: +45"],
        [b"Content-Length: -45"],
        [b"Content-Length: 0x2d"],
        [b"Content-Length: 4 5"],
        [b"Content-Length: 4_5"],
        [b"Content-Length:"],
        [b"Content-Length: 18446744073709551661"],
        [b"Content-Length : 45"],
        [b" Content-Length: 45"],
        [b"Transfer-Encoding: xchunked"],
        [b"Transfer-Encoding: chunked, identity"],
        [b"Transfer-Encoding: gzip, chunked"],
        [b"Transfer-Encoding: identity"],
        [b"Transfer-Encoding:\x0bchunked"],
        [b"Transfer-Encoding: chunked", b"Transfer-Encoding: identity"],
        [b"Content-Length: 45", b"X-Folded: one", b" two"],
        [b"Content-Length: 45", b"X-Nul: a\x00b"],
        [b"Content-Length: 45", b"X-Return: a\rb"],
        [b"Content-Length: 45", b"X(Name): x"],
        [b"Content-Length: 45", b": no name"],
        [b"Content-Length: 45", b"no colon"],
        [b"Content-Length: 45", b"Host: other"],
    ],
    ids=lambda fields: b"|".join(fields).decode("latin-1").encode("unicode_escape").decode(),
)
def test_a_head_that_can_be_read_in_two_ways_is_refused(target: Target, fields: list[bytes]) -> None:
    smuggled = b"GET /v1/models HTTP/1.1\r\nHost: stoker\r\n\r\n"
    assert_refused(target, generation(target, *fields) + BODY + smuggled, 400, 501, 413)


@pytest.mark.parametrize(
    "data",
    [
        b"GET /health HTTP/1.1\r\n\r\n",
        b"GET /health HTTP/9.9\r\nHost: stoker\r\n\r\n",
        b"GET /health\r\nHost: stoker\r\n\r\n",
        b"GET /he alth HTTP/1.1\r\nHost: stoker\r\n\r\n",
        b"GET /he\x00alth HTTP/1.1\r\nHost: stoker\r\n\r\n",
        b"G@T /health HTTP/1.1\r\nHost: stoker\r\n\r\n",
        b"GET health HTTP/1.1\r\nHost: stoker\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(256)),
        b"\xff" * 1000,
    ],
    ids=[
        "no_host", "unknown_version", "http_0_9", "space_in_path", "nul_in_path", "method",
        "relative_path", "http_2", "tls", "noise",
    ],
)  # fmt: skip
def test_bytes_without_a_request_are_refused(target: Target, data: bytes) -> None:
    assert_refused(target, data, 400, 501, 505)


@pytest.mark.parametrize(
    "data",
    [
        b"GET /" + b"x" * MAX_HEAD + b" HTTP/1.1\r\nHost: stoker\r\n\r\n",
        b"GET /" + b"x" * 8 * MAX_HEAD,
        HEALTH_HEAD + b"X-Long: " + b"x" * MAX_HEAD + b"\r\n\r\n",
        HEALTH_HEAD + b"x" * 8 * MAX_HEAD,
        HEALTH_HEAD + b"".join(b"X-%d: y\r\n" % number for number in range(8000)) + b"\r\n",
        HEALTH_HEAD + b"a:\r\n" * MAX_HEAD + b"\r\n",
    ],
    ids=["target", "endless_target", "field", "endless_name", "fields", "empty_fields"],
)
def test_a_head_over_its_limit_is_refused(target: Target, data: bytes) -> None:
    assert_refused(target, data, 431, 414)


def test_a_large_head_within_the_limit_is_answered(target: Target) -> None:
    fields = b"".join(b"X-%d: y\r\n" % number for number in range(90))
    assert target.exchange(HEALTH_HEAD + fields + b"\r\n").status == 200
    assert target.exchange(HEALTH_HEAD + b"X-Long: " + b"x" * 60_000 + b"\r\n\r\n").status == 200


def damaged(data: bytes, chance: random.Random) -> bytes:
    """The data with a few bytes changed, removed, repeated or added."""
    result = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(result))
        kind = chance.randrange(4)
        if kind == 0:
            result[at] = chance.randrange(256)
        elif kind == 1:
            del result[at : at + chance.randint(1, 8)]
        elif kind == 2:
            result[at:at] = result[at : at + chance.randint(1, 20)]
        else:
            result[at:at] = chance.choice([b"\r\n", b"\n", b"\x00", b" ", b":", b"\r", b"0\r\n\r\n"])
    return bytes(result)


def test_random_damage_gets_a_refusal_or_an_ordinary_answer(target: Target, attackers: Crowd) -> None:
    chance = random.Random(20)
    chunks = generation(target, b"Transfer-Encoding: chunked") + chunked(BODY[:9], BODY[9:])
    known = generation(target, b"Content-Length: %d" % len(BODY)) + BODY
    attackers.join(400, lambda _: Behaviour(damaged(chance.choice([known, chunks]), chance)))
    attackers.run(5, until=lambda: all(client.received or client.ended_at for client in attackers.clients))
    for client in attackers.clients:
        with contextlib.suppress(Incomplete):
            answer, _ = parse(bytes(client.received), closed=True)
            assert answer.status < 500 or answer.status in (501, 505), (client.behaviour.opening, answer)
    assert target.exchange(request("GET", "/health")).status == 200
