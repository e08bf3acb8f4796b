"""The host's end of the two pipes to its worker; `backends.shared.pipe_engine` describes the frames."""

from __future__ import annotations

import os
import select
from collections.abc import Callable
from json import JSONEncoder, loads
from typing import Any

READ_BYTES = 1 << 18

encode = JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


class Pipe:
    """One reader and any number of writers, one at a time: a host writes from its loop alone."""

    def __init__(self, incoming: int, outgoing: int) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._buffer = bytearray()
        self._poll = select.poll()  # `select` knows no numbers beyond 1023, a busy worker does
        self._poll.register(incoming, select.POLLIN)
        for fd in (incoming, outgoing):
            os.set_inheritable(fd, False)  # a child that lives on must not hold the worker's end open

    def fileno(self) -> int:
        """What to wait for in a loop of one's own."""
        return self._incoming

    def wait(self, timeout_s: float | None) -> bool:
        """Wait for something to read; false when nothing came in time. None waits for ever."""
        return bool(self._poll.poll(None if timeout_s is None else timeout_s * 1000))

    def read(self) -> list[dict[str, Any]] | None:
        """Wait for data: the whole messages in it, or None when the worker hung up."""
        data = os.read(self._incoming, READ_BYTES)
        if not data:
            return None
        buffer = self._buffer
        buffer += data
        messages = []
        while len(buffer) >= 4 and len(buffer) >= 4 + (size := int.from_bytes(buffer[:4], "big")):
            messages.append(loads(buffer[4 : 4 + size]))
            del buffer[: 4 + size]
        return messages

    def hear(self, begin: Callable[..., object], cancel: Callable[..., object], *beside: object) -> bool:
        """Wait for data and pass on what is in it; false when the worker hung up.

        `begin` is called with a request's number and its body, `cancel` with a number; both get `beside` too.
        """
        messages = self.read()
        for message in messages or ():
            if "cancel" in message:
                cancel(message["cancel"], *beside)
            else:
                begin(message["generate"], message["generation"], *beside)
        return messages is not None

    def write(self, message: dict[str, Any]) -> None:
        """Send one frame; waits while the pipe is full."""
        body = encode(message).encode("utf-8", "replace")
        data = memoryview(len(body).to_bytes(4, "big") + body)
        while data:
            data = data[os.write(self._outgoing, data) :]

    def load(self, done: float, stage: str) -> None:
        """Say how much of the load is done (0 to 1)."""
        self.write({"load": [done, stage]})

    def failed(self, reason: str) -> None:
        """Say why the load failed, in one sentence."""
        self.write({"failed": reason})

    def ready(self, slots: int, context: int | None = None) -> None:
        """Say that requests may come: so many at once, each of at most `context` tokens with its answer."""
        self.write({"ready": {"slots": slots, "context": context}})
