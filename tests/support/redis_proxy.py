"""A proxy between a process and Redis, which lets a test act when a command passes."""

from __future__ import annotations

import hashlib
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from store.script_text import source


class RedisProxy:
    """Passes bytes on, both ways, until the script of a Lua file is called.

    Then `before` is called instead of passing the command on, or `after` instead of passing its reply on,
    once, and the connections are closed. The script has to be loaded in Redis.
    """

    def __init__(self, port: int, script: Path) -> None:
        self._upstream = ("127.0.0.1", port)
        self._called = hashlib.sha1(source(script).encode()).hexdigest().encode()  # noqa: S324 - EVALSHA's name
        self.before: Callable[[], None] | None = None
        self.after: Callable[[], None] | None = None
        self.passed = threading.Event()
        """Set when the action has ended."""
        self._open: list[socket.socket] = []
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def close(self) -> None:
        self._listener.close()
        self._close_all()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                try:
                    server = socket.create_connection(self._upstream)
                except OSError:  # Redis is down
                    client.close()
                    continue
                self._open += [client, server]
                waits = threading.Event()
                for receive, send, act in (
                    (client, server, lambda data, waits=waits: self._on_command(data, waits)),
                    (server, client, lambda _, waits=waits: self._on_reply(waits)),
                ):
                    threading.Thread(target=self._pass_on, args=(receive, send, act), daemon=True).start()

    def _pass_on(
        self, receive: socket.socket, send: socket.socket, act: Callable[[bytes], Callable[[], None] | None]
    ) -> None:
        with suppress(OSError):
            while data := receive.recv(65536):
                action = act(data)
                if action is not None:
                    action()
                    self._close_all()
                    self.passed.set()
                    break
                send.sendall(data)
        for each in (receive, send):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _on_command(self, data: bytes, waits: threading.Event) -> Callable[[], None] | None:
        with self._lock:
            if self._called not in data:
                return None
            if self.after is not None:
                waits.set()
            action, self.before = self.before, None
            return action

    def _on_reply(self, waits: threading.Event) -> Callable[[], None] | None:
        with self._lock:
            if not waits.is_set():
                return None
            action, self.after = self.after, None
            return action

    def _close_all(self) -> None:
        for each in self._open:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        self._open.clear()
