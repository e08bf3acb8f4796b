"""All connections of one API process: their number, their deadlines, and the memory of unread bodies."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable
from email.utils import formatdate
from operator import attrgetter
from typing import TYPE_CHECKING, Protocol

from api.http.server.access_log import AccessLog
from api.http.server.cross_origin import CrossOrigin, origin_of
from api.http.server.limits import Limits
from api.http.server.read_turns import READS_IN_TURN
from api.http.server.rejection import RejectionLog
from api.http.server.turns import LoopTurns
from telemetry.tracing import Tracing

if TYPE_CHECKING:
    from api.http.server.request import HttpRequest


class Connection(Protocol):
    """One connection, as all of them are swept and bounded together. Times are those of the event loop."""

    address: str
    deadline: float

    @property
    def unsent(self) -> int:
        """The bytes that were written and not sent."""
        ...

    @property
    def unanswered(self) -> int:
        """The bytes of a request that is not complete."""
        ...

    def pass_deadline(self, now: float) -> None:
        """End what has taken too long."""
        ...

    def check_progress(self, now: float) -> None:
        """Abort a client that reads too slowly."""
        ...

    def close_if_idle(self) -> None:
        """Close the connection if it has no request."""
        ...

    def abort(self) -> None:
        """Close the connection at once."""
        ...


class Connections:
    """The open connections.

    One timer serves all: `sweep` closes those whose deadline has passed or that make no progress.
    """

    def __init__(
        self,
        limits: Limits,
        access_log: AccessLog,
        tracing: Tracing | None = None,
        cross_origin: CrossOrigin | None = None,
    ) -> None:
        self.cross_origin = cross_origin
        self.limits = limits
        self.access_log = access_log
        self.tracing = tracing
        self.refusals = RejectionLog()
        self.read_turns = LoopTurns(READS_IN_TURN)
        self.body_bytes = 0
        """Of all bodies that have not reached their view."""
        self.draining = False
        self.date = ""
        """The header field with the current time."""
        self._all: set[Connection] = set()
        self._of_address: dict[str, int] = {}
        self._incomplete: dict[Connection, float] = {}
        """Those without a complete request, and since when: those that have waited longest come first."""
        self._incomplete_of: defaultdict[str, dict[Connection, float]] = defaultdict(dict)
        """The same, of each address."""
        self._empty: asyncio.Event | None = None
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        """How many connections are open."""
        return len(self._all)

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start the sweeps."""
        self._timer = loop.call_later(self.limits.sweep_s, self.start, loop)
        self.sweep(loop.time())

    def stop(self) -> None:
        """Abort what is left, and end the sweeps."""
        for connection in list(self._all):
            connection.abort()
        if self._timer is not None:
            self._timer.cancel()
        self.access_log.write()

    def has_room(self, address: str, now: float) -> bool:
        """Whether a connection from this address can be added.

        At a limit, there is room if one that has no complete request can be closed for it. Not one that is so
        young that its request may be here, unread: a crowd would close its own connections, and none of its
        requests would be read.
        """
        reached = self._reached(address)
        if reached is None:
            return True
        incomplete, limit = reached
        since = next(iter(incomplete.values()), None)
        if since is not None and now - since >= self.limits.max_unread_s:
            return True
        self.refusals.add(limit)
        return False

    def add(self, connection: Connection, now: float) -> bool:
        """Add a new connection; False if there is no room.

        At a limit the connection that has been without a complete request for the longest time is closed, so
        clients that do not finish their requests do not keep others out.
        """
        address = connection.address
        reached = self._reached(address)
        if reached is not None:
            incomplete, limit = reached
            oldest = next(iter(incomplete), None)
            if oldest is None:
                self.refusals.add(limit)
                return False
            self.refusals.add("connections closed for new ones")
            oldest.abort()
        self._all.add(connection)
        self._of_address[address] = self._of_address.get(address, 0) + 1
        self.set_incomplete(connection, now)
        return True

    def discard(self, connection: Connection) -> None:
        """Remove a connection, if it is still there."""
        if connection not in self._all:
            return
        self._all.remove(connection)
        self.set_complete(connection)
        count = self._of_address[connection.address] - 1
        if count:
            self._of_address[connection.address] = count
        else:
            del self._of_address[connection.address]
            self._incomplete_of.pop(connection.address, None)
        if not self._all and self._empty is not None:
            self._empty.set()

    def set_complete(self, connection: Connection) -> None:
        """The connection has a complete request."""
        if self._incomplete.pop(connection, None) is not None:
            self._incomplete_of[connection.address].pop(connection)

    def set_incomplete(self, connection: Connection, now: float) -> None:
        """The connection waits for a request."""
        if connection in self._all and connection not in self._incomplete:
            self._incomplete[connection] = self._incomplete_of[connection.address][connection] = now

    def release_body(self, request: HttpRequest) -> None:
        """The request's body has reached its view, or is dropped."""
        # the environ has the body, too, and an answer may take minutes
        request.wsgi = {} if self.cross_origin is None else origin_of(request.wsgi)
        if request.sink is not None:
            request.sink.close()
            return
        self.body_bytes -= request.size
        request.size, request.body = 0, b""

    def sweep(self, now: float) -> None:
        """Close the connections whose time is over."""
        self.date = f"Date: {formatdate(time.time(), usegmt=True)}\r\n"
        for connection in list(self._all):
            if connection.deadline <= now:
                connection.pass_deadline(now)
            connection.check_progress(now)
        limits = self.limits
        self._bound_bytes(attrgetter("unsent"), limits.max_unsent_bytes, "clients that do not read")
        self._bound_bytes(attrgetter("unanswered"), limits.max_unanswered_bytes, "large incomplete requests")
        self.refusals.write(now)
        self.access_log.write()

    async def drain(self, timeout_s: float) -> None:
        """Close the idle connections, and the others after their answers; abort what is left in the end."""
        self.draining = True
        self._empty = asyncio.Event()
        for connection in list(self._incomplete):
            connection.close_if_idle()
        if self._all:
            try:
                await asyncio.wait_for(self._empty.wait(), timeout_s)
            except TimeoutError:
                self.stop()

    def _bound_bytes(self, size: Callable[[Connection], int], limit: int, reason: str) -> None:
        """Abort the connections that hold the most bytes while all together hold too many."""
        excess = sum(map(size, self._all)) - limit
        if excess <= 0:
            return
        for connection in sorted(self._all, key=size, reverse=True):
            excess -= size(connection)
            self.refusals.add(reason)
            connection.abort()
            if excess <= 0:
                break

    def _reached(self, address: str) -> tuple[dict[Connection, float], str] | None:
        """The limit that a new connection from this address would exceed, if any: its incomplete connections
        and its name.
        """
        if self._of_address.get(address, 0) >= self.limits.max_connections_per_address:
            return self._incomplete_of.get(address, {}), "connections of one address"
        if len(self._all) >= self.limits.max_connections:
            return self._incomplete, "connections"
        return None
