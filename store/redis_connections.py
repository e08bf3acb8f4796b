"""Connections to Redis: client factories, and the connections that run the Lua scripts.

redis-py would by itself repeat a command when a connection breaks. For a script that admits or dispatches
that is wrong, since Redis may have run the first attempt. So the clients repeat nothing; a broken connection
is replaced at the next call, and the caller, which knows whether a repetition is harmless, decides.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary

from redis import ConnectionPool, Redis
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError, ResponseError, TimeoutError
from redis.maint_notifications import MaintNotificationsConfig
from redis.retry import Retry

from config.settings import Settings

CALL_TIMEOUT_S = 2.75
"""How long a call may take, with its connect and its repetition: a client has its answer in 3 s.

A Redis that stalls for a moment (a slow disk, a fork) then answers, and a call waits for it, whether or not
its connection is open. Only the connect of the socket, which the system answers, has a shorter limit: without
a network, calls fail soon.
"""

COMMAND_TIMEOUT_S = 2.0  # of a reply, also to the first commands: detects a half-open connection
CONNECT_TIMEOUT_S = 0.75  # of the socket's connect, which the system answers
LEAST_REPLY_S = 0.25  # of a reply, after a connect that took almost all of the call's time
HEALTH_CHECK_S = 15  # a connection that was idle for longer is checked with a PING first
SPARE_CONNECTIONS = 32  # beside those for each thread of the API: subscribers, reapers, a worker's threads

Command = Sequence[Any]


class ConnectFailed(ConnectionError):
    """Raised when no connection to Redis can be opened. Nothing was sent; a repetition would fail, too."""


def command_client(settings: Settings) -> Redis:
    """Return a client for commands that answer at once, with enough connections for every thread.

    Answers are bytes. Opens no connection: the first command does. Accepts `redis://`, `rediss://` and
    `unix://`.
    """
    url = settings.redis.url
    options: dict[str, Any] = {
        "decode_responses": False,
        "protocol": 3,
        "socket_timeout": COMMAND_TIMEOUT_S,
        "socket_connect_timeout": CONNECT_TIMEOUT_S,
        "health_check_interval": HEALTH_CHECK_S,
        "retry": Retry(NoBackoff(), 0),
        # for each thread one that `RedisConnections` holds for its scripts, and one for its other commands
        "max_connections": 2 * settings.api.threads + SPARE_CONNECTIONS,
        # neither the server's maintenance pushes nor the library's name is worth a round trip per connection
        "maint_notifications_config": MaintNotificationsConfig(enabled=False),
        "driver_info": None,
    }
    if not url.startswith("unix://"):
        options["socket_keepalive"] = True
    pool: Any = ConnectionPool.from_url(url, **options)
    kind = pool.connection_class
    pool.connection_class = type(kind.__name__, (_BoundedConnect, kind), {})
    return Redis(connection_pool=pool)


class _BoundedConnect:
    """Mixed into a connection: what remains of a call limits TLS and the first commands of a connect.

    redis-py has a limit for the connect of the socket only, and a server that is frozen accepts connections.
    """

    def _send_ping(self) -> None:
        """Check that the server answers. One whose disk is full refuses a PING, and answers reads."""
        with suppress(ResponseError):
            super()._send_ping()  # type: ignore[misc]

    handshake_timeout_s = COMMAND_TIMEOUT_S

    def connect_check_health(self, *args: Any, **options: Any) -> None:
        """Connect. `socket_timeout` is the limit of each read and write."""
        connection: Any = self
        of_commands = connection.socket_timeout
        connection.socket_timeout = min(of_commands, self.handshake_timeout_s)
        try:
            super().connect_check_health(*args, **options)  # type: ignore[misc]
        finally:
            connection.socket_timeout = of_commands
            connection.update_current_socket_timeout(of_commands)


class RedisConnections:
    """The open connections that run scripts, as many as there are concurrent callers. Thread-safe.

    redis-py's client takes a connection from its pool, checks that it is alive, wraps the call in retries and
    metrics, and returns the connection to the pool. This costs the caller more CPU than the script costs
    Redis. `Scripts` repeats its calls itself and needs none of that, so these connections stay open and are
    used directly.
    """

    def __init__(self, client: Redis) -> None:
        self._pool: Any = client.connection_pool
        self._idle: deque[Any] = deque()

    def exchange(self, commands: Sequence[Command], within_s: float | None = None) -> list[Any]:
        """Send all commands in one round trip and return their replies.

        `within_s` limits the call with its connect; None stands for `CALL_TIMEOUT_S`.

        The reply to a refused command is its `ResponseError`. Raises redis-py's `ConnectionError` (its
        subclass `ConnectFailed` when nothing was sent) or `TimeoutError`, and then closes all idle
        connections; they reconnect when they are used again.
        """
        deadline = time.monotonic() + (CALL_TIMEOUT_S if within_s is None else within_s)
        connection = self._take()
        try:
            _connect(connection, deadline - time.monotonic())
            return _replies(connection, commands, max(deadline - time.monotonic(), LEAST_REPLY_S))
        except BaseException:
            # replies may still be on their way, and the other connections are likely to be broken as well
            connection.disconnect()
            self._disconnect_idle()
            raise
        finally:
            self._idle.append(connection)

    def _take(self) -> Any:
        try:
            return self._idle.pop()
        except IndexError:
            pass
        try:
            return self._pool.get_connection()
        except (ConnectionError, TimeoutError) as error:
            raise ConnectFailed(str(error)) from error

    def _disconnect_idle(self) -> None:
        for connection in list(self._idle):
            try:
                self._idle.remove(connection)
            except ValueError:
                continue  # another thread has just taken it
            connection.disconnect()
            self._idle.append(connection)


def _connect(connection: Any, left_s: float) -> None:
    if connection.is_connected:
        return
    if left_s <= 0:
        raise ConnectFailed("no time is left to connect to Redis")
    connection.handshake_timeout_s = left_s
    try:
        connection.connect()
    except (ConnectionError, TimeoutError) as error:
        raise ConnectFailed(str(error)) from error
    finally:
        connection.handshake_timeout_s = COMMAND_TIMEOUT_S


def _replies(connection: Any, commands: Sequence[Command], left_s: float) -> list[Any]:
    """Send the commands and read the replies, each in the connection's usual time, or in what is left."""
    usual_s = connection.socket_timeout
    if left_s < usual_s:
        connection.update_current_socket_timeout(left_s)
    connection.send_packed_command(connection.pack_commands(commands))
    replies = [_read_reply(connection) for _ in commands]
    if left_s < usual_s:
        connection.update_current_socket_timeout(usual_s)
    return replies


def _read_reply(connection: Any) -> Any:
    try:
        return connection.read_response()
    except ResponseError as error:
        return error


_CONNECTIONS: WeakKeyDictionary[Redis, RedisConnections] = WeakKeyDictionary()


def connections_of(client: Redis) -> RedisConnections:
    """Return the script connections of a client; all callers with the same client share them."""
    return _CONNECTIONS.setdefault(client, RedisConnections(client))
