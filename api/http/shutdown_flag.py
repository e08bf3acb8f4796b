"""Whether an API process continues to serve."""

from __future__ import annotations

from collections.abc import Callable


class ShutdownFlag:
    """Whether this process continues to serve, for requests that otherwise run until the client disconnects.

    The server that runs the process replaces `is_running`.
    """

    def __init__(self) -> None:
        self.is_running: Callable[[], bool] = lambda: True
