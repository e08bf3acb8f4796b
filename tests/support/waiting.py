"""Waits for a condition."""

from __future__ import annotations

import time
from collections.abc import Callable


def wait_until(
    condition: Callable[[], object], seconds: float = 10, details: Callable[[], object] = str
) -> float:
    """Poll the condition until it is true; returns the seconds that it took.

    After `seconds` it fails, with the `details` in the message.
    """
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < seconds, (
            f"the condition was not true within {seconds:g} s {details()}"
        )
        time.sleep(0.01)
    return time.monotonic() - began
