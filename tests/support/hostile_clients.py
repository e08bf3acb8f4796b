"""Many connections of hostile clients, driven by one thread with `select.epoll`.

They come from the addresses 127.0.0.2 and following, so that the API can tell them from the well-behaved
clients at 127.0.0.1. A client is described by what it sends (`Behaviour`).
"""

from __future__ import annotations

import contextlib
import fcntl
import select
import socket
import struct
import termios
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tests.support.raw_http import RESET, Address

FIRST_HOST = 2
KEPT_BYTES = 1 << 16
"""How much of an answer a client stores; the rest is read and dropped."""


@dataclass(frozen=True)
class Behaviour:
    """What one hostile client does.

    It sends `opening`, then a byte of `drip` every second, repeated for ever. With `reads` false it never
    reads, and its receive buffer is small.
    """

    opening: bytes
    drip: bytes = b""
    reads: bool = True


@dataclass
class HostileClient:
    """One connection. `ended_at` is when the server ended it, by `time.monotonic`; None while it is open."""

    socket: socket.socket
    behaviour: Behaviour
    unsent: bytes
    opened_at: float
    dripped: int = 0
    received: bytearray = field(default_factory=bytearray)
    received_bytes: int = 0
    ended_at: float | None = None


class Crowd:
    """The connections of hostile clients. Nothing happens outside `run`.

    `hosts` is the number of addresses that they come from, the first of which is 127.0.0.<first_host>.
    """

    def __init__(self, address: Address, *, hosts: int = 8, first_host: int = FIRST_HOST) -> None:
        self.clients: list[HostileClient] = []
        self.refused = 0
        self._address = address
        self.hosts = [f"127.0.0.{first_host + number}" for number in range(hosts)]
        self._epoll = select.epoll()
        self._by_number: dict[int, HostileClient] = {}

    # ---- connections

    def join(self, count: int, behaviour: Behaviour | Callable[[int], Behaviour]) -> None:
        """Open connections; `behaviour` may be a function of the client's number."""
        for number in range(count):
            self._open(behaviour(number) if callable(behaviour) else behaviour)

    def _open(self, behaviour: Behaviour) -> None:
        client = socket.socket()
        client.setblocking(False)
        if not behaviour.reads:
            # the kernel also sizes the server's send buffer by this window
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.bind((self.hosts[len(self.clients) % len(self.hosts)], 0))
        with contextlib.suppress(BlockingIOError):
            client.connect(self._address)
        hostile = HostileClient(client, behaviour, behaviour.opening, time.monotonic())
        self.clients.append(hostile)
        self._by_number[client.fileno()] = hostile
        self._epoll.register(client, _events(hostile))

    def leave(self, *, abruptly: bool = False) -> None:
        """Close all connections, `abruptly` with a reset."""
        for client in self.clients:
            if abruptly and client.socket.fileno() >= 0:
                client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            client.socket.close()
        self.clients.clear()
        self._by_number.clear()

    @property
    def ended(self) -> int:
        """How many connections the server has ended."""
        return sum(client.ended_at is not None for client in self.clients)

    @property
    def answered(self) -> int:
        """How many connections have received bytes, read or not."""
        return sum(client.received_bytes > 0 or _unread(client.socket) > 0 for client in self.clients)

    def lifetimes(self) -> list[float]:
        """How long each of these connections was open, in seconds."""
        return [client.ended_at - client.opened_at for client in self.clients if client.ended_at is not None]

    # ---- driving them

    def run(self, seconds: float, until: Callable[[], bool] | None = None) -> bool:
        """Drive the clients for this time; True as soon as `until` holds, which is asked every 50 ms."""
        deadline = time.monotonic() + seconds
        while True:
            if until is not None and until():
                return True
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            self._step(min(0.05, left))

    def _step(self, timeout_s: float) -> None:
        stop = time.monotonic() + timeout_s
        while True:
            for number, events in self._epoll.poll(max(0.0, stop - time.monotonic())):
                self._on_events(self._by_number[number], events)
            if time.monotonic() >= stop:
                break
        self._drip()

    def _on_events(self, client: HostileClient, events: int) -> None:
        try:
            if events & select.EPOLLOUT:
                sent = client.socket.send(client.unsent) if client.unsent else 0
                client.unsent = client.unsent[sent:]
                self._epoll.modify(client.socket, _events(client))
            ended = not events & select.EPOLLIN and events & (select.EPOLLHUP | select.EPOLLERR)
            if ended or events & select.EPOLLRDHUP or (events & select.EPOLLIN and not self._read(client)):
                self._end(client)
        except BlockingIOError:
            pass
        except OSError:
            self._end(client)

    def _read(self, client: HostileClient) -> bool:
        data = client.socket.recv(1 << 18)
        client.received_bytes += len(data)
        client.received += data[: max(0, KEPT_BYTES - len(client.received))]
        return bool(data)

    def _end(self, client: HostileClient) -> None:
        if client.ended_at is None:
            client.ended_at = time.monotonic()
            self._epoll.unregister(client.socket)

    def _drip(self) -> None:
        now = time.monotonic()
        for client in self.clients:
            drip = client.behaviour.drip
            if not drip or client.ended_at is not None or now < client.opened_at + 1 + client.dripped:
                continue
            try:
                client.socket.send(drip[client.dripped % len(drip) :][:1])
            except BlockingIOError:
                continue
            except OSError:
                self._end(client)
            client.dripped += 1


def _unread(client: socket.socket) -> int:
    """The bytes that the kernel holds for a client."""
    if client.fileno() < 0:
        return 0
    return struct.unpack("i", fcntl.ioctl(client, termios.FIONREAD, b"\0" * 4))[0]


def _events(client: HostileClient) -> int:
    receiving = select.EPOLLIN if client.behaviour.reads else select.EPOLLRDHUP
    return receiving | (select.EPOLLOUT if client.unsent else 0)


@contextlib.contextmanager
def crowd(address: Address, *, hosts: int = 8, first_host: int = FIRST_HOST) -> Iterator[Crowd]:
    """A crowd without clients, whose connections are closed at the end."""
    made = Crowd(address, hosts=hosts, first_host=first_host)
    try:
        yield made
    finally:
        made.leave()
