"""Runs a module that asks a hub as a process of its own: the library is heavy, and a hub slow or hostile.

The process gets one JSON object on stdin and answers with one line of JSON: the result, or `code` and
`message` of a `HubFailed`. It is bounded in time here, and in memory by itself (`serve`).
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import orjson

from config.settings import ROOT
from fleet.hub_environment import hub_environment
from fleet.hub_listing import HubFailed, bound_memory

TIMEOUT_S = 30.0
MAX_AT_ONCE = 2
"""Questions of one process at a time; each costs a process and a thread that waits. Others are refused."""

MAX_ANSWER = 16 * 1024 * 1024
"""Bytes of an answer: the names of 2,000 files, escaped."""

_turns = threading.BoundedSemaphore(MAX_AT_ONCE)


@contextmanager
def hub_turn() -> Iterator[None]:
    """Count one question until the block ends. Raises `HubFailed` (hub_busy)."""
    if not _turns.acquire(blocking=False):  # to wait would hold threads, which other requests need
        raise HubFailed("hub_busy", "several models on the hub are being looked at: try again in a moment")
    try:
        yield
    finally:
        _turns.release()


def ask(module: str, asked: Mapping[str, Any]) -> Mapping[str, Any]:
    """The answer of a module. Raises `HubFailed`."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", module],
            cwd=ROOT,
            env=hub_environment(),
            input=orjson.dumps(asked),
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise HubFailed("hub_unreachable", f"the hub did not answer within {TIMEOUT_S:g} s") from None
    lines = done.stdout.splitlines() if len(done.stdout) <= MAX_ANSWER else []
    found: Mapping[str, Any] = orjson.loads(lines[-1]) if lines else {}
    if "code" in found:
        raise HubFailed(found["code"], found["message"])
    if done.returncode or not found:
        raise HubFailed("hub_unreachable", f"the hub could not be asked: exit code {done.returncode}")
    return found


def serve(answer: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> int:
    """Answer the question on stdin, in the process. Returns the exit status."""
    asked = orjson.loads(sys.stdin.buffer.read())
    bound_memory()
    try:
        found = answer(asked)
    except HubFailed as error:
        found = {"code": error.code, "message": str(error)}
    sys.stdout.buffer.write(orjson.dumps(found) + b"\n")
    return 1 if "code" in found else 0
