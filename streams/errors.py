"""What can go wrong while reading a response."""

from __future__ import annotations


class StreamLost(Exception):
    """Raised when a response's log is gone or ends without a terminal event."""
