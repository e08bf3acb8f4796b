"""A TCP relay in front of the API, whose connections a test can cut: a browser's offline mode keeps them."""

from __future__ import annotations

import contextlib
import socket
import threading
from types import TracebackType


class CuttableProxy:
    """Relays connections to a port of this machine, until `cut`; after `restore` it relays again."""

    def __init__(self, target_port: int) -> None:
        self._target = target_port
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._begin()

    def cut(self) -> None:
        """End all connections; new ones are refused."""
        with self._lock:
            for one in (self._listener, *self._sockets):
                _close(one)
            self._sockets.clear()

    def restore(self) -> None:
        """Accept connections again, on the same port."""
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self._begin()

    def __enter__(self) -> CuttableProxy:
        """Relay until the end of the block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Cut for good."""
        self.cut()

    def _begin(self) -> None:
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                try:
                    server = socket.create_connection(("127.0.0.1", self._target))
                except OSError:  # the API is being started again
                    client.close()
                    continue
                with self._lock:
                    if listener.fileno() < 0:  # cut meanwhile
                        _close(client)
                        _close(server)
                        return
                    self._sockets += [client, server]
                for source, sink in ((client, server), (server, client)):
                    threading.Thread(target=_copy, args=(source, sink), daemon=True).start()


def _copy(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    _close(sink)


def _close(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)  # wakes the threads that wait for it
    one.close()
