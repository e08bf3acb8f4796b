"""How every process of ours writes its log: one line an event, to stderr.

Rooms log ids, names, sizes and codes; never a prompt, an answer or a key.
"""

from __future__ import annotations

import logging
import sys
import time
from typing import TextIO

import orjson

from config.settings import Settings

QUIET = ("amqp", "kombu", "redis", "urllib3")
"""Libraries that are heard from `warning` on only."""


class Plain(logging.Formatter):
    """`12:00:00.123 INFO    scheduler  message`, the room being the first part of the logger's name."""

    def format(self, record: logging.LogRecord) -> str:
        """One line; a traceback follows when there is one."""
        clock = time.strftime("%H:%M:%S", time.localtime(record.created))
        head = f"{clock}.{int(record.msecs):03d} {record.levelname:<7} {record.name.partition('.')[0]:<10}"
        return "\n".join((f"{head} {record.getMessage()}", *_trace(self, record)))


class Json(logging.Formatter):
    """One JSON object a line: time (Unix seconds), level, room, logger, message and, with an error, trace."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line = {
            "time": round(record.created, 3),
            "level": record.levelname.lower(),
            "room": record.name.partition(".")[0],
            "logger": record.name,
            "message": record.getMessage(),
        }
        trace = _trace(self, record)
        return orjson.dumps(line | ({"trace": trace[0]} if trace else {})).decode()


def setup(settings: Settings, stream: TextIO | None = None) -> None:
    """Send everything to stderr (or `stream`) in the configured form; of several calls the last counts."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(Json() if settings.log_format == "json" else Plain())
    logging.basicConfig(level=settings.log_level.upper(), handlers=[handler], force=True)
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)


def _trace(formatter: logging.Formatter, record: logging.LogRecord) -> list[str]:
    return [formatter.formatException(record.exc_info)] if record.exc_info else []
