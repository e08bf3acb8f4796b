"""Connections that are kept: nobody gets another's answer, whatever broke before."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import redis
from redis.exceptions import ConnectionError, ResponseError, TimeoutError

from config.settings import Settings
from scheduler import redis_clients as connections
from scheduler.redis_connections import RedisConnections, redis_connections


@pytest.fixture
def kept(settings: Settings) -> RedisConnections:
    return RedisConnections(connections.commands(settings))


def echo(kept: RedisConnections, word: object) -> bytes:
    (answer,) = kept.exchange([("ECHO", str(word))])
    return answer


def test_answers_come_in_the_order_of_the_commands(kept: RedisConnections) -> None:
    assert kept.exchange([("ECHO", "a"), ("ECHO", "b"), ("ECHO", b"\x00\xff")]) == [b"a", b"b", b"\x00\xff"]


def test_a_refused_command_is_answered_by_its_error_and_the_others_are_done(kept: RedisConnections) -> None:
    first, second, third = kept.exchange([("ECHO", "a"), ("NO_SUCH_COMMAND",), ("ECHO", "b")])
    assert (first, third) == (b"a", b"b")
    assert isinstance(second, ResponseError)
    assert echo(kept, "next") == b"next"


def test_many_threads_never_get_each_others_answers(kept: RedisConnections) -> None:
    def talk(number: int) -> bool:
        return all(echo(kept, f"{number}/{turn}") == f"{number}/{turn}".encode() for turn in range(50))

    with ThreadPoolExecutor(max_workers=16) as pool:
        assert all(pool.map(talk, range(64)))


def test_one_caller_after_the_other_shares_one_connection(kept: RedisConnections) -> None:
    ids = {kept.exchange([("CLIENT", "ID")])[0] for _ in range(20)}
    assert len(ids) == 1


def test_after_all_connections_broke_one_call_fails_and_the_next_is_fine(
    kept: RedisConnections, client: redis.Redis
) -> None:
    with ThreadPoolExecutor(max_workers=8) as pool:
        list(pool.map(lambda word: echo(kept, word), range(64)))
    client.client_kill_filter(_type="normal", skipme=True)
    with pytest.raises(ConnectionError):
        echo(kept, "lost")
    assert [echo(kept, word) for word in range(20)] == [str(word).encode() for word in range(20)]


@pytest.mark.parametrize("fault", [KeyboardInterrupt, TimeoutError])
def test_an_answer_that_was_not_waited_for_reaches_nobody_else(
    kept: RedisConnections, monkeypatch: pytest.MonkeyPatch, fault: type[BaseException]
) -> None:
    echo(kept, "before")
    (wire,) = kept._idle

    def interrupted(*_: object, **__: object) -> None:
        raise fault

    with monkeypatch.context() as patch:
        patch.setattr(wire, "read_response", interrupted)
        with pytest.raises(fault):
            echo(kept, "mine, and I left")
    assert echo(kept, "after") == b"after"


def test_all_rooms_that_use_a_client_share_its_connections(client: redis.Redis) -> None:
    assert redis_connections(client) is redis_connections(client)
