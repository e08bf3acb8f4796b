"""A thousand open streams: idle ones that then get a token, and those of a killed API process."""

from __future__ import annotations

import pytest

from tests.journeys.hostile.conftest import Target
from tests.support.hostile_clients import Behaviour, Crowd, crowd
from tests.support.other_api import other_api
from tests.support.received_events import events_in, text_in

pytestmark = [pytest.mark.journey, pytest.mark.hostile]

COUNT = 1000
TOKENS = 24
"""At two a second: the first stream is not over when the last one has begun."""


def test_a_thousand_idle_streams_take_little_and_get_their_token(target: Target, attackers: Crowd) -> None:
    before_mib = target.memory_mib()
    text = "/stub tokens=1 first_token_s=15"  # all of them have begun before the first one gets its token
    body = {"model": "wide", "input": text, "stream": True, "store": False}
    attackers.join(COUNT, Behaviour(target.post(body)))
    assert attackers.run(10, until=lambda: target.slots_taken("wide") == COUNT)
    assert target.memory_mib() - before_mib < 64
    with target.bystanders.undisturbed():
        attackers.run(0.5)
    assert attackers.run(
        30, until=lambda: all(b"response.completed" in client.received for client in attackers.clients)
    )
    for client in attackers.clients:
        events = events_in(bytes(client.received))
        assert (text_in(events), events[-1]["type"]) == ("tok0", "response.completed")


def test_a_thousand_streams_of_a_killed_api_process_are_resumed_at_another(target: Target) -> None:
    text = f"/stub tokens={TOKENS} tokens_per_s=2"
    body = {"model": "wide", "input": text, "stream": True, "background": True}
    with other_api(target.platform) as (address, kill), crowd(address) as clients:
        clients.join(COUNT, Behaviour(target.post(body)))
        assert clients.run(
            10, until=lambda: all(client.received.count(b"text.delta") > 2 for client in clients.clients)
        )
        kill()
        assert clients.run(5, until=lambda: clients.ended == COUNT)
        before = [events_in(bytes(client.received)) for client in clients.clients]
    with crowd(target.address) as clients:

        def resumption(number: int) -> Behaviour:
            first, last = before[number][0], before[number][-1]
            query = f"stream=true&starting_after={last['sequence_number']}"
            return Behaviour(target.get(f"/v1/responses/{first['response']['id']}?{query}"))

        clients.join(COUNT, resumption)
        assert clients.run(
            30, until=lambda: all(b"response.completed" in client.received for client in clients.clients)
        )
        after = [events_in(bytes(client.received)) for client in clients.clients]
    for one, other in zip(before, after, strict=True):
        events = one + other
        assert [event["sequence_number"] for event in events] == list(range(len(events)))
        assert text_in(events).split() == [f"tok{number}" for number in range(TOKENS)]
        assert text_in(one).count("tok") < TOKENS, "the stream had ended before the process was killed"
        assert events[-1]["type"] == "response.completed"
    target.platform.wait_for(lambda: target.slots_taken("wide") == 0, 2, "free slots")
