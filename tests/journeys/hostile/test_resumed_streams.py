"""Streams of all APIs are cut at any byte and read on at another process, while processes and Redis end."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPException, HTTPResponse

import pytest

from tests.journeys.hostile.conftest import Target
from tests.support.other_api import other_api
from tests.support.resumed_streams import answering, requests, stream_path, without_keep_alives
from tests.support.waiting import scaled

pytestmark = [pytest.mark.journey, pytest.mark.hostile]

COUNT = 200
TOKENS = 40
APIS = list(requests("", ""))
ENDS = (b"data: [DONE]", b"message_stop", b'"done":true', b'"stop":true')
"""What the last frame of a stream has, in one of the APIs."""


class ResumedStream:
    """A client that loses its connection again and again, and reads on from where it was."""

    def __init__(self, target: Target, addresses: list[str], number: int) -> None:
        self.api = APIS[number % len(APIS)]
        self.conversation = f"torture/{number}::wide"
        self.data = b""
        self._path, self._body = requests(f"/stub tokens={TOKENS} tokens_per_s=5", "wide")[self.api]
        self._addresses = addresses
        self._headers = {"Authorization": f"Bearer {target.platform.keys['api_key']}"}
        self._random = random.Random(number)

    def run(self) -> bytes:
        """Read the stream to its end, in pieces."""
        deadline = time.monotonic() + scaled(60)
        is_posted = False
        while time.monotonic() < deadline:
            try:
                with self._request(is_posted) as answer:
                    assert answer.status in {200, 503}, answer.read()
                    is_posted = is_posted or answer.status == 200
                    if answer.status == 200 and self._read(answer):
                        return self.data
            except (OSError, HTTPException):
                pass
            time.sleep(0.05)
        raise TimeoutError(self.conversation)

    @contextmanager
    def _request(self, is_posted: bool) -> Iterator[HTTPResponse]:
        host = self._random.choice(self._addresses)
        if is_posted:
            path = stream_path(self.conversation, len(self.data))
            with answering(host, "GET", path, headers=self._headers) as answer:
                yield answer
        else:
            headers = {**self._headers, "X-Conversation-Id": self.conversation}
            with answering(host, "POST", self._path, self._body, headers) as answer:
                yield answer

    def _read(self, answer: HTTPResponse) -> bool:
        """Read until the end, or until this connection is given up; whether it was the end."""
        raw, most = b"", self._random.randrange(1, 20_000)
        is_whole = False
        try:
            while len(raw) < most:
                piece = answer.read1(self._random.randrange(1, 4096))
                raw += piece
                if not piece:
                    is_whole = answer.isclosed()
                    break
        except (OSError, HTTPException):
            pass
        lines = self.api.startswith("ollama")
        if is_whole and self._ends(raw):
            self.data += without_keep_alives(raw, lines=lines, continues=self.data)
            return True
        # a keep-alive that was cut looks like data: nothing behind the last whole frame is counted
        whole = raw[: raw.rfind(b"\n" if lines else b"\n\n") + (1 if lines else 2)] if b"\n" in raw else b""
        clean = without_keep_alives(whole, lines=lines, continues=self.data)
        self.data += clean[: self._random.randrange(len(clean) + 1)]
        return False

    def _ends(self, raw: bytes) -> bool:
        data = self.data + raw
        return any(end in data for end in ENDS)


@pytest.mark.rule("llama-server/stream-torture")
def test_streams_that_are_cut_anywhere_are_put_together_byte_for_byte(target: Target) -> None:
    addresses = ["{}:{}".format(*target.address)]
    clients = [ResumedStream(target, addresses, number) for number in range(COUNT)]
    with ThreadPoolExecutor(COUNT) as threads:
        runs = []
        for victim in range(3):
            with other_api(target.platform) as (address, kill):
                other = "{}:{}".format(*address)
                addresses.append(other)
                if not runs:
                    runs = [threads.submit(client.run) for client in clients]
                threading.Event().wait(1.5)
                if victim == 1:
                    os.kill(target.platform.redis_pid, signal.SIGTERM)
                    threading.Event().wait(1.0)
                addresses.remove(other)
                kill()
        answers = [run.result() for run in runs]
    for client, answer in zip(clients, answers, strict=True):
        path = stream_path(client.conversation)
        headers = {"Authorization": f"Bearer {target.platform.keys['api_key']}"}
        with answering(addresses[0], "GET", path, headers=headers) as again:
            lines = client.api.startswith("ollama")
            assert without_keep_alives(again.read(), lines=lines) == answer, client.conversation
        assert answer.count(b"tok") >= TOKENS
    target.platform.wait_for(lambda: target.slots_taken("wide") == 0, 2, "free slots")
