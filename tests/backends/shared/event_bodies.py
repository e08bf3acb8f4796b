"""Bodies of event streams, as servers send them."""

from __future__ import annotations


def body_of(*events: bytes) -> bytes:
    """The body with these events' data, each on a line of its own."""
    return b"".join(b"data: %b\n\n" % data for data in events)
