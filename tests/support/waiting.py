"""Waits for a condition, and scales the time limits of the tests.

The environment variable `STOKER_TEST_TIME_FACTOR` multiplies each limit: 3 suits a busy or slow machine.
A limit only ends a test that fails, so a larger factor slows down no test that passes.
"""

from __future__ import annotations

import os
import subprocess
import time
import urllib.request
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

TIME_FACTOR = float(os.environ.get("STOKER_TEST_TIME_FACTOR", "1"))


def scaled(limit: float) -> float:
    """A time limit times `STOKER_TEST_TIME_FACTOR`."""
    return limit * TIME_FACTOR


def wait_for(read: Callable[[], T], seconds: float = 10, details: Callable[[], object] = str) -> T:
    """Poll until the result is true, and return it.

    After `seconds` (scaled) it fails, with the `details` in the message.
    """
    deadline = time.monotonic() + scaled(seconds)
    while not (result := read()):
        assert time.monotonic() < deadline, (
            f"the condition was not true within {scaled(seconds):g} s {details()}"
        )
        time.sleep(0.01)
    return result


def wait_until(
    condition: Callable[[], object], seconds: float = 10, details: Callable[[], object] = str
) -> float:
    """Poll as `wait_for` does; returns the seconds that it took."""
    began = time.monotonic()
    wait_for(condition, seconds, details)
    return time.monotonic() - began


def wait_until_it_answers(
    url: str, process: subprocess.Popen[bytes], details: Callable[[], object] = str, seconds: float = 20
) -> None:
    """Wait until a GET of `url` succeeds. Fails at once when the server's process ends."""

    def answers() -> bool:
        try:
            with urllib.request.urlopen(url, timeout=scaled(2)):
                return True
        except OSError:
            assert process.poll() is None, f"the server has ended {details()}"
            return False

    wait_until(answers, seconds, details)
