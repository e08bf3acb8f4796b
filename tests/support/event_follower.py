"""A client that follows `GET /v1/admin/events`, and reconnects with `Last-Event-ID`."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.support.platform import Platform
from tests.support.waiting import scaled


@dataclass(frozen=True)
class Event:
    name: str
    data: dict[str, Any]
    id: str | None


class Follower(threading.Thread):
    """Reads the stream and stores its events, in order, until the stream ends or `close` is called."""

    def __init__(self, platform: Platform, after: str | None = None, query: str = "") -> None:
        super().__init__(daemon=True)
        self.events: list[Event] = []
        self.ended = threading.Event()
        address = platform.url.removeprefix("http://")
        self._connection = http.client.HTTPConnection(address, timeout=scaled(60))
        headers = {"Authorization": f"Bearer {platform.keys['admin_key']}"}
        if after is not None:
            headers["Last-Event-ID"] = after
        self._connection.request("GET", "/v1/admin/events" + query, headers=headers)
        self._socket = self._connection.sock
        self._response = self._connection.getresponse()
        assert self._response.status == 200, self._response.read()
        self.start()

    def run(self) -> None:
        fields: dict[str, str] = {}
        # a platform that shuts down may omit the last chunk
        with contextlib.suppress(OSError, http.client.HTTPException):
            for line in self._response:
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name in ("event", "data", "id"):
                    fields[name] = value
                elif not line.strip() and "data" in fields:
                    self.events.append(Event(fields["event"], json.loads(fields["data"]), fields.get("id")))
                    fields = {}
        self.ended.set()

    def states(self, model: str) -> list[Event]:
        """The state changes of a model."""
        return [event for event in self.events if event.name == "state" and event.data["model"] == model]

    def operations(self, id: str) -> list[dict[str, Any]]:
        """The events of an operation."""
        operations = [event.data["operation"] for event in self.events if event.name == "operation"]
        return [operation for operation in operations if operation["id"] == id]

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self.join(scaled(5))
        self._connection.close()


@contextlib.contextmanager
def following(platform: Platform, after: str | None = None) -> Iterator[Follower]:
    """A follower that has received the current state."""
    follower = Follower(platform, after)
    try:
        platform.wait_for(
            lambda: any(event.name == "gpu_memory" for event in follower.events), 10, "first events"
        )
        yield follower
    finally:
        follower.close()
