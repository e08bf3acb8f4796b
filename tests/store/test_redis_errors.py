"""Errors of Redis are classified by the codes of a real server's replies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import redis
from redis._parsers.base import BaseParser

from store.errors import StorageFull, StorageUnavailable
from store.redis_errors import error_code, is_transient, translate_redis_error
from tests.conftest import ValkeyServer


def reply(text: str) -> Exception:
    """The error that redis-py makes of an error reply."""
    error: Exception = BaseParser.parse_error(text)
    return error


@pytest.mark.parametrize(
    ("text", "translated"),
    [
        ("LOADING Redis is loading the dataset in memory", StorageUnavailable),
        ("READONLY You can't write against a read only replica.", StorageUnavailable),
        ("NOREPLICAS Not enough good replicas to write.", StorageUnavailable),
        (
            "MASTERDOWN Link with MASTER is down",
            StorageUnavailable,
        ),
        (
            "BUSY Redis is busy running a script.",
            StorageUnavailable,
        ),
        ("UNBLOCKED force unblock from blocking operation, instance state changed", StorageUnavailable),
        ("CLUSTERDOWN The cluster is down", StorageUnavailable),
        ("TRYAGAIN Multiple keys request during rehashing of slot", StorageUnavailable),
        ("MOVED 3999 127.0.0.1:6381", StorageUnavailable),
        ("ASK 3999 127.0.0.1:6381", StorageUnavailable),
        ("NOAUTH Authentication required.", StorageUnavailable),
        ("WRONGPASS invalid username-password pair or user is disabled.", StorageUnavailable),
        ("NOPERM this user has no permissions to run the 'evalsha' command", StorageUnavailable),
        ("ERR max number of clients reached", StorageUnavailable),
        ("REDIRECT 127.0.0.1:6381", StorageUnavailable),
        ("NOMASTERLINK Can't SYNC while not connected with my master", StorageUnavailable),
        ("OOM command not allowed when used memory > 'maxmemory'.", StorageFull),
        ("MISCONF Errors writing to the AOF file: No space left on device", StorageFull),
        ("WRONGTYPE Operation against a key holding the wrong kind of value", None),
        ("ERR unknown command 'X', with args beginning with: ", None),
        ("NOSCRIPT No matching script. Please use EVAL.", None),
        ("EXECABORT Transaction discarded because of previous errors.", None),
        ("CROSSSLOT Keys in request don't hash to the same slot", None),
        ("attempt to index a nil value", None),
    ],
    ids=lambda value: value.split()[0] if isinstance(value, str) else "",
)
def test_a_reply_is_transient_when_it_names_a_state_of_the_server(
    text: str, translated: type[Exception] | None
) -> None:
    error = reply(text)
    assert is_transient(error) is (translated is not None)
    assert type(translate_redis_error(error)) is (translated or type(error))


@pytest.mark.parametrize(
    "error", [redis.ConnectionError("x"), redis.TimeoutError("x"), ConnectionRefusedError("x")], ids=repr
)
def test_a_lost_connection_is_transient(error: Exception) -> None:
    assert isinstance(translate_redis_error(error), StorageUnavailable)


def test_an_error_of_the_program_stays_as_it_is() -> None:
    for error in (KeyError("x"), ValueError("READONLY"), StorageFull("x")):
        assert translate_redis_error(error) is error


@contextmanager
def as_replica(client: redis.Redis) -> Iterator[None]:
    client.execute_command("REPLICAOF", "127.0.0.1", "1")
    yield
    client.execute_command("REPLICAOF", "NO", "ONE")


def test_the_code_is_found_in_a_transaction_and_in_a_script(own_server: ValkeyServer) -> None:
    client = redis.Redis(port=own_server.port)

    def write_by_pipeline() -> None:
        client.pipeline().set("a", "1").set("b", "2").execute()

    def write_by_script() -> None:
        client.eval("return redis.call('SET', KEYS[1], '1')", 1, "a")

    with as_replica(client):
        for write in (write_by_pipeline, write_by_script):
            with pytest.raises(redis.RedisError) as raised:
                write()
            assert error_code(raised.value) == "READONLY"
    client.config_set("min-replicas-to-write", 1)
    for write in (write_by_pipeline, write_by_script):
        with pytest.raises(redis.RedisError) as raised:
            write()
        assert error_code(raised.value) == "NOREPLICAS"
    client.config_set("min-replicas-to-write", 0)
    client.config_set("maxmemory", 1)
    for write in (write_by_pipeline, write_by_script):
        with pytest.raises(redis.RedisError) as raised:
            write()
        assert error_code(raised.value) == "OOM"
