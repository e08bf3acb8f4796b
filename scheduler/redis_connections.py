"""Kept connections for the scripts.

redis-py's client takes a connection from its pool, looks whether it is alive, wraps the call in its retry
and its metrics, and gives the connection back: more CPU in each caller than the script costs in Redis.
Scripts are repeated by us and need none of that, so their connections are kept here and spoken to directly.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

from redis import Redis
from redis.exceptions import ResponseError

Command = Sequence[Any]


class RedisConnections:
    """As many connections as there are callers at once; an idle one is taken by whoever comes next."""

    def __init__(self, client: Redis) -> None:
        self._pool: Any = client.connection_pool
        self._idle: deque[Any] = deque()

    def exchange(self, commands: Sequence[Command]) -> list[Any]:
        """Send commands in one go and read their answers; a refused one's answer is its `ResponseError`.

        Raises redis-py's `ConnectionError` or `TimeoutError`, and then all connections begin anew.
        """
        try:
            wire = self._idle.pop()
        except IndexError:
            wire = self._pool.get_connection()
        try:
            wire.send_packed_command(wire.pack_commands(commands))
            return [_answer(wire) for _ in commands]
        except BaseException:
            # answers may still be on their way, and the others are likely to be dead as well
            wire.disconnect()
            self._hang_up()
            raise
        finally:
            self._idle.append(wire)

    def _hang_up(self) -> None:
        for wire in list(self._idle):
            try:
                self._idle.remove(wire)
            except ValueError:
                continue  # somebody else has just taken it
            wire.disconnect()
            self._idle.append(wire)


def _answer(wire: Any) -> Any:
    try:
        return wire.read_response()
    except ResponseError as error:
        return error


_WIRES: WeakKeyDictionary[Redis, RedisConnections] = WeakKeyDictionary()


def redis_connections(client: Redis) -> RedisConnections:
    """Those of this client, shared by all rooms that use it."""
    return _WIRES.setdefault(client, RedisConnections(client))
