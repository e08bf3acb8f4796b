"""Retries of reports that must not be lost. The reported facts stay true while Redis is unreachable."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TypeVar

from store.errors import StokerError

logger = logging.getLogger("workers")

T = TypeVar("T")
RETRY_S = 0.3


class Retry:
    """Repeats calls that fail with a `StokerError`, until `stop` is called. Any thread may use it."""

    def __init__(self) -> None:
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Stop the repetitions: from now on a failed call raises its error."""
        self._stopped.set()

    def retry_until_stopped(self, call: Callable[[], T]) -> T:
        """Repeat `call` every `RETRY_S` until it succeeds, and return its result.

        Raises the call's `StokerError` only after `stop`.
        """
        warned = False
        while True:
            try:
                return call()
            except StokerError as error:
                if self._stopped.is_set():
                    raise
                if not warned:
                    logger.warning("%s", error.message)
                warned = True
                self._stopped.wait(RETRY_S)
