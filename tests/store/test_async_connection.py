"""One Redis connection for all coroutines: no call gets another call's reply, and a loss ends every call."""

from __future__ import annotations

import asyncio
import select
import socket
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

import pytest
import redis
import uvloop
from redis.exceptions import ConnectionError, ResponseError, TimeoutError

from config.settings import RedisSettings, Settings
from scheduler import LUA
from store.async_connection import AsyncConnection
from store.errors import StorageUnavailable
from store.redis_connections import ConnectFailed
from store.scripts import AsyncScripts
from tests.support.closing_server import ClosingServer
from tests.support.stalls import stalled
from tests.support.waiting import scaled


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request):
    """Run a coroutine on each kind of event loop."""

    def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
        factory = uvloop.new_event_loop if request.param == "uvloop" else asyncio.new_event_loop
        with asyncio.Runner(loop_factory=factory) as runner:
            return runner.run(coroutine)

    return run


def test_replies_arrive_in_the_order_of_the_commands(settings, run):
    async def exchange():
        connection = AsyncConnection(settings)
        replies = await connection.exchange([("SET", "k", 1), ("GET", "k"), ("GET", "none"), ("NOSUCH",)])
        await connection.close()
        return replies

    ok, value, nothing, refused = run(exchange())
    assert (ok, value, nothing) == (b"OK", b"1", None)
    assert isinstance(refused, ResponseError)


def test_each_call_gets_its_own_replies_when_many_run_at_once(settings, run):
    async def exchange():
        connection = AsyncConnection(settings)
        calls = [connection.exchange([("ECHO", n), ("ECHO", "x" * (n % 7000))]) for n in range(500)]
        replies = await asyncio.gather(*calls)
        await connection.close()
        return replies

    for n, (number, text) in enumerate(run(exchange())):
        assert (int(number), len(text)) == (n, n % 7000)


def test_the_commands_of_one_iteration_of_the_loop_leave_in_one_write(settings, run):
    async def exchange():
        connection = AsyncConnection(settings)
        await connection.exchange([("PING",)])
        transport, writes = connection._transport, []

        class Transport:
            def write(self, data: bytes) -> None:
                writes.append(data)
                transport.write(data)

            def __getattr__(self, name: str) -> Any:
                return getattr(transport, name)

        connection._transport = Transport()
        replies = await asyncio.gather(*(connection.exchange([("ECHO", n)]) for n in range(20)))
        await connection.exchange([("PING",)])
        await connection.close()
        return replies, len(writes)

    assert run(exchange()) == ([[b"%d" % n] for n in range(20)], 2)


def test_a_cancelled_call_does_not_shift_the_replies_of_others(settings, run):
    async def exchange():
        connection = AsyncConnection(settings)
        await connection.exchange([("PING",)])  # connected: a call sends its commands at its first step
        first = asyncio.ensure_future(connection.exchange([("BLPOP", "none", 0.1)]))
        second = asyncio.ensure_future(connection.exchange([("ECHO", "second")]))
        await asyncio.sleep(0)
        sent = len(connection._pending)
        first.cancel()
        reply = await second
        await connection.close()
        return sent, first.cancelled(), reply

    assert run(exchange()) == (2, True, [b"second"])


def test_a_lost_connection_ends_every_call_and_the_next_call_connects_again(settings, client, run):
    async def exchange():
        connection = AsyncConnection(settings, timeout_s=None)
        (id,) = await connection.exchange([("CLIENT", "ID")])
        calls = [asyncio.ensure_future(connection.exchange([("BLPOP", "none", 30)])) for _ in range(3)]
        await asyncio.sleep(0)
        await asyncio.to_thread(client.client_kill_filter, _id=id)
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        reply = await connection.exchange([("PING",)])
        await connection.close()
        return outcomes, reply

    outcomes, reply = run(exchange())
    assert [type(outcome) for outcome in outcomes] == [ConnectionError] * 3
    assert reply == [b"PONG"]


def test_a_call_connects_again_when_the_transport_is_closing(settings, run):
    async def exchange():
        connection = AsyncConnection(settings, timeout_s=None)
        await connection.exchange([("PING",)])
        waiting = asyncio.ensure_future(connection.exchange([("BLPOP", "none", 30)]))
        await asyncio.sleep(0)
        connection._transport.close()  # its loss is reported in a later iteration of the loop
        reply = await connection.exchange([("PING",)])
        (outcome,) = await asyncio.gather(waiting, return_exceptions=True)
        again = await connection.exchange([("PING",)])
        await connection.close()
        return outcome, reply, again

    outcome, reply, again = run(exchange())
    assert isinstance(outcome, ConnectionError)
    assert reply == again == [b"PONG"]


