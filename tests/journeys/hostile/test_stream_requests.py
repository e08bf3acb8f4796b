"""Requests to read streams again that shall cost much: offsets, ids, lookups, readers that read nothing."""

from __future__ import annotations

import json
import statistics
import time
from urllib.parse import quote

import pytest

from tests.journeys.hostile.conftest import SPARE, WRITE_S, Target
from tests.support.hostile_clients import Behaviour, Crowd

pytestmark = [pytest.mark.journey, pytest.mark.hostile]

LOOKUPS, AT_ONCE = 10_000, 100
READERS = 500
GROWTH_MIB = 450
"""The most memory that the readers may take together: less than a MiB for each."""


def finished_stream(target: Target, conversation: str, words: int = 5) -> None:
    """Let an answer of so many words, of 1,000 bytes each, end under this id."""
    text = " ".join(str(number).rjust(1000, "x") for number in range(words))
    body = {"model": "wide", "input": f"/stub echo {text}", "stream": True}
    answer = target.exchange(target.post(body, X_Conversation_Id=conversation))
    assert (answer.status, b"[DONE]" in answer.body[-50:] or b"completed" in answer.body) == (200, True)


@pytest.mark.rule("llama-server/stream-offset")
@pytest.mark.parametrize(
    "start",
    [
        *("-1", "+1", "1.5", "1e3", "0x10", "NaN", " 1", "%00", "1%0A", "%D9%A1"),
        *("9" * 16, "9" * 4000, "18446744073709551616"),
    ],
)
def test_an_offset_that_is_none_is_refused_at_once(target: Target, start: str) -> None:
    finished_stream(target, "offsets")
    answer = target.exchange(target.get(f"/v1/stream?conv_id=offsets&from={quote(start, safe='%')}"))
    assert (answer.status, json.loads(answer.body)["error"]["type"]) == (400, "invalid_request_error")


def test_an_id_of_a_mebibyte_is_refused_wherever_it_stands(target: Target) -> None:
    id = "x" * 2**20
    statuses = [
        target.exchange(target.post({"model": "quick", "input": "x"}, X_Conversation_Id=id)).status,
        target.exchange(target.get(f"/v1/stream/{id}")).status,
        target.exchange(target.get(f"/v1/stream?conv_id={id}")).status,
        target.exchange(target.post({"conversation_ids": [id[: 2**19]]}, "/v1/streams/lookup")).status,
    ]
    assert statuses == [431, 414, 414, 400]


def test_many_lookups_leave_others_undisturbed(target: Target, attackers: Crowd) -> None:
    finished_stream(target, "looked-up")
    ids = ["looked-up", *(f"unknown {number}" for number in range(63))]
    lookup = target.post({"conversation_ids": ids}, "/v1/streams/lookup", Connection="close")
    times = []
    for _ in range(9):
        began = time.monotonic()
        assert target.exchange(lookup).status == 200
        times.append(time.monotonic() - began)
    with target.bystanders.undisturbed(len(attackers.hosts) * statistics.median(times)):
        for _ in range(LOOKUPS // AT_ONCE):
            attackers.join(AT_ONCE, Behaviour(lookup))
            attackers.run(0.05)
        assert attackers.run(20, until=lambda: attackers.ended == LOOKUPS)
    answers = {bytes(client.received) for client in attackers.clients}
    statuses = {answer[:12] for answer in answers}
    # an address that has all its connections open is refused without an answer
    assert statuses <= {b"HTTP/1.1 200", b"HTTP/1.1 429", b"HTTP/1.1 503", b""}
    assert b"HTTP/1.1 200" in statuses


def test_readers_that_read_nothing_take_little_memory_and_are_closed(
    target: Target, attackers: Crowd
) -> None:
    finished_stream(target, "unread", words=800)
    before_mib, before = target.memory_mib(), target.files()
    peak_mib = 0.0
    with target.bystanders.undisturbed() as measurement:
        attackers.join(READERS, Behaviour(target.get("/v1/stream/unread"), reads=False))
        assert attackers.run(20, until=lambda: attackers.answered == READERS)
        measurement.opened()
        began = time.monotonic()
        while time.monotonic() < began + WRITE_S / 2:
            attackers.run(0.1)
            peak_mib = max(peak_mib, target.memory_mib())
    attackers.run(6, until=lambda: target.files() <= before + SPARE)
    assert target.files() <= before + SPARE, "connections without progress are open"
    assert peak_mib - before_mib < GROWTH_MIB
