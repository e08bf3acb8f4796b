"""The worker takes claims, also after Redis was away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import redis

from config.settings import Settings
from scheduler.job import Claim
from tests.conftest import ValkeyServer
from tests.support.waiting import wait_until
from workers.claim_intake import ClaimIntake
from workers.io_loop import IoLoop

KEY = "claims:1"


def on_server(settings: Settings, server: ValkeyServer) -> Settings:
    return replace(settings, redis=replace(settings.redis, url=server.url))


def claim_message(id: str) -> bytes:
    return f"{id} 17 alpha#1.0 0 1\n{{}}".encode()


def test_claims_are_taken_in_their_order_and_many_at_once(
    settings: Settings, client: redis.Redis, io: IoLoop
) -> None:
    batches: list[list[Claim]] = []
    key = f"{settings.redis.prefix}:{KEY}"
    client.rpush(key, *[claim_message(f"r{number}") for number in range(10)])
    io.spawn(ClaimIntake(settings, key, lambda claims: batches.append(list(claims)), lambda: None).run())
    wait_until(lambda: batches)
    wait_until(lambda: sum(map(len, batches)) == 10)
    assert [claim.id for batch in batches for claim in batch] == [f"r{number}" for number in range(10)]
    assert [len(batch) for batch in batches] == [8, 2]
    client.rpush(key, claim_message("later"))
    wait_until(lambda: len(batches) == 3)


def test_claims_are_taken_again_after_redis_was_away_and_lost_ones_are_asked_for(
    settings: Settings, own_server: ValkeyServer, io: IoLoop
) -> None:
    calls: list[str] = []
    intake = ClaimIntake(
        on_server(settings, own_server),
        KEY,
        lambda claims: calls.extend(claim.id for claim in claims),
        lambda: calls.append("recover"),
    )
    io.spawn(intake.run())
    client = redis.Redis(port=own_server.port)
    client.rpush(KEY, claim_message("before"))
    wait_until(lambda: calls == ["before"])
    own_server.kill()
    own_server.start()
    client.rpush(KEY, claim_message("after"))
    wait_until(lambda: "after" in calls)
    assert set(calls[1 : calls.index("after")]) == {"recover"}  # with the first attempt, before any claim


def test_claims_are_taken_again_after_an_unexpected_error_and_those_of_the_reply_are_asked_for(
    settings: Settings, client: redis.Redis, io: IoLoop
) -> None:
    taken: list[str] = []
    recovered: list[bool] = []

    def begin(claims: Sequence[Claim]) -> None:
        if any(claim.id == "bad" for claim in claims):
            raise ValueError("unexpected")
        taken.extend(claim.id for claim in claims)

    key = f"{settings.redis.prefix}:{KEY}"
    client.rpush(key, b"no claim")
    io.spawn(ClaimIntake(settings, key, begin, lambda: recovered.append(True)).run())
    wait_until(lambda: recovered == [True])
    client.rpush(key, claim_message("bad"))
    wait_until(lambda: recovered == [True, True])
    client.rpush(key, claim_message("good"))
    wait_until(lambda: taken == ["good"])
