"""The access log: one line for each request, when its answer has ended."""

from __future__ import annotations

import logging
import sys
import time
from typing import TYPE_CHECKING, TextIO

import orjson

from telemetry.logging import text_head
from telemetry.request_ids import ID_FIELDS
from telemetry.text import printable, shortened

if TYPE_CHECKING:
    from api.server.http_answer import HttpAnswer
    from api.server.request import HttpRequest

logger = logging.getLogger("api.access")

MAX_PATH_CHARS = 200
MAX_LINES = 200
"""Lines that are kept until the next `write`."""

ANONYMOUS_LINES = 200
WINDOW_S = 10.0
"""In each window the first ANONYMOUS_LINES requests without a tenant have a line, the others are counted:
clients without a key cannot fill the log."""


class AccessLog:
    """Collects the lines and writes them together, to stderr unless `stream` is given.

    A line has the method, the path without its query (which may hold what is secret), status, bytes sent,
    milliseconds, the client's address, and the ids of the request. Nothing else of a request or an answer is
    in it. `as_json` selects the form, as for all other lines (`telemetry.logging`).
    """

    def __init__(self, *, as_json: bool, stream: TextIO | None = None) -> None:
        self._as_json = as_json
        self._stream = stream
        self._lines: list[str] = []
        self._window_end = 0.0
        self._anonymous = 0  # requests without a tenant in the window

    def add(self, request: HttpRequest, answer: HttpAnswer, address: str) -> None:
        """Add the line of an answer that has ended, or lost its client."""
        if not logger.isEnabledFor(logging.INFO):
            return
        now = time.monotonic()
        if now >= self._window_end:
            self._begin_window(now)
        if answer.ids.tenant is None:
            self._anonymous += 1
            if self._anonymous > ANONYMOUS_LINES:
                return
        path = shortened(request.path.decode("latin-1"), MAX_PATH_CHARS)
        line = {
            "method": request.method,
            "path": path if path.isprintable() else printable(path),
            "status": answer.status,
            "bytes": answer.sent,
            "ms": round((now - answer.began_at) * 1000, 1),
            "address": address,
        }
        if answer.gone:
            line["disconnected"] = True
        ids = answer.ids
        line |= {name: value for name in ID_FIELDS if (value := getattr(ids, name)) is not None}
        self._lines.append(self._json_line(line) if self._as_json else _text_line(line))
        if len(self._lines) >= MAX_LINES:
            self.write()

    def _begin_window(self, now: float) -> None:
        if self._anonymous > ANONYMOUS_LINES:
            dropped = self._anonymous - ANONYMOUS_LINES
            logger.info("%d more requests without a tenant have no line", dropped)
        self._window_end, self._anonymous = now + WINDOW_S, 0

    def write(self) -> None:
        """Write the lines so far."""
        if self._lines:
            lines, self._lines = self._lines, []
            stream = self._stream or sys.stderr
            stream.write("".join(lines))
            stream.flush()

    @staticmethod
    def _json_line(line: dict[str, object]) -> str:
        head = {"time": round(time.time(), 3), "level": "info", "room": "api", "logger": logger.name}
        message = f"{line['method']} {line['path']} {line['status']}"
        return f"{orjson.dumps(head | {'message': message} | line).decode()}\n"


def _text_line(line: dict[str, object]) -> str:
    rest = dict(line)
    words = [str(rest.pop(name)) for name in ("method", "path", "status")]
    words += [f"{name}={value}" for name, value in rest.items()]
    return f"{text_head(time.time(), 'INFO', 'api')} {' '.join(words)}\n"
