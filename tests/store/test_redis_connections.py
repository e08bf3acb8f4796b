"""Redis clients, and the connections that run scripts: no caller gets another caller's reply."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
import redis
from redis.connection import Connection, SSLConnection, UnixDomainSocketConnection
from redis.exceptions import ConnectionError, ResponseError, TimeoutError

from config.settings import ApiSettings, RedisSettings, Settings
from scheduler import LUA
from store.errors import StorageUnavailable
from store.redis_connections import (
    CALL_TIMEOUT_S,
    LEAST_REPLY_S,
    RedisConnections,
    command_client,
    connections_of,
)
from store.scripts import Scripts
from tests.conftest import ValkeyServer
from tests.support.closing_server import ClosingServer
from tests.support.full_disk import refused_writes
from tests.support.stalls import stalled
from tests.support.waiting import scaled

# ---- the clients; no server is needed


def made(client: redis.Redis) -> Connection:
    return client.connection_pool.make_connection()


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("redis://:pw@h:7/2", Connection),
        ("rediss://h:7/2", SSLConnection),
        ("unix:///run/redis.sock?db=2", UnixDomainSocketConnection),
    ],
)
def test_each_kind_of_address_makes_its_connection(url, kind):
    connection = made(command_client(Settings(redis=RedisSettings(url))))

    assert isinstance(connection, kind)
    assert connection.db == 2


def test_a_call_times_out_within_three_seconds_with_its_connect():
    connection = made(command_client(Settings()))

    assert (connection.socket_timeout, connection.socket_connect_timeout) == (2, 0.75)
    assert CALL_TIMEOUT_S + LEAST_REPLY_S <= 3


def test_a_call_connects_once_when_no_connection_can_be_opened(closing_server: ClosingServer):
    scripts = Scripts(command_client(closing_server.settings), "test", LUA)

    for expected in (1, 2):
        with pytest.raises(StorageUnavailable):
            scripts.run("heartbeat", worker="w1", incarnation="1", lease_us=1, report=1, tokens=[])
        assert closing_server.accepted == expected


@pytest.fixture
def frozen_server() -> Iterator[str]:
    """The address of a server that answers nothing: the system accepts its connections."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize("scheme", ["redis", "rediss"])
def test_a_connect_is_given_up_within_its_time_when_the_server_is_frozen(frozen_server, scheme, monkeypatch):
    for limit, seconds in (
        ("CALL_TIMEOUT_S", 60.0),
        ("COMMAND_TIMEOUT_S", 0.05),
        ("CONNECT_TIMEOUT_S", 60.0),
    ):
        monkeypatch.setattr(f"store.redis_connections.{limit}", seconds)
    client = command_client(Settings(redis=RedisSettings(f"{scheme}://:pw@{frozen_server}/0")))
    start = time.monotonic()

    with pytest.raises(StorageUnavailable):
        Scripts(client, "test", LUA).run(
            "heartbeat", worker="w1", incarnation="1", lease_us=1, report=1, tokens=[]
        )
    with pytest.raises(TimeoutError):
        client.ping()

    assert time.monotonic() - start < 30


def test_a_call_without_a_connection_waits_for_a_server_that_stalls(own_server: ValkeyServer, monkeypatch):
    monkeypatch.setattr("store.redis_connections.CONNECT_TIMEOUT_S", 0.1)
    client = command_client(Settings(redis=RedisSettings(own_server.url)))
    with stalled(own_server, 0.4):
        assert connections_of(client).exchange([("PING",)]) == [b"PONG"]
    with stalled(own_server, 0.4):
        assert command_client(Settings(redis=RedisSettings(own_server.url))).ping()


def test_a_call_is_repeated_in_the_time_that_is_left_when_the_server_stalls_for_longer(
    own_server: ValkeyServer, monkeypatch
):
    monkeypatch.setattr("store.redis_connections.COMMAND_TIMEOUT_S", 0.3)
    monkeypatch.setattr("store.redis_connections.CONNECT_TIMEOUT_S", 0.1)
    client = command_client(Settings(redis=RedisSettings(own_server.url)))
    scripts = Scripts(client, "test", LUA)
    assert scripts.exchange([("PING",)]) == [b"PONG"]
    with stalled(own_server, 0.45):
        assert scripts.exchange([("PING",)]) == [b"PONG"]


