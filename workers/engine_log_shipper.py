"""Sends what the engines of a worker print to Redis, where operators can read it: also after a failed load.

It runs in a thread of its own, away from the jobs, and sends nothing while the engines print nothing. Redis
keeps little of it (`fleet/engine_log.py`). Of an engine that prints more than `LINES_PER_S` the latest lines
are sent, with the number of the bytes that were left out.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path

from fleet.engine_log import EngineLogs, LogOrigin
from store.errors import StokerError
from store.scripts import call_id
from workers.engine_log_reader import EngineLogReader, LogPart
from workers.log_redaction import Redaction

logger = logging.getLogger("workers")

INTERVAL_S = 0.5
LINES_PER_S = 100
"""Lines of one engine that are sent on average."""

MAX_LINES = 500
"""Lines of one engine that are sent at once, after it printed less for a while; and of its last output."""

MAX_ENDED = 50
"""Engines that have ended and whose last output waits for Redis."""


class _FollowedLog:
    """The log of one engine, and the part of it that was read and has not reached Redis yet."""

    def __init__(self, origin: LogOrigin, reader: EngineLogReader, now: float) -> None:
        self.origin = origin
        self.has_ended = False
        self._reader = reader
        self._allowance = float(MAX_LINES)
        self._counted_at = now
        self._unsent: tuple[str, LogPart] | None = None
        self._lock = threading.Lock()

    def send(self, logs: EngineLogs, now: float) -> None:
        """Send what is new. Raises `StokerError`; the same lines are sent again by the next call."""
        with self._lock:
            if self._unsent is None:
                part = self._read(now)
                if part.is_empty:
                    return
                self._unsent = (call_id(), part)
            call, part = self._unsent
            logs.append(call, self.origin, part.lines, part.omitted_bytes)
            self._unsent = None

    def send_all(self, logs: EngineLogs, now: float) -> None:
        """Send what is left of an engine that has ended. Raises `StokerError`."""
        if self._unsent is not None:
            self.send(logs, now)
        self.has_ended = True
        self.send(logs, now)

    def _read(self, now: float) -> LogPart:
        if self.has_ended:
            return self._reader.read(MAX_LINES, to_end=True)
        refill = (now - self._counted_at) * LINES_PER_S
        self._allowance, self._counted_at = min(MAX_LINES, self._allowance + refill), now
        part = self._reader.read(int(self._allowance))
        self._allowance -= len(part.lines)
        return part


class EngineLogShipper:
    """Follows the logs of a worker's engines. Any thread may use it but that of the event loop."""

    def __init__(self, worker: str, logs: EngineLogs, clock: Callable[[], float] = time.monotonic) -> None:
        self._worker = worker
        self._logs = logs
        self._clock = clock
        self._followed: dict[str, _FollowedLog] = {}  # by replica
        self._is_away = False

    def follow(self, replica: str, model: str, operation: str, path: Path, redaction: Redaction) -> None:
        """Send what the engine of this replica prints to the file `path` from now on."""
        origin = LogOrigin(model, replica, self._worker, operation)
        self._followed[replica] = _FollowedLog(origin, EngineLogReader(path, redaction), self._clock())

    def finish(self, replica: str) -> None:
        """Send the last output of an engine that has ended, before its folder may be removed.

        Without Redis it is sent later. Does nothing for a replica that is not followed.
        """
        log = self._followed.get(replica)
        if log is None:
            return
        log.has_ended = True
        self._send(replica, log)

    def finish_all(self) -> None:
        """Send the last output of all engines, at the end of the worker. Gives up without Redis."""
        self._is_away = False
        for replica in list(self._followed):
            if not self._is_away:
                self.finish(replica)

    def ship(self) -> None:
        """Send what is new of all logs."""
        for replica, log in list(self._followed.items()):
            self._send(replica, log)

    def run(self, ended: threading.Event) -> None:
        """Send what is new again and again, until `ended` is set."""
        while not ended.wait(INTERVAL_S):
            try:
                self.ship()
            except Exception:
                logger.exception("the engines' logs were not sent; trying again")

    def _send(self, replica: str, log: _FollowedLog) -> None:
        try:
            if log.has_ended:
                log.send_all(self._logs, self._clock())
                self._followed.pop(replica, None)
            else:
                log.send(self._logs, self._clock())
            self._is_away = False
        except StokerError as error:
            if not self._is_away:
                logger.warning("the engines' logs are waiting to be sent: %s", error.message)
            self._is_away = True
            self._forget_oldest()

    def _forget_oldest(self) -> None:
        ended = [replica for replica, log in list(self._followed.items()) if log.has_ended]
        for replica in ended[:-MAX_ENDED]:
            self._followed.pop(replica, None)
