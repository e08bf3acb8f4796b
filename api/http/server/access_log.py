"""The access log: one line for each request, when its answer has ended."""

from __future__ import annotations

import logging
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, Protocol, TextIO

import orjson

from telemetry.logging import text_head
from telemetry.request_ids import ID_FIELDS, RequestIds
from telemetry.text import printable, shortened, without_keys

if TYPE_CHECKING:
    from api.http.server.request import HttpRequest

logger = logging.getLogger("api.access")

MAX_PATH_CHARS = 200
UNKNOWN = "-"
"""The method and the path of a request that was refused before its head was complete."""
MAX_LINES = 200
"""Lines that are kept until the next `write`."""

ANONYMOUS_LINES = 200
TENANT_LINES = 1000
WINDOW_S = 10.0
"""In each window the first TENANT_LINES requests of a tenant and the first ANONYMOUS_LINES without one have
a line, the others are counted: no client can rotate the operator's warnings away."""


class EndedAnswer(Protocol):
    """The facts of an answer that its line has. `gone`: the client disconnected before the end."""

    ids: RequestIds
    status: int
    sent: int
    began_at: float
    gone: bool


class AccessLog:
    """Collects the lines and writes them together, to stderr unless `stream` is given.

    A line has the method, the path without its query (which may hold what is secret) and without what looks
    like a key, status, bytes sent, milliseconds, the client's address, and the ids of the request. Nothing
    else of a request or an answer is in it. `as_json` selects the form, as for all other lines
    (`telemetry.logging`).
    """

    def __init__(self, *, as_json: bool, stream: TextIO | None = None) -> None:
        self._as_json = as_json
        self._stream = stream
        self._lines: list[str] = []
        self._window_end = 0.0
        self._requests: Counter[str | None] = Counter()  # in the window, by tenant

    def add(self, request: HttpRequest, answer: EndedAnswer, address: str) -> None:
        """Add the line of an answer that has ended, or lost its client; also of a refused request."""
        if not logger.isEnabledFor(logging.INFO):
            return
        now = time.monotonic()
        if now >= self._window_end:
            self._begin_window(now)
        tenant = answer.ids.tenant
        self._requests[tenant] += 1
        if self._requests[tenant] > _lines_of(tenant):
            return
        path = shortened(without_keys(request.path.decode("latin-1")), MAX_PATH_CHARS)
        line = {
            "method": request.method or UNKNOWN,
            "path": printable(path) or UNKNOWN,
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
        for tenant, requests in self._requests.items():
            if (dropped := requests - _lines_of(tenant)) > 0:
                whose = "without a tenant" if tenant is None else f"of the tenant {tenant}"
                logger.info("%d more requests %s were not logged", dropped, whose)
        self._requests.clear()
        self._window_end = now + WINDOW_S

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


def _lines_of(tenant: str | None) -> int:
    return ANONYMOUS_LINES if tenant is None else TENANT_LINES


def _text_line(line: dict[str, object]) -> str:
    rest = dict(line)
    words = [str(rest.pop(name)) for name in ("method", "path", "status")]
    words += [f"{name}={value}" for name, value in rest.items()]
    return f"{text_head(time.time(), 'INFO', 'api')} {' '.join(words)}\n"
