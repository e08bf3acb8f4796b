"""Accepts connections: many in each iteration of the event loop, so that no client waits behind a crowd.

The kernel has one queue for all clients, in which addresses have no turns. uvloop's own servers take one
connection from it in an iteration: under load, a client waited there for seconds.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from collections.abc import Callable

from api.http.server.connections import Connections

logger = logging.getLogger("api")

ACCEPTS_IN_TURN = 32
"""Connections that are accepted in one iteration: more than the requests that are handled in it, so that
clients wait where addresses take turns. Each costs about 0.1 ms."""

REFUSALS_IN_TURN = 128
"""Connections that are refused in one iteration: each costs about 0.01 ms."""

PAUSE_S = 0.1
"""How long connections wait in the kernel when the system has no file or memory for one more."""

EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


class Acceptor:
    """Makes a protocol for each connection of a listening socket, which does not block.

    For the event loop's thread only.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        listener: socket.socket,
        connections: Connections,
        protocol: Callable[[], asyncio.Protocol],
    ) -> None:
        self._loop = loop
        self._listener = listener
        self._connections = connections
        self._protocol = protocol
        self._opening: set[asyncio.Task[object]] = set()
        self._pause: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Accept connections."""
        self._pause = None
        self._loop.add_reader(self._listener, self._accept)

    def close(self) -> None:
        """Accept no more connections, and close the socket; those that are open stay open."""
        if self._pause is not None:
            self._pause.cancel()
        self._loop.remove_reader(self._listener)
        self._listener.close()

    def _accept(self) -> None:
        accepted = refused = 0
        while accepted < ACCEPTS_IN_TURN and refused < REFUSALS_IN_TURN:
            try:
                client, address = self._listener.accept()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno in EXHAUSTED:
                    self._wait(error)
                return  # else the client is gone: the others come in the next iteration
            if self._connections.has_room(address[0], self._loop.time()):
                accepted += 1
                opening = self._loop.connect_accepted_socket(self._protocol, client)
                task = self._loop.create_task(opening)
                self._opening.add(task)
                task.add_done_callback(self._opening.discard)
            else:
                refused += 1
                client.close()

    def _wait(self, error: OSError) -> None:
        """Let the clients wait for what the system lacks."""
        logger.error("no connection can be accepted at the moment: %s", error)
        self._loop.remove_reader(self._listener)
        self._pause = self._loop.call_later(PAUSE_S, self.start)