def test_the_time_limit_of_a_client_stays_in_force_after_a_connect(settings: Settings):
    client = command_client(settings)
    client.connection_pool.connection_kwargs["socket_timeout"] = scaled(0.2)  # in which it answers, too
    assert client.ping()

    with pytest.raises(TimeoutError):
        client.blpop(["no such list"], timeout=30)


def test_a_command_has_its_own_time_when_a_connection_is_open(settings: Settings, monkeypatch):
    monkeypatch.setattr("store.redis_connections.CONNECT_TIMEOUT_S", 0.25)
    client = command_client(settings)
    client.ping()

    assert client.blpop(["no such list"], timeout=0.6) is None  # longer than a connect may take
    assert client.ping()


def test_a_command_is_never_repeated_by_the_library():
    calls = []

    def write():
        calls.append(1)
        raise ConnectionError

    with pytest.raises(ConnectionError):
        made(command_client(Settings())).retry.call_with_retry(write, lambda _: None)
    assert len(calls) == 1


def test_there_is_a_connection_for_every_thread():
    settings = Settings(api=ApiSettings(threads=1000))

    assert command_client(settings).connection_pool.max_connections > 1000


# ---- the connections that run scripts


@pytest.fixture
def connections(settings: Settings) -> RedisConnections:
    return RedisConnections(command_client(settings))


def echo(connections: RedisConnections, word: object) -> bytes:
    (reply,) = connections.exchange([("ECHO", str(word))])
    return reply


def test_replies_come_in_the_order_of_the_commands(connections: RedisConnections) -> None:
    commands = [("ECHO", "a"), ("ECHO", "b"), ("ECHO", b"\x00\xff")]
    assert connections.exchange(commands) == [b"a", b"b", b"\x00\xff"]


def test_the_reply_to_a_refused_command_is_its_error_and_the_others_are_run(
    connections: RedisConnections,
) -> None:
    first, second, third = connections.exchange([("ECHO", "a"), ("NO_SUCH_COMMAND",), ("ECHO", "b")])
    assert (first, third) == (b"a", b"b")
    assert isinstance(second, ResponseError)
    assert echo(connections, "next") == b"next"


def test_many_threads_never_get_each_others_replies(connections: RedisConnections) -> None:
    def talk(number: int) -> bool:
        return all(echo(connections, f"{number}/{call}") == f"{number}/{call}".encode() for call in range(50))

    with ThreadPoolExecutor(max_workers=16) as pool:
        assert all(pool.map(talk, range(64)))


def test_sequential_calls_share_one_connection(connections: RedisConnections) -> None:
    ids = {connections.exchange([("CLIENT", "ID")])[0] for _ in range(20)}
    assert len(ids) == 1


def test_after_all_connections_broke_one_call_fails_and_the_next_succeeds(
    connections: RedisConnections, client: redis.Redis
) -> None:
    with ThreadPoolExecutor(max_workers=8) as pool:
        list(pool.map(lambda word: echo(connections, word), range(64)))
    client.client_kill_filter(_type="normal", skipme=True)
    with pytest.raises(ConnectionError):
        echo(connections, "lost")
    assert [echo(connections, word) for word in range(20)] == [str(word).encode() for word in range(20)]


@pytest.mark.parametrize("fault", [KeyboardInterrupt, TimeoutError])
def test_a_reply_that_was_not_read_reaches_no_other_caller(
    connections: RedisConnections, monkeypatch: pytest.MonkeyPatch, fault: type[BaseException]
) -> None:
    echo(connections, "before")
    (connection,) = connections._idle

    def interrupted(*_: object, **__: object) -> None:
        raise fault

    with monkeypatch.context() as patch:
        patch.setattr(connection, "read_response", interrupted)
        with pytest.raises(fault):
            echo(connections, "not read")
    assert echo(connections, "after") == b"after"


def test_all_users_of_a_client_share_its_connections(client: redis.Redis) -> None:
    assert connections_of(client) is connections_of(client)


def test_a_connection_that_was_idle_reads_while_redis_refuses_writes(
    settings: Settings, own_server: ValkeyServer
) -> None:
    client: Any = command_client(replace(settings, redis=RedisSettings(own_server.url, "own")))
    client.set("key", "value")
    with refused_writes(redis.Redis.from_url(own_server.url), own_server.directory):
        connection = client.connection_pool.get_connection()
        connection.next_health_check = 0  # as after an idle time
        client.connection_pool.release(connection)
        assert client.get("key") == b"value"
        with pytest.raises(redis.ResponseError, match="MISCONF"):
            client.set("key", "other")
