"""A server that answers nothing for a moment: its disk is slow, or it copies its memory."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.conftest import ValkeyServer
from tests.support.freezing import freeze


@contextmanager
def stalled(server: ValkeyServer, seconds: float) -> Iterator[None]:
    """Stop the server, which goes on after that time, and at the end of the block at the latest."""
    assert server.process is not None
    pid = server.process.pid
    freeze(pid)
    timer = threading.Timer(seconds, os.kill, (pid, signal.SIGCONT))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        os.kill(pid, signal.SIGCONT)
