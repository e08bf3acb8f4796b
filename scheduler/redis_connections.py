"""Connections to Redis: client factories, and the connections that run the Lua scripts.

redis-py would by itself repeat a command when a connection breaks. For a script that admits or dispatches
that is wrong, since Redis may have run the first attempt. So the clients repeat nothing; a broken connection
is replaced at the next call, and the caller, which knows whether a repetition is harmless, decides.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

from redis import ConnectionPool, Redis
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError, ResponseError, TimeoutError
from redis.maint_notifications import MaintNotificationsConfig
from redis.retry import Retry

from config.settings import Settings

# Together less than 3 s: a call whose connection is cut off waits for its reply, connects once, and fails.
COMMAND_TIMEOUT_S = 2.0  # detects a half-open connection; no script takes as long
CONNECT_TIMEOUT_S = 0.75
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
    """Mixed into a connection: the whole connect has its short time limit, TLS and the first commands too.

    redis-py limits only the connect of the socket by it, and a server that is frozen accepts connections.
    """

    def connect_check_health(self, *args: Any, **options: Any) -> None:
        """Connect. `socket_timeout` is the limit of each read and write."""
        connection: Any = self
        connection.socket_timeout = CONNECT_TIMEOUT_S
        try:
            super().connect_check_health(*args, **options)  # type: ignore[misc]
        finally:
            connection.socket_timeout = COMMAND_TIMEOUT_S
            connection.update_current_socket_timeout(COMMAND_TIMEOUT_S)


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

    def exchange(self, commands: Sequence[Command]) -> list[Any]:
        """Send all commands in one round trip and return their replies.

        The reply to a refused command is its `ResponseError`. Raises redis-py's `ConnectionError` (its
        subclass `ConnectFailed` when nothing was sent) or `TimeoutError`, and then closes all idle
        connections; they reconnect when they are used again.
        """
        connection = self._take()
        try:
            _connect(connection)
            connection.send_packed_command(connection.pack_commands(commands))
            return [_read_reply(connection) for _ in commands]
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


def _connect(connection: Any) -> None:
    if connection.is_connected:
        return
    try:
        connection.connect()
    except (ConnectionError, TimeoutError) as error:
        raise ConnectFailed(str(error)) from error


def _read_reply(connection: Any) -> Any:
    try:
        return connection.read_response()
    except ResponseError as error:
        return error


_CONNECTIONS: WeakKeyDictionary[Redis, RedisConnections] = WeakKeyDictionary()


def connections_of(client: Redis) -> RedisConnections:
    """Return the script connections of a client; all callers with the same client share them."""
    return _CONNECTIONS.setdefault(client, RedisConnections(client))
