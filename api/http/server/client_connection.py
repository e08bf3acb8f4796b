"""The client's connection, as a detached response sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

Headers = Mapping[str, str]
"""Header fields of an answer, by name."""

NO_HEADERS: Headers = {}


class ClientConnection(Protocol):
    """The client that waits for one answer. For the event loop's thread only.

    An answer is either one call of `respond`, or `begin`, any number of `write` and one `end`. No call blocks
    or fails: once the client is gone, they do nothing. `respond` after `begin` cuts the connection.
    """

    headers: Headers
    """Added to every answer: what Flask's hooks set (the request's id), and what is left of limits."""

    takes_trailers: bool
    """Whether a streamed answer may have trailers: the client sent `TE: trailers` (RFC 9110, 6.5.1)."""

    @property
    def writable(self) -> bool:
        """Whether the client keeps up: False while more than 64 KiB wait to be sent to it."""
        ...

    def on_disconnect(self, callback: Callable[[], None]) -> None:
        """Call back once when the client closes the connection before its answer is complete.

        If it is gone already, the callback is called before this returns.
        """
        ...

    def on_writable(self, callback: Callable[[], None]) -> None:
        """Call back each time the connection becomes writable again."""
        ...

    def respond(self, status: int, headers: Headers, body: bytes) -> None:
        """Send a whole answer."""
        ...

    def write_space(self) -> None:
        """Begin a whole answer of JSON with white space, or continue that: `respond` sends the rest.

        Its status is 200 then, whatever `respond` names.
        """
        ...

    def begin(self, status: int, headers: Headers) -> None:
        """Begin a streamed answer."""
        ...

    def write(self, data: bytes) -> None:
        """Send a part of a streamed answer; what the client does not read yet is kept in memory."""
        ...

    def end(self, trailers: Headers = NO_HEADERS) -> None:
        """End a streamed answer. What was written is still sent, then the trailers if it takes any."""
        ...

    def abort(self) -> None:
        """Close the connection at once; what was not sent is lost."""
        ...
