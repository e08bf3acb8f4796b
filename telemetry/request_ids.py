"""The ids of the request that is being served: in each log record that is written meanwhile."""

from __future__ import annotations

import logging
import random
import re
from contextvars import ContextVar
from typing import Any

ID_FIELDS = ("request_id", "tenant", "model", "response_id")
"""The ids that a record may have. Code outside a request sets them with `extra`."""


_RESPONSE_ID = re.compile(r"[a-z]{1,16}[_-][0-9a-f]{32}")
"""The form of the ids of all dialects (`Dialect.ID_PREFIX`)."""


class RequestIds:
    """The ids of one request: its own, and those that become known while it is served.

    `client` is what the history of requests keeps of its headers, of a request for a model (JSON; empty for
    others). `route` is the pattern of its path; `span` and `traceparent` are those of `telemetry.tracing`, if
    that is on.
    """

    __slots__ = (*ID_FIELDS, "client", "route", "span", "traceparent")

    def __init__(self) -> None:
        # not secret; `secrets` would make a system call
        self.request_id = f"req_{random.getrandbits(128):032x}"
        self.tenant: str | None = None
        self.model: str | None = None
        self.response_id: str | None = None
        self.client = b""
        self.route: str | None = None
        self.span: Any = None
        self.traceparent: str | None = None

    def ask_for_response(self, id: str) -> None:
        """Set the id of the response that a client asks for, unless it cannot be one: it goes into logs."""
        if _RESPONSE_ID.fullmatch(id):
            self.response_id = id


current_ids: ContextVar[RequestIds | None] = ContextVar("current_ids", default=None)
"""Those of the request that the current thread or task serves."""


class AddIds(logging.Filter):
    """Adds the ids of the current request to each record."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Set what is known and not set; every record passes."""
        ids = current_ids.get()
        if ids is not None:
            for name in ID_FIELDS:
                value = getattr(ids, name)
                if value is not None and not hasattr(record, name):
                    setattr(record, name, value)
        return True


def ids_of(record: logging.LogRecord) -> dict[str, str]:
    """The ids that the record has."""
    return {name: str(value) for name in ID_FIELDS if (value := getattr(record, name, None)) is not None}
