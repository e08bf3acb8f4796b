"""A sink for the body of one request: it takes the body while it arrives, so that memory never has all of it.

The server asks `RequestGate.open_sink` for it when the head is complete. All methods are for the event loop's
thread, and none of them blocks.
"""

from __future__ import annotations

from typing import Protocol

from store.errors import StokerError

SINK = "stoker.sink"
"""The key of the environ with the sink that has taken the body."""


class BodyFlow(Protocol):
    """The connection that the body comes from."""

    def pause_body(self) -> None:
        """Read nothing more until `resume_body`."""
        ...

    def resume_body(self) -> None:
        """Read on; the first call allows a client that waits for `100 Continue` to send the body."""
        ...

    def refuse_body(self, error: StokerError) -> None:
        """Answer with an error before the body is complete, and close the connection."""
        ...


class BodySink(Protocol):
    """Takes the parts of a body, then `end` if it was complete; always `close` after that."""

    max_bytes: int
    """The largest body."""

    timeout_s: float
    """The time for the whole body (seconds)."""

    def write(self, data: bytes) -> None:
        """Take a part. The sink calls `BodyFlow.pause_body` if it has enough for now."""
        ...

    def end(self) -> None:
        """The body is complete."""
        ...

    def close(self) -> None:
        """The request was answered or dropped: remove what was not stored by then. May be called again."""
        ...
