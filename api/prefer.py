"""`Prefer: wait=N` (RFC 7240, 4.3): the client would rather wait N seconds for the end than poll."""

from __future__ import annotations

import re
import threading
import time

from flask import request

from api.services import AppServices
from fleet.operation import Operation

LONGEST_S = 600
_WAIT = re.compile(r"""(?:^|,)\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:[,;]|$)""", re.IGNORECASE)
POLL_S = (0.02, 0.25)
"""How long it looks away between two looks: the shortest, then ever longer up to the second."""


def wait_wanted() -> int:
    """The seconds that the request would wait, at most LONGEST_S; 0 when it would not, or says it oddly.

    A preference that is not understood is passed over (RFC 7240, 2).
    """
    found = _WAIT.search(",".join(request.headers.getlist("Prefer")))
    return min(int(found[1]), LONGEST_S) if found else 0


def await_end(here: AppServices, operation: Operation, wait_s: int) -> Operation | None:
    """The operation as it is at its end, or after so long. None when all threads that may wait do.

    Returns early when the client hangs up. Raises `StorageUnavailable`.
    """
    if not here.permits.take():
        return None
    gone = threading.Event()
    watch = here.disconnects.watch(request.environ.get("gunicorn.socket"), gone.set)
    try:
        deadline, pause = time.monotonic() + wait_s, POLL_S[0]
        latest: Operation = operation
        while not latest.status.is_terminal and (left := deadline - time.monotonic()) > 0:
            if gone.wait(min(pause, left)) or not here.life.goes_on():
                break
            latest = here.fleet.operation(operation.id) or latest
            pause = min(pause * 1.5, POLL_S[1])
        return latest
    finally:
        here.disconnects.forget(watch)
        here.permits.give_back()
