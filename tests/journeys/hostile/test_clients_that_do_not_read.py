"""Clients that read nothing: the API buffers little for each, and closes them when they make no progress."""

from __future__ import annotations

import json
import time

import pytest

from tests.journeys.hostile.conftest import SPARE, WRITE_S, Target
from tests.support.hostile_clients import Behaviour, Crowd

pytestmark = [pytest.mark.journey, pytest.mark.hostile]

COUNT = 500
GROWTH_MIB = 450
"""The most memory that the clients may take together: less than a MiB for each."""


def stored_answer(target: Target, words: int, word_bytes: int) -> str:
    """The id of a stored response with that many words."""
    text = " ".join(str(number).rjust(word_bytes, "x") for number in range(words))
    status, answer = target.platform.respond("wide", f"/stub echo {text}")
    assert (status, answer["status"]) == (200, "completed")
    return str(answer["id"])


def test_unread_replayed_streams_take_little_memory_and_are_closed(target: Target, attackers: Crowd) -> None:
    id = stored_answer(target, words=800, word_bytes=1000)
    before_mib, before = target.memory_mib(), target.files()
    peak_mib = 0.0
    with target.bystanders.undisturbed() as measurement:
        attackers.join(COUNT, Behaviour(target.get(f"/v1/responses/{id}?stream=true"), reads=False))
        assert attackers.run(20, until=lambda: attackers.answered == COUNT)
        measurement.opened()
        for _ in range(10):
            attackers.run(0.1)
            peak_mib = max(peak_mib, target.memory_mib())
    attackers.run(6, until=lambda: target.files() <= before + SPARE)
    assert target.files() <= before + SPARE, "connections without progress are open"
    assert peak_mib - before_mib < GROWTH_MIB


def test_unread_live_streams_take_little_memory_and_free_their_slots(
    target: Target, attackers: Crowd
) -> None:
    words = " ".join("y" * 5000 for _ in range(60))

    def behaviour(number: int) -> Behaviour:
        # different speeds, so that their tokens do not come in the same steps
        text = f"/stub echo tokens_per_s={10 + number / 1000} {words}"
        return Behaviour(target.post({"model": "wide", "input": text, "stream": True}), reads=False)

    before_mib, before = target.memory_mib(), target.files()
    attackers.join(100, behaviour)
    # not all of them at once: the API closes the first ones, perhaps before it has accepted the last ones
    assert attackers.run(20, until=lambda: attackers.answered == 100)
    peak_mib = 0.0
    with target.bystanders.undisturbed():
        began = time.monotonic()
        while time.monotonic() < began + WRITE_S:
            attackers.run(0.2)
            peak_mib = max(peak_mib, target.memory_mib())
    assert attackers.run(20, until=lambda: target.files() <= before + SPARE), "connections are open"
    assert peak_mib - before_mib < GROWTH_MIB
    # a client that is closed ends its generation, as one that hangs up
    target.platform.wait_for(lambda: target.slots_taken("wide") == 0, 2, "free slots")


def test_a_client_that_pauses_gets_every_event_of_a_replay(target: Target) -> None:
    id = stored_answer(target, words=600, word_bytes=1000)
    with target.client(receive_buffer=4096) as client:
        client.send(target.get(f"/v1/responses/{id}?stream=true"))
        time.sleep(WRITE_S / 2)
        answer = client.answer()
    events = [json.loads(line[6:]) for line in answer.body.split(b"\n") if line.startswith(b"data: {")]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    text = "".join(event["delta"] for event in events if event["type"] == "response.output_text.delta")
    assert text == events[-1]["response"]["output"][0]["content"][0]["text"]
    assert len(text) > 600_000


def test_an_unread_whole_answer_is_closed(target: Target, attackers: Crowd) -> None:
    id = stored_answer(target, words=800, word_bytes=1000)
    before_mib, before = target.memory_mib(), target.files()
    with target.bystanders.undisturbed() as measurement:
        attackers.join(100, Behaviour(target.get(f"/v1/responses/{id}"), reads=False))
        assert attackers.run(20, until=lambda: attackers.answered == 100)
        measurement.opened()
        attackers.run(WRITE_S / 2)
    assert attackers.run(WRITE_S + 4, until=lambda: target.files() <= before + SPARE), "connections are open"
    assert target.memory_mib() - before_mib < GROWTH_MIB
