"""A client's connection that records the answer; the test decides when it is writable and when it is gone."""

from __future__ import annotations

from collections.abc import Callable

from api.http.server.client_connection import NO_HEADERS, Headers


class RecordedClient:
    """Fulfils `ClientConnection`."""

    def __init__(self) -> None:
        self.headers: Headers = {}
        self.writable = True
        self.pauses_after_write = False
        self.takes_trailers = False
        self.trailers: Headers = {}
        self.status: int | None = None
        self.answer_headers: Headers = {}
        self.written: list[bytes] = []
        self.is_ended = self.is_aborted = self.is_gone = False
        self._on_disconnect: list[Callable[[], None]] = []
        self._on_writable: list[Callable[[], None]] = []

    @property
    def body(self) -> bytes:
        return b"".join(self.written)

    def on_disconnect(self, callback: Callable[[], None]) -> None:
        if self.is_gone:
            callback()
        else:
            self._on_disconnect.append(callback)

    def on_writable(self, callback: Callable[[], None]) -> None:
        self._on_writable.append(callback)

    def respond(self, status: int, headers: Headers, body: bytes) -> None:
        self.begin(status, headers)
        self.write(body)
        self.end()

    def write_space(self) -> None:
        if self.status is None:
            self.begin(200, {})
        self.write(b" ")

    def begin(self, status: int, headers: Headers) -> None:
        assert self.status is None, "a second answer"
        self.status, self.answer_headers = status, headers

    def write(self, data: bytes) -> None:
        assert self.status is not None
        assert not self.is_ended
        assert data, "an empty chunk would end the body"
        if not self.is_gone:
            self.written.append(data)
        if self.pauses_after_write:
            self.writable = False

    def end(self, trailers: Headers = NO_HEADERS) -> None:
        self.is_ended, self.trailers = True, trailers

    def abort(self) -> None:
        self.is_aborted = True

    # ---- called by the test

    def disconnect(self) -> None:
        self.is_gone = True
        for callback in self._on_disconnect:
            callback()

    def become_writable(self) -> None:
        self.writable = True
        for callback in self._on_writable:
            callback()