def test_a_reply_that_takes_too_long_ends_the_connection(settings, run):
    async def exchange():
        connection = AsyncConnection(settings, timeout_s=scaled(0.3))  # in which the PING is answered, too
        with pytest.raises(TimeoutError):
            await connection.exchange([("BLPOP", "none", 30)])
        reply = await connection.exchange([("PING",)])
        await connection.close()
        return reply

    assert run(exchange()) == [b"PONG"]


def test_a_call_raises_when_redis_cannot_be_reached(run):
    nowhere = Settings(redis=RedisSettings("redis://127.0.0.1:1/0"))

    async def exchange():
        await AsyncConnection(nowhere).exchange([("PING",)])

    with pytest.raises(ConnectionError):
        run(exchange())


def test_all_calls_share_one_attempt_to_connect(closing_server: ClosingServer, run):
    async def exchange():
        scripts = AsyncScripts(AsyncConnection(closing_server.settings), "test", LUA)
        calls = [
            scripts.run("heartbeat", worker="w1", incarnation="1", lease_us=1, report=1, tokens=[])
            for _ in range(20)
        ]
        return await asyncio.gather(*calls, return_exceptions=True)

    assert {type(outcome) for outcome in run(exchange())} == {StorageUnavailable}
    assert closing_server.accepted == 1


def test_a_cancelled_call_does_not_end_the_attempt_to_connect_of_others(settings, run):
    async def exchange():
        connection = AsyncConnection(settings)
        first = asyncio.ensure_future(connection.exchange([("PING",)]))
        second = asyncio.ensure_future(connection.exchange([("ECHO", "second")]))
        await asyncio.sleep(0)
        first.cancel()
        reply = await second
        await connection.close()
        return first.cancelled(), reply

    assert run(exchange()) == (True, [b"second"])


