"""Notices that a client has hung up while its request waits, at once and without writing to it.

A thread that waits for a model reads nothing from its socket and, not streaming, writes nothing either. One
watcher per process asks the kernel instead: `epoll` with EPOLLRDHUP reports the client's FIN or RST
(epoll_ctl(2)). The watcher only calls back; whatever may block is for the thread that is woken. Where there
is no epoll or no socket (another server, a test client), nothing is watched and the next write finds out.

A client that closes its sending side only and still reads counts as gone; HTTP clients do not do that.
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
class Watch:
    """One socket under watch. `fd` is kept since a closed socket has none any more."""

    fd: int
    on_hangup: Callable[[], None]


class DisconnectWatcher:
    """All sockets that wait. Thread and epoll are made at the first watch, which is after any fork."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watches: dict[int, Watch] = {}
        self._epoll: select.epoll | None = None

    def watch(self, connection: socket | None, on_hangup: Callable[[], None]) -> Watch | None:
        """Call `on_hangup`, once and from the watcher's thread, when the peer is gone; None: cannot be
        watched.
        """
        if connection is None or not HAS_EPOLL or connection.fileno() < 0:
            return None
        watch = Watch(connection.fileno(), on_hangup)
        with self._lock:
            try:
                self._started().register(watch.fd, select.EPOLLRDHUP | select.EPOLLONESHOT)
            except OSError:
                return None
            self._watches[watch.fd] = watch
        return watch

    def forget(self, watch: Watch | None) -> None:
        """End a watch; `on_hangup` is not called any more once this returns."""
        if watch is None:
            return
        with self._lock:
            if self._watches.get(watch.fd) is not watch:
                return
            del self._watches[watch.fd]
            with suppress(OSError):  # it was closed, and the kernel has forgotten it by itself
                self._started().unregister(watch.fd)

    def watched(self) -> int:
        """How many sockets are under watch."""
        return len(self._watches)

    def _started(self) -> select.epoll:
        if self._epoll is None:
            self._epoll = select.epoll()
            threading.Thread(target=self._listen, args=(self._epoll,), name="hangups", daemon=True).start()
        return self._epoll

    def _listen(self, epoll: select.epoll) -> None:
        while True:
            for fd, _ in epoll.poll():
                try:
                    self._report(epoll, fd)
                except Exception:
                    logger.exception("a hang-up could not be reported")

    def _report(self, epoll: select.epoll, fd: int) -> None:
        # under the lock, so that neither the watch nor its socket can go away in between
        with self._lock:
            watch = self._watches.get(fd)
            if watch is None:
                return
            if not _is_gone(fd):
                # news of an earlier connection that had the same number
                epoll.modify(fd, select.EPOLLRDHUP | select.EPOLLONESHOT)
                return
            watch.on_hangup()


def _is_gone(fd: int) -> bool:
    poll = select.poll()
    poll.register(fd, select.POLLRDHUP)
    gone = select.POLLRDHUP | select.POLLHUP | select.POLLERR | select.POLLNVAL
    return any(flags & gone for _, flags in poll.poll(0))
