"""`Prefer: wait=N` (RFC 7240, 4.3): the client prefers to wait N seconds for the end instead of polling."""

from __future__ import annotations

import re
import threading
import time

from flask import request

from api.services import AppServices
from fleet.operation import Operation

MAX_WAIT_S = 600
_WAIT = re.compile(r"""(?:^|,)\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:[,;]|$)""", re.IGNORECASE)
POLL_INTERVAL_S = (0.02, 0.25)
"""The first interval between two reads of the operation, and the longest one that it grows to."""


def requested_wait_s() -> int:
    """The seconds that the request's `Prefer` header asks for, at most MAX_WAIT_S; 0 without such a header.

    A preference that is not understood is ignored (RFC 7240, 2).
    """
    found = _WAIT.search(",".join(request.headers.getlist("Prefer")))
    return min(int(found[1]), MAX_WAIT_S) if found else 0


def wait_for_operation(services: AppServices, operation: Operation, wait_s: int) -> Operation | None:
    """The operation at its end, or as it is after `wait_s`. None when no concurrency permit is free.

    Returns early when the client disconnects or the process shuts down. Raises `StorageUnavailable`.
    """
    permit = services.permits.try_acquire()
    if permit is None:
        return None
    with permit:
        disconnected = threading.Event()
        watch = services.disconnects.watch(request.environ.get("gunicorn.socket"), disconnected.set)
        try:
            deadline, pause_s = time.monotonic() + wait_s, POLL_INTERVAL_S[0]
            latest: Operation = operation
            while not latest.status.is_terminal and (left := deadline - time.monotonic()) > 0:
                if disconnected.wait(min(pause_s, left)) or not services.shutdown.is_running():
                    break
                latest = services.fleet.operation(operation.id) or latest
                pause_s = min(pause_s * 1.5, POLL_INTERVAL_S[1])
            return latest
        finally:
            services.disconnects.forget(watch)
