"""A further API process of a running platform, on a port of its own."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterator

import psutil

from tests.conftest import free_port
from tests.support.platform import ROOT, Platform
from tests.support.raw_http import Address
from tests.support.waiting import wait_until_it_answers

START_S = 30


@contextlib.contextmanager
def other_api(platform: Platform) -> Iterator[tuple[Address, Callable[[], None]]]:
    """Start the API; yields its address and a function that kills its processes, also called at the end."""
    port, log = free_port(), platform.folder / "other-api.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "stoker", "api", "--port", str(port)],
            cwd=ROOT,
            env={**platform.environment, "REDIS_URL": platform.redis_url()},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_until_it_answers(f"http://127.0.0.1:{port}/health", process, log.read_text, START_S)
        yield ("127.0.0.1", port), lambda: _kill(process)
    finally:
        _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        # the one that listens has a child for each process that serves
        for each in [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]:
            each.kill()
    process.wait()
