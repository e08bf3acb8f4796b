"""How we connect; no server is needed to know."""

from __future__ import annotations

import pytest
from redis import Redis
from redis.connection import Connection, SSLConnection, UnixDomainSocketConnection

from config.settings import ApiSettings, RedisSettings, Settings
from scheduler.redis_clients import blocking, commands


def made(client: Redis) -> Connection:
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
    connection = made(commands(Settings(redis=RedisSettings(url))))

    assert type(connection) is kind
    assert connection.db == 2


def test_commands_time_out_and_waiting_does_not():
    assert made(commands(Settings())).socket_timeout == 5
    assert made(blocking(Settings())).socket_timeout is None
    assert made(blocking(Settings())).socket_connect_timeout == 3


def test_a_command_is_never_repeated_by_the_library():
    calls = []

    def write():
        calls.append(1)
        raise ConnectionError

    with pytest.raises(ConnectionError):
        made(commands(Settings())).retry.call_with_retry(write, lambda _: None)
    assert len(calls) == 1


def test_there_is_a_connection_for_every_thread():
    settings = Settings(api=ApiSettings(threads=1000))

    assert commands(settings).connection_pool.max_connections > 1000
