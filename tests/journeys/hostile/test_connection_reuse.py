"""Several requests on one connection, older clients, and connections that stay open."""

from __future__ import annotations

import contextlib
import json

import pytest

from tests.journeys.hostile.conftest import Target
from tests.support.raw_http import request

pytestmark = [pytest.mark.journey, pytest.mark.hostile]


def test_a_thousand_pipelined_requests_are_answered_in_order(target: Target) -> None:
    pipelined = [
        target.get("/v1/models" if number % 10 else f"/v1/responses/resp_{number}") for number in range(1000)
    ]
    with target.bystanders.undisturbed(), target.client(timeout_s=30) as client:
        client.send(b"".join(pipelined))
        for number in range(1000):
            answer = client.answer()
            if number % 10:
                assert answer.status == 200
            else:
                assert f"resp_{number}" in answer.error()["message"].split()
    assert client.unread == b""


def test_requests_sent_byte_by_byte_and_split_anywhere_are_answered(target: Target) -> None:
    data = target.post({"model": "quick", "input": "/stub tokens=1"}) + target.get("/v1/models")
    with target.client() as client:
        for at in range(len(data)):
            client.send(data[at : at + 1])
        assert client.answer().json()["status"] == "completed"
        assert client.answer().status == 200


def test_the_next_request_after_a_stream_is_answered_when_the_stream_has_ended(target: Target) -> None:
    stream = target.post(
        {"model": "quick", "input": "/stub tokens=5 tokens_per_s=50 first_token_s=0.3", "stream": True}
    )
    with target.client() as client:
        client.send(stream + target.get("/v1/models") + stream + request("GET", "/health"))
        for is_stream in (True, False, True, False):
            answer = client.answer()
            assert answer.status == 200
            if is_stream:
                assert answer.body.rstrip().endswith(b"data: [DONE]") or b"response.completed" in answer.body
                assert answer.body.count(b"response.output_text.delta") >= 5
            else:
                json.loads(answer.body)


def test_a_client_cannot_send_without_end_while_its_stream_runs(target: Target) -> None:
    stream = target.post(
        {"model": "quick", "input": "/stub tokens=2 tokens_per_s=1 first_token_s=1", "stream": True}
    )
    before_mib = target.memory_mib()
    with target.client(timeout_s=1) as client:
        client.send(stream)
        client.read_until(b"response.created")
        with contextlib.suppress(TimeoutError):  # the API does not read on
            client.send(target.get("/v1/models") * 200_000)
        assert target.memory_mib() - before_mib < 30


def test_a_client_of_http_1_0_gets_a_stream_without_chunks_and_its_end(target: Target) -> None:
    body = json.dumps({"model": "quick", "input": "/stub tokens=4", "stream": True}).encode()
    data = request(
        "POST",
        "/v1/responses",
        body,
        version="1.0",
        Authorization=f"Bearer {target.key}",
        Content_Type="application/json",
    )
    with target.client() as client:
        client.send(data)
        client.wait_for_end(5)
        answer = client.answer()
    assert "transfer-encoding" not in answer.headers
    events = [json.loads(line[6:]) for line in answer.body.split(b"\n") if line.startswith(b"data: {")]
    assert events[-1]["type"] == "response.completed"


def test_a_client_of_http_1_0_gets_the_end_of_the_connection_after_its_answer(target: Target) -> None:
    with target.client() as client:
        client.send(request("GET", "/health", version="1.0", Host=None))
        assert client.answer().status == 200
        client.wait_for_end(3)


def test_an_answer_to_head_has_no_body(target: Target) -> None:
    with target.client() as client:
        client.send(target.get("/docs").replace(b"GET", b"HEAD", 1))
        head = client.read_until(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200")
        client.unread = b""
        client.send(target.get("/v1/models"))
        assert client.answer().status == 200


def test_a_refused_request_leaves_the_connection_usable_or_ended(target: Target) -> None:
    """An error of the API itself: the body was read, so that the next request is found."""
    with target.client() as client:
        for _ in range(3):
            client.send(target.post({"model": "none", "input": "x"}))
            assert client.answer().error()["code"] == "unknown_model"
        client.send(target.post({"model": "quick", "input": "/stub tokens=1"}))
        assert client.answer().status == 200
