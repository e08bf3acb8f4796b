"""Bounds what repeated log records take: the length of each, and how many of a kind are written in a time.

A kind is the line of code that logs. A client that repeats a faulty request would otherwise write a line for
each, with the text that it sent.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from telemetry.text import shortened

MAX_MESSAGE_CHARS = 2000
MAX_ARGUMENT_CHARS = 200
"""The longest text argument of a record: most come from a client or a library."""

RECORDS_OF_A_KIND = 20
WINDOW_S = 10.0
"""In each window the first RECORDS_OF_A_KIND warnings and errors of a kind are written, the others
counted."""


class RecordLimit(logging.Filter):
    """Cuts long texts; drops and counts repeated warnings and errors.

    The last record before the drop says so. The next one of the kind, in a later window, has the number.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._kinds: dict[tuple[str, int], tuple[float, int]] = {}
        """For each kind the begin of its window, and how many records have come in it."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is written; changes its text. A record is changed once, by the first handler."""
        note = ""
        if record.levelno >= logging.WARNING:
            kind, now = (record.pathname, record.lineno), self._clock()
            began, count = self._kinds.get(kind, (now, 0))
            if now - began >= WINDOW_S:
                if count > RECORDS_OF_A_KIND:
                    note = f" ({count - RECORDS_OF_A_KIND} more like this were not written)"
                began, count = now, 0
            self._kinds[kind] = (began, count + 1)
            if count >= RECORDS_OF_A_KIND:
                return False
            if count == RECORDS_OF_A_KIND - 1:
                note += f" (the next ones within {WINDOW_S:.0f} s are counted, not written)"
        _shorten(record, note)
        return True


def _shorten(record: logging.LogRecord, note: str) -> None:
    if isinstance(record.args, tuple):
        record.args = tuple(
            shortened(argument, MAX_ARGUMENT_CHARS)
            if isinstance(argument, str) and len(argument) > MAX_ARGUMENT_CHARS
            else argument
            for argument in record.args
        )
    try:
        message = record.getMessage()
    except Exception:  # the arguments do not fit: the handler reports it
        return
    if note or len(message) > MAX_MESSAGE_CHARS:
        record.msg, record.args = shortened(message, MAX_MESSAGE_CHARS) + note, None
