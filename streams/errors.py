"""What can go wrong while reading a response."""

from __future__ import annotations


class StreamLost(Exception):  # noqa: N818 - a state of affairs, not a mistake
    """Raised when a response's log is gone or ends without a terminal event."""
