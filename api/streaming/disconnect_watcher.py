"""Detects at once, without writing, that a client has disconnected while its request waits.

A thread that waits for a model does not read from its socket and, unless it streams, does not write either.
One watcher per process asks the kernel instead: `epoll` with EPOLLRDHUP reports the client's FIN or RST
(epoll_ctl(2)). The watcher only calls back; work that may block belongs in the thread that the callback
wakes. Without epoll or a socket (another server, a test client) nothing is watched, and a disconnect is
found by the next write, which fails.

A client that closes its sending side only and still reads counts as disconnected; HTTP clients do not do
that.
"""

from __future__ import annotations

import logging
import select
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from socket import socket

logger = logging.getLogger("api")

HAS_EPOLL = hasattr(select, "epoll")


@dataclass(frozen=True, slots=True)
class DisconnectWatch:
    """A watched socket. `fd` is stored because a closed socket no longer has it."""

    fd: int
    on_disconnect: Callable[[], None]


class DisconnectWatcher:
    """Watches all waiting sockets. The first watch, which comes after any fork, starts thread and epoll."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watches: dict[int, DisconnectWatch] = {}
        self._epoll: select.epoll | None = None

    def watch(self, connection: socket | None, on_disconnect: Callable[[], None]) -> DisconnectWatch | None:
        """Call `on_disconnect`, once and in the watcher's thread, when the peer disconnects.

        Returns None when the connection cannot be watched.
        """
        if connection is None or not HAS_EPOLL or connection.fileno() < 0:
            return None
        watch = DisconnectWatch(connection.fileno(), on_disconnect)
        with self._lock:
            try:
                self._started_epoll().register(watch.fd, select.EPOLLRDHUP | select.EPOLLONESHOT)
            except OSError:
                return None
            self._watches[watch.fd] = watch
        return watch

    def forget(self, watch: DisconnectWatch | None) -> None:
        """End a watch; `on_disconnect` is not called after the return."""
        if watch is None:
            return
        with self._lock:
            if self._watches.get(watch.fd) is not watch:
                return
            del self._watches[watch.fd]
            with suppress(OSError):  # the socket is closed, which has removed it from the epoll
                self._started_epoll().unregister(watch.fd)

    def watched(self) -> int:
        """The number of watched sockets."""
        return len(self._watches)

    def _started_epoll(self) -> select.epoll:
        if self._epoll is None:
            self._epoll = select.epoll()
            threading.Thread(
                target=self._run, args=(self._epoll,), name="disconnect watcher", daemon=True
            ).start()
        return self._epoll

    def _run(self, epoll: select.epoll) -> None:
        while True:
            for fd, _ in epoll.poll():
                try:
                    self._report(epoll, fd)
                except Exception:
                    logger.exception("a client's disconnect could not be reported")

    def _report(self, epoll: select.epoll, fd: int) -> None:
        # under the lock, so that neither the watch nor its socket can go away in between
        with self._lock:
            watch = self._watches.get(fd)
            if watch is None:
                return
            if not _is_disconnected(fd):
                # a stale report about an earlier connection with the same number
                epoll.modify(fd, select.EPOLLRDHUP | select.EPOLLONESHOT)
                return
            watch.on_disconnect()


def _is_disconnected(fd: int) -> bool:
    poll = select.poll()
    poll.register(fd, select.POLLRDHUP)
    end_flags = select.POLLRDHUP | select.POLLHUP | select.POLLERR | select.POLLNVAL
    return any(flags & end_flags for _, flags in poll.poll(0))
