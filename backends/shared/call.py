"""A call to a server, which anybody may end at any moment, whatever it is waiting for."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")

TICK_S = 0.05


class Call:
    """One call under way. Whoever waits in it when it is cancelled hears a `ConnectionAbortedError`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._socket: socket.socket | None = None
        self._awaited: Future[Any] = Future()

    @property
    def cancelled(self) -> bool:
        """Whether somebody ended it."""
        return self._ended.is_set()

    def attach(self, connection: socket.socket) -> None:
        """From now on a cancel cuts this connection. Raises `ConnectionAbortedError` when it came before."""
        with self._lock:
            self._socket = connection
            self._check()

    def detach(self) -> None:
        """From now on a cancel cuts nothing: the connection may serve another call."""
        with self._lock:
            self._socket = None
            self._check()

    def hurry(self, seconds: float) -> None:
        """From now on the connection may be silent for so long."""
        with self._lock:
            if self._socket is not None:
                self._socket.settimeout(seconds)

    def cancel(self) -> None:
        """Cut the connection: whoever reads from it is woken at once, and so is the server."""
        with self._lock:
            self._ended.set()
            if not self._awaited.done():
                self._awaited.set_exception(ConnectionAbortedError())
            if self._socket is not None:
                with suppress(OSError):
                    # TLS' own shutdown would take its layer from under whoever reads
                    socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def pause(self, seconds: float) -> None:
        """Wait for so long."""
        self._ended.wait(seconds)
        self._check()

    def beside(
        self,
        work: Callable[[], T],
        *,
        tick: Callable[[], object] | None = None,
        drop: Callable[[T], object] = lambda _: None,
    ) -> T:
        """What `work` returns or raises, done in a thread of its own: nothing wakes who looks up a name.

        What it returns when nobody waits any more is dropped. `tick` is called now and then, and may raise.
        """
        awaited: Future[T] = Future()

        def run() -> None:
            try:
                result = work()
            except BaseException as error:
                self._settle(awaited, error=error)
            else:
                if not self._settle(awaited, result):
                    drop(result)

        with self._lock:
            self._check()
            self._awaited = awaited
        threading.Thread(target=run, name="call", daemon=True).start()
        while True:
            try:
                return awaited.result(None if tick is None else TICK_S)
            except TimeoutError:
                if tick is None:
                    raise
                if awaited.done():  # it came while the wait ended; or it is its own error
                    return awaited.result()
                tick()

    def _settle(self, awaited: Future[T], result: Any = None, error: BaseException | None = None) -> bool:
        """Say what came out, unless nobody waits for it."""
        with self._lock:
            if awaited.done():
                return False
            if error is None:
                awaited.set_result(result)
            else:
                awaited.set_exception(error)
            return True

    def _check(self) -> None:
        if self._ended.is_set():
            raise ConnectionAbortedError
