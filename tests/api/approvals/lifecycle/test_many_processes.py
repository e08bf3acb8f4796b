"""Many processes with one opToken, or two: each is accepted exactly once, and one begins the operation.

`make test-limits` runs 1,000 rounds (STOKER_ROUNDS); `make test` few.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from multiprocessing.synchronize import Barrier
from typing import Any

import pytest
import redis

import tasks.definitions
from api.access.caller import Caller
from api.approvals.lifecycle.governed import by_token
from api.approvals.lifecycle.requests import parse
from api.wiring import make_services
from config.api_keys import ApiKey
from config.settings import RedisSettings, Settings, Tenant
from fleet.errors import NotAuthorized
from tests.conftest import ValkeyServer
from tests.support.gateway import Gateway
from tests.support.simulated_platform import SimulatedPlatform

ROUNDS = int(os.environ.get("STOKER_ROUNDS", "6"))
PROCESSES = 64
WAIT_S = 120
OPERATIONS = ("model-load", "model-unload")
CALLER = Caller(Tenant("acme"), "normal", ApiKey("", "", "acme"))

ACCEPTED, REFUSED = 1, 2


@dataclass(frozen=True)
class Shared:
    """What all processes share: how many tokens a round has, its start, their date, and the answers."""

    tokens: int
    start: Barrier
    date: Any
    answers: Any


def send(number: int, settings: Settings, gateway: Gateway, shared: Shared) -> None:
    """Send the token of each round at the same time as all other processes, and note the answer."""
    tasks.definitions.notify_workers = lambda _: None
    services = make_services(settings)
    for at in range(ROUNDS):
        operation = OPERATIONS[at % 2]
        if number == 0:
            shared.date.value = int(time.time())
        shared.start.wait(WAIT_S)
        # all processes make the same tokens, of the round's nonces and date
        nonce = f"{at:030x}{number % shared.tokens:02x}"
        token = gateway.token(operation, modelId="alpha", nonce=nonce, issuedAt=shared.date.value)
        body = {"modelId": "alpha", "verifiedOpToken": token}
        shared.start.wait(WAIT_S)
        try:
            by_token(services, CALLER, parse(operation, body), body)
            shared.answers[at * PROCESSES + number] = ACCEPTED
        except NotAuthorized:
            shared.answers[at * PROCESSES + number] = REFUSED


@pytest.mark.rule("runner/op-token-once")
@pytest.mark.hostile
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("tokens", [1, 2])
def test_each_token_in_many_processes_is_accepted_once_in_each_round(
    own_server: ValkeyServer, settings: Settings, gateway: Gateway, tokens: int
) -> None:
    """Of two tokens for one model both are accepted, and one of them begins the operation."""
    settings = replace(
        settings, redis=RedisSettings(own_server.url), lease=replace(settings.lease, lease_ms=3_600_000)
    )
    client = redis.Redis.from_url(own_server.url)
    platform = SimulatedPlatform(client, settings)
    platform.register()
    context = multiprocessing.get_context("fork")
    shared = Shared(
        tokens, context.Barrier(PROCESSES), context.Value("q"), context.Array("b", ROUNDS * PROCESSES)
    )
    processes = [
        context.Process(target=send, args=(number, settings, gateway, shared)) for number in range(PROCESSES)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(WAIT_S + ROUNDS * 5)
        assert process.exitcode == 0
    for at in range(ROUNDS):
        answers = Counter(shared.answers[at * PROCESSES : (at + 1) * PROCESSES])
        assert answers == {ACCEPTED: tokens, REFUSED: PROCESSES - tokens}, f"round {at}"
    assert begun(client, platform.prefix) == [ROUNDS - ROUNDS // 2, ROUNDS // 2]
    client.close()


def begun(client: redis.Redis, prefix: str) -> Sequence[int]:
    """How many loads and unloads there were."""
    kinds = [client.hget(key, "kind") for key in client.scan_iter(f"{prefix}operation:*", count=1000)]
    return [kinds.count(b"load"), kinds.count(b"unload")]
