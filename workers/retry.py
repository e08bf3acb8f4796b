"""Reports that must arrive: repeated until Redis takes them, since what they say stays true meanwhile."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TypeVar

from scheduler.errors import StokerError

logger = logging.getLogger("workers")

T = TypeVar("T")
RETRY_S = 0.3


class Retry:
    """Repeats calls while Redis is away, until `end` is called."""

    def __init__(self) -> None:
        self._ended = threading.Event()

    def end(self) -> None:
        """From now on a call that fails is not repeated."""
        self._ended.set()

    def until_stopped(self, call: Callable[[], T]) -> T:
        """The call's result. Raises its `StokerError` only after `end`."""
        warned = False
        while True:
            try:
                return call()
            except StokerError as error:
                if self._ended.is_set():
                    raise
                if not warned:
                    logger.warning("%s", error.message)
                warned = True
                self._ended.wait(RETRY_S)