@pytest.mark.parametrize("shortest", ["CALL_TIMEOUT_S", "COMMAND_TIMEOUT_S"])
def test_a_connect_fails_when_the_server_accepts_and_does_not_answer(run, monkeypatch, shortest):
    for limit in ("CALL_TIMEOUT_S", "COMMAND_TIMEOUT_S", "CONNECT_TIMEOUT_S"):
        monkeypatch.setattr(f"store.async_connection.{limit}", 0.05 if limit == shortest else 60.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # the system accepts in its place
        address = f"redis://127.0.0.1:{silent.getsockname()[1]}/0"

        async def exchange():
            connection = AsyncConnection(Settings(redis=RedisSettings(address)), timeout_s=0.05)
            await connection.exchange([("PING",)])

        with pytest.raises(ConnectFailed):
            run(exchange())


def test_calls_wait_for_a_server_that_stalls(own_server, settings, run, monkeypatch):
    monkeypatch.setattr("store.async_connection.CONNECT_TIMEOUT_S", 0.1)

    async def exchange():
        connection = AsyncConnection(replace(settings, redis=RedisSettings(own_server.url)), timeout_s=0.3)
        scripts = AsyncScripts(connection, "test", LUA)
        replies = []
        for stall_s in (0.2, 0.6):  # without a connection; with one, which is replaced
            with stalled(own_server, stall_s):
                replies += await asyncio.gather(*(scripts.exchange([("ECHO", n)]) for n in range(2)))
        await connection.close()
        return replies

    assert run(exchange()) == [[b"0"], [b"1"]] * 2


def test_a_call_whose_time_is_over_leaves_the_attempt_to_connect_to_others(own_server, settings, run):
    async def exchange():
        connection = AsyncConnection(replace(settings, redis=RedisSettings(own_server.url)))
        with stalled(own_server, scaled(60)):
            first = connection.exchange([("PING",)], within_s=0.05)
            second = asyncio.ensure_future(connection.exchange([("ECHO", "second")]))
            (error,) = await asyncio.gather(first, return_exceptions=True)
        reply = await second
        await connection.close()
        return error, reply

    error, reply = run(exchange())
    assert isinstance(error, ConnectFailed)
    assert reply == [b"second"]


def test_the_password_of_the_address_is_used(own_server, settings, run):
    redis.Redis.from_url(own_server.url).config_set("requirepass", "secret")
    address = own_server.url.replace("redis://", "redis://:secret@")

    async def exchange():
        connection = AsyncConnection(replace(settings, redis=RedisSettings(address)))
        replies = await connection.exchange([("PING",)])
        await connection.close()
        return replies

    assert run(exchange()) == [b"PONG"]


def test_a_script_is_run_again_when_redis_has_lost_it(settings, client, run, tmp_path):
    (tmp_path / "double.lua").write_text("-- args: number\nreturn tonumber(args.number) * 2")

    async def exchange():
        connection = AsyncConnection(settings)
        scripts = AsyncScripts(connection, "test", tmp_path)
        before = await scripts.run("double", number=21)
        await asyncio.to_thread(client.script_flush)
        after = await scripts.run("double", number=22)
        await connection.close()
        return before, after

    assert run(exchange()) == (42, 44)


def test_a_deferred_reply_is_read_when_the_caller_asks_or_with_the_next_call(settings, run):
    async def exchange(ask):
        connection = AsyncConnection(settings)
        await connection.exchange([("PING",)])
        deferred = asyncio.ensure_future(connection.exchange([("ECHO", "a")], defer_s=30))
        await asyncio.sleep(0.02)
        was_read = deferred.done()
        await ask(connection)
        reply = await deferred
        await connection.close()
        return was_read, reply

    async def read_now(connection):
        connection.read_now()

    async def call(connection):
        assert await connection.exchange([("ECHO", "b")]) == [b"b"]

    for ask in (read_now, call):
        assert run(exchange(ask)) == (False, [b"a"])


async def reply_has_come(connection: AsyncConnection) -> None:
    """Wait until a reply can be read; the loop reads nothing meanwhile."""
    socket_of = connection._transport.get_extra_info("socket")
    readable, _, _ = await asyncio.to_thread(select.select, [socket_of.fileno()], [], [], scaled(10))
    assert readable


def test_the_loop_does_not_watch_for_replies_while_all_calls_defer_theirs(settings, client, run):
    async def exchange():
        connection = AsyncConnection(settings)
        await connection.exchange([("PING",)])
        watched, replies = [], []
        for number in range(3):
            deferred = asyncio.ensure_future(connection.exchange([("ECHO", number)], defer_s=30))
            await reply_has_come(connection)
            watched.append(connection._transport.is_reading())
            connection.read_now()
            watched.append(connection._transport.is_reading())
            replies.append(await deferred)
        late = asyncio.ensure_future(connection.exchange([("BLPOP", "late", 30)], defer_s=30))
        await asyncio.sleep(0.01)
        connection.read_now()
        watched_when_late = connection._transport.is_reading()
        await asyncio.to_thread(client.rpush, "late", "x")
        replies += [await late, await connection.exchange([("PING",)])]
        await connection.close()
        return watched, watched_when_late, replies

    watched, watched_when_late, replies = run(exchange())
    assert (watched, watched_when_late) == ([False] * 6, True)
    assert replies == [[b"0"], [b"1"], [b"2"], [[b"late", b"x"]], [b"PONG"]]


def test_a_connection_that_is_not_watched_and_was_closed_is_replaced(settings, client, run):
    async def exchange():
        connection = AsyncConnection(settings)
        (id,) = await connection.exchange([("CLIENT", "ID")])
        await asyncio.gather(connection.exchange([("PING",)], defer_s=0.01))
        await asyncio.to_thread(client.client_kill_filter, _id=id)
        outcomes = [
            await asyncio.gather(connection.exchange([("PING",)], defer_s=defer_s), return_exceptions=True)
            for defer_s in (0.01, 0.01, 0)
        ]
        await connection.close()
        return [type(outcome) if isinstance(outcome, Exception) else outcome for (outcome,) in outcomes]

    lost, *after = run(exchange())
    assert lost is ConnectionError
    assert after == [[b"PONG"], [b"PONG"]]


def test_a_deferred_reply_is_read_after_its_time(settings, run):
    async def exchange():
        connection = AsyncConnection(settings)
        replies = [await connection.exchange([("ECHO", n)], defer_s=0.01) for n in range(3)]
        await connection.close()
        return replies

    assert run(exchange()) == [[b"0"], [b"1"], [b"2"]]


def test_replies_are_not_deferred_while_another_call_waits_for_its_own(settings, run):
    async def exchange():
        connection = AsyncConnection(settings)
        await connection.exchange([("PING",)])
        calls = [connection.exchange([("ECHO", n)], defer_s=defer_s) for n, defer_s in enumerate((30, 0, 30))]
        replies = await asyncio.gather(*calls)
        await connection.close()
        return replies

    assert run(exchange()) == [[b"0"], [b"1"], [b"2"]]


def test_a_connection_that_is_lost_while_a_reply_is_deferred_ends_the_call(settings, client, run):
    async def exchange():
        connection = AsyncConnection(settings)
        (id,) = await connection.exchange([("CLIENT", "ID")])
        deferred = asyncio.ensure_future(connection.exchange([("BLPOP", "none", 30)], defer_s=0.05))
        await asyncio.sleep(0.02)
        await asyncio.to_thread(client.client_kill_filter, _id=id)
        (outcome,) = await asyncio.gather(deferred, return_exceptions=True)
        reply = await connection.exchange([("PING",)], defer_s=0.01)
        await connection.close()
        return type(outcome), reply

    assert run(exchange()) == (ConnectionError, [b"PONG"])
