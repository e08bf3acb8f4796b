"""The API as a process of its own, over a real ledger, with a scripted worker."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator

import openai
import pytest

from scheduler.job import Claim
from tests.conftest import ValkeyServer
from tests.support.batch_lines import chat_line, jsonl
from tests.support.served_api import Served, serving
from tests.support.waiting import scaled, wait_until

KEY = "sk-served"


@pytest.fixture(scope="module")
def served(shared_server: ValkeyServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(shared_server, tmp_path_factory.mktemp("api"), {"STOKER_API_KEY": KEY}) as served:
        yield served


@pytest.fixture
def sdk(served: Served) -> Iterator[openai.OpenAI]:
    served.handle = served.answer_hello
    with openai.OpenAI(
        api_key=KEY, base_url=f"{served.url}/v1", max_retries=0, _strict_response_validation=True
    ) as client:
        yield client


def test_a_response_comes_through_the_ledger(sdk: openai.OpenAI) -> None:
    assert sdk.responses.create(model="alpha", input="Hi").output_text == "Hello."
    chat = sdk.chat.completions.create(model="alpha", messages=[{"role": "user", "content": "Hi"}])
    assert chat.choices[0].message.content == "Hello."


def test_a_stream_is_fetched_replayed_and_resumed_at_once(sdk: openai.OpenAI) -> None:
    events = list(sdk.responses.create(model="alpha", input="Hi", stream=True))
    id = events[0].response.id  # type: ignore[union-attr]
    began = time.monotonic()
    assert sdk.responses.retrieve(id).output_text == "Hello."
    assert list(sdk.responses.retrieve(id, stream=True)) == events
    assert list(sdk.responses.retrieve(id, stream=True, starting_after=3)) == events[4:]
    assert time.monotonic() - began < scaled(1)
    sdk.responses.delete(id)
    with pytest.raises(openai.NotFoundError):
        sdk.responses.retrieve(id)


def test_a_request_starts_before_all_lines_of_a_batch_that_wait(served: Served, sdk: openai.OpenAI) -> None:
    """What it waits for is the end of a line that runs: at most one time of service."""
    requests: list[str] = []
    times: dict[str, tuple[int, int]] = {}

    def handle(claim: Claim) -> None:
        is_line = claim.id not in requests
        times[claim.id] = tuple(
            int(served.platform.field(claim.id, at)) for at in ("admitted_us", "claimed_us")
        )  # type: ignore[assignment]
        if is_line and len(requests) < 5:
            requests.append(sdk.responses.create(model="alpha", input="Hi", background=True).id)
        served.answer_hello(claim)

    served.handle = handle
    batch_lines = [chat_line(f"c{number}", "Hi", "alpha") for number in range(30)]
    file = sdk.files.create(file=("input.jsonl", jsonl(*batch_lines)), purpose="batch")
    batch = sdk.batches.create(
        input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h"
    )
    wait_until(lambda: sdk.batches.retrieve(batch.id).status == "completed", 20)
    assert len(times) == 30 + 5
    lines = [claimed for id, (_, claimed) in times.items() if id not in requests]
    for admitted, claimed in (times[id] for id in requests):
        assert sum(claimed > admitted for claimed in lines) > 10, "lines were waiting"
        assert [line for line in lines if admitted < line < claimed] == []


@pytest.mark.parametrize("stream", [False, True])
def test_a_disconnect_cancels_the_job_within_a_second(served: Served, stream: bool) -> None:
    claimed = threading.Event()
    served.handle = lambda _: claimed.set()
    client = ask(served, stream=stream)
    assert claimed.wait(scaled(5))
    client.close()
    assert_cancelled_within_a_second(served)


def test_a_disconnect_amid_many_events_cancels_the_job(served: Served) -> None:
    running = threading.Event()

    def generate_much(claim: Claim) -> None:
        number = 1
        while served.platform.field(claim.id, "cancel") != "1" and number < 10_000:
            served.platform.append_text(claim, number, "word ")
            number += 1
            running.set()

    served.handle = generate_much
    client = ask(served, stream=True)
    assert running.wait(scaled(5))
    assert b"word " in read_until(client, b"word ")
    client.close()
    assert_cancelled_within_a_second(served)


def test_a_slow_client_gets_all_events_in_order(served: Served, sdk: openai.OpenAI) -> None:
    words = [f"{number}:{'x' * 500} " for number in range(6000)]
    finished = threading.Event()

    def generate_all(claim: Claim) -> None:
        for first in range(0, len(words), 40):
            served.platform.append_text(claim, first + 1, *words[first : first + 40])
        served.platform.release(claim, finish_reason="stop")
        finished.set()

    served.handle = generate_all
    client = ask(served, stream=True, receive_buffer=4096)
    assert finished.wait(scaled(30))  # no byte was read yet: a slow client does not delay the worker
    with http.client.HTTPResponse(client) as response:
        response.begin()
        assert response.chunked
        events = [
            json.loads(line[6:]) for line in response.read().split(b"\n") if line.startswith(b"data: {")
        ]
    deltas = [event["delta"] for event in events if event["type"] == "response.output_text.delta"]
    assert "".join(deltas) == "".join(words)
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert sdk.responses.retrieve(events[0]["response"]["id"]).output_text == "".join(words)


def test_a_client_of_http_1_0_gets_a_stream_without_chunks(served: Served) -> None:
    served.handle = served.answer_hello
    received = read_until(ask(served, stream=True, protocol="1.0"))
    head, _, body = received.partition(b"\r\n\r\n")
    assert b"chunked" not in head
    lines = body.splitlines()
    assert {line.split(b":")[0] for line in lines if line} == {b"event", b"data"}
    events = [json.loads(line[6:]) for line in lines if line.startswith(b"data: {")]
    assert "".join(event.get("delta", "") for event in events) == "Hello."
    assert events[-1]["type"] == "response.completed"


def ask(
    served: Served, *, stream: bool, protocol: str = "1.1", receive_buffer: int | None = None
) -> socket.socket:
    """Send a request and return the connection to read the response from."""
    body = json.dumps({"model": "alpha", "input": "Hi", "stream": stream}).encode()
    client = socket.socket()
    if receive_buffer is not None:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    client.settimeout(scaled(30))
    client.connect(("127.0.0.1", int(served.url.rsplit(":", 1)[1])))
    client.sendall(
        b"POST /v1/responses HTTP/%b\r\nHost: x\r\nContent-Type: application/json\r\n"
        b"x-api-key: %b\r\nContent-Length: %d\r\n\r\n%b" % (protocol.encode(), KEY.encode(), len(body), body)
    )
    return client


def read_until(client: socket.socket, text: bytes | None = None) -> bytes:
    """The bytes received up to `text`, or to the end."""
    received = b""
    while text is None or text not in received:
        more = client.recv(65536)
        if not more:
            break
        received += more
    return received


def assert_cancelled_within_a_second(served: Served) -> None:
    claim = served.claims[-1]
    wait_until(lambda: served.platform.field(claim.id, "cancel") == "1", 1)
    served.platform.release(claim)


def test_many_concurrent_clients_are_all_answered(sdk: openai.OpenAI) -> None:
    answers: list[str] = []

    def one() -> None:
        answers.append(sdk.responses.create(model="alpha", input="Hi").output_text)

    threads = [threading.Thread(target=one) for _ in range(28)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == ["Hello."] * 28


def test_an_idempotent_repeat_of_an_unstored_response_is_equal(sdk: openai.OpenAI, served: Served) -> None:
    def repeat() -> object:
        return sdk.chat.completions.create(
            model="alpha",
            messages=[{"role": "user", "content": "Hi"}],
            extra_headers={"Idempotency-Key": "served"},
        )

    before = len(served.claims)
    first = repeat()
    assert repeat() == first
    assert len(served.claims) == before + 1
