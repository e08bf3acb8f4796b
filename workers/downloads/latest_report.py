"""Reports of the progress of a download, of which some are left out."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class LatestReport:
    """Sends reports at most every `interval_s`: those between are left out, but never the latest one.

    Otherwise a connection that stalls would show what it had some reports before.
    """

    def __init__(self, send: Callable[[float, str, float | None], None], interval_s: float) -> None:
        self._send = send
        self._interval_s = interval_s
        self._lock = threading.Lock()
        self._sent_at = float("-inf")
        self._timer: threading.Timer | None = None
        self._latest: tuple[float, str, float | None] = (0.0, "", None)

    def take(self, done: float, stage: str, left_s: float | None) -> None:
        """Send the report now, or when the interval is over."""
        with self._lock:
            self._latest = (done, stage, left_s)
            if self._timer is not None:
                return
            wait_s = self._sent_at + self._interval_s - time.monotonic()
            if wait_s <= 0:
                self._send_latest()
                return
            self._timer = threading.Timer(wait_s, self._on_timer)
            self._timer.daemon = True
            self._timer.start()

    def __enter__(self) -> LatestReport:
        """Send reports until the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Send nothing more."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            self._send = lambda *_: None

    def _on_timer(self) -> None:
        with self._lock:
            self._timer = None
            self._send_latest()

    def _send_latest(self) -> None:
        self._sent_at = time.monotonic()
        self._send(*self._latest)
