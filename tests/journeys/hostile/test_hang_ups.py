"""Clients that leave: their slot is free within a second, whatever they were waiting for."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import pytest

from tests.journeys.hostile.conftest import Target
from tests.support.raw_http import RawClient
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.journey, pytest.mark.hostile]

FREE_S = 1.0
ENDLESS = "/stub tokens=1 first_token_s=600"


@pytest.mark.parametrize("leave", [RawClient.close, RawClient.reset], ids=["closed", "reset"])
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("next_requests", [0, 1, 1000], ids=["alone", "with_next", "with_many_next"])
def test_a_client_that_leaves_while_its_stream_is_quiet_frees_the_slot(
    target: Target, leave: Callable[[RawClient], None], stream: bool, next_requests: int
) -> None:
    client = target.client()
    client.send(target.post({"model": "wide", "input": ENDLESS, "stream": stream}))
    wait_until(lambda: target.slots_taken("wide") == 1, 5)
    # requests that wait behind the stream do not hide the end of the connection
    client.send(target.get("/v1/models") * next_requests)
    leave(client)
    wait_until(lambda: target.slots_taken("wide") == 0, FREE_S)


def test_a_client_that_leaves_while_it_waits_in_the_queue_leaves_the_queue(target: Target) -> None:
    with target.client() as holder, target.client() as waiting:
        holder.send(target.post({"model": "narrow", "input": ENDLESS, "stream": True}))
        wait_until(lambda: target.slots_taken("narrow") == 1, 5)
        waiting.send(target.post({"model": "narrow", "input": ENDLESS}))
        wait_until(lambda: target.platform.model("narrow")["queue_depth"] == 1, 5)
        waiting.close()
        wait_until(lambda: target.platform.model("narrow")["queue_depth"] == 0, FREE_S)
    wait_until(lambda: target.slots_taken("narrow") == 0, FREE_S)


def test_clients_that_leave_around_their_admission_leave_no_job_behind(target: Target) -> None:
    """Some leave before their request is parsed, some between its admission and its first event."""
    chance = random.Random(3)
    bodies = [{"model": "wide", "input": ENDLESS, "stream": number % 2 == 0} for number in range(200)]
    for body in bodies:
        client = target.client()
        client.send(target.post(body))
        time.sleep(chance.choice([0, 0, 0.001, 0.002, 0.004, 0.008]))
        chance.choice([RawClient.close, RawClient.reset])(client)
    wait_until(lambda: target.slots_taken("wide") == 0, FREE_S)
    assert target.platform.model("wide")["queue_depth"] == 0


def test_a_client_that_leaves_a_background_stream_ends_nothing(target: Target) -> None:
    body = {"model": "quick", "input": "/stub tokens=4 tokens_per_s=10", "stream": True, "background": True}
    with target.client() as client:
        client.send(target.post(body))
        id = client.read_until(b"tok0").partition(b'"id":"')[2].partition(b'"')[0].decode()
    assert id
    target.platform.wait_for(
        lambda: target.platform.call("GET", f"/v1/responses/{id}")[1]["status"] == "completed", 5, "end"
    )
