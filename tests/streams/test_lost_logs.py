"""A reader whose log is gone, shorter than what it has read, or cannot be read for a while."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import redis

from streams.log import Command, StreamLost
from tests.streams.conftest import ApiProcess
from tests.streams.test_subscriber import begin, texts
from tests.support.simulated_platform import SimulatedPlatform
from tests.support.waiting import wait_until


def test_a_response_whose_log_is_gone_is_lost(platform: SimulatedPlatform, process: ApiProcess) -> None:
    reader, claim = begin(platform, process, "r1")
    platform.append_text(claim, 1, "a")
    reader.wait_for(1)
    platform.client.delete(f"{platform.prefix}job:r1", f"{platform.prefix}log:r1")
    process.call(reader.cursor.catch_up)
    wait_until(lambda: reader.failures)
    assert [type(error) for error in reader.failures] == [StreamLost]
    assert process.subscriber.open_responses() == 0


def test_a_response_of_which_redis_has_lost_events_that_were_delivered_is_lost(
    platform: SimulatedPlatform, process: ApiProcess
) -> None:
    reader, claim = begin(platform, process, "r1")
    platform.append_text(claim, 1, "a", "b", "c")
    reader.wait_for(3)
    lose_events(platform, "r1", 2)
    process.call(process.subscriber.catch_up_all)
    wait_until(lambda: reader.failures)
    assert [type(error) for error in reader.failures] == [StreamLost]


def lose_events(platform: SimulatedPlatform, id: str, last: int) -> None:
    """Set the response back to its event `last`, as a restart of Redis without its latest writes does."""
    log = f"{platform.prefix}log:{id}"
    numbers = range(last + 1, platform.client.xlen(log) + 1)  # type: ignore[operator]
    platform.client.xdel(log, *(f"{number}-0" for number in numbers))


def test_a_response_without_events_is_not_lost(platform: SimulatedPlatform, process: ApiProcess) -> None:
    reader, _ = begin(platform, process, "r1")
    for _ in range(3):
        process.call(reader.cursor.catch_up)
        process.wait_until_caught_up()
    assert (reader.events, reader.failures) == ([], [])


def test_an_unexpected_error_of_the_connection_is_logged_and_the_log_is_read_again(
    platform: SimulatedPlatform,
    process: ApiProcess,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    reader, claim = begin(platform, process, "r1")
    platform.stop_copies("r1")
    platform.append_text(claim, 1, "a")
    exchange, errors = process.connection.exchange, [redis.ResponseError("no such database"), ValueError()]

    async def fail_twice(commands: Sequence[Command]) -> list[Any]:
        if errors:
            raise errors.pop(0)
        return await exchange(commands)

    monkeypatch.setattr(process.connection, "exchange", fail_twice)
    process.call(reader.cursor.catch_up)
    # the reading that the subscription began may have brought the event before this one fails
    wait_until(lambda: "no such database" in caplog.text)
    wait_until(lambda: not errors)
    assert reader.wait_for(1) == texts("a")
