"""The log format of all processes: one line per record, on stderr.

`telemetry.record_limit` bounds their length and number.
Log messages contain ids, names, sizes and codes, never a prompt, an answer or a key.
"""

from __future__ import annotations

import logging
import sys
import time
from typing import TextIO

import orjson

from config.settings import Settings
from telemetry.record_limit import RecordLimit

QUIET_LIBRARIES = ("aiohttp", "amqp", "kombu", "redis")
"""Libraries whose records below `warning` are dropped."""

MAX_TRACE_CHARS = 16_000


class TextFormatter(logging.Formatter):
    """`12:00:00.123 INFO    scheduler  message`, with the package: the first part of the logger's name."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, followed by the traceback if there is one."""
        clock = time.strftime("%H:%M:%S", time.localtime(record.created))
        head = f"{clock}.{int(record.msecs):03d} {record.levelname:<7} {record.name.partition('.')[0]:<10}"
        return "\n".join((f"{head} {record.getMessage()}", *_trace(self, record)))


class JsonFormatter(logging.Formatter):
    """One JSON object per line: time (Unix seconds), level, room, logger, message and, if any, trace.

    `room` is the package: the first part of the logger's name.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line = {
            "time": round(record.created, 3),
            "level": record.levelname.lower(),
            "room": record.name.partition(".")[0],
            "logger": record.name,
            "message": record.getMessage(),
        }
        trace = _trace(self, record)
        return orjson.dumps(line | ({"trace": trace[0]} if trace else {})).decode()


def configure_logging(settings: Settings, stream: TextIO | None = None) -> None:
    """Write all records to stderr (or `stream`) in the configured format. A later call replaces it."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.addFilter(RecordLimit())
    handler.setFormatter(JsonFormatter() if settings.log_format == "json" else TextFormatter())
    logging.basicConfig(level=settings.log_level.upper(), handlers=[handler], force=True)
    for name in QUIET_LIBRARIES:
        logging.getLogger(name).setLevel(logging.WARNING)


def _trace(formatter: logging.Formatter, record: logging.LogRecord) -> list[str]:
    if not record.exc_info:
        return []
    trace = formatter.formatException(record.exc_info)
    if len(trace) > MAX_TRACE_CHARS:  # the end names the error, which may quote what a client sent
        half = MAX_TRACE_CHARS // 2
        trace = f"{trace[:half]}\n... ({len(trace)} characters)\n{trace[-half:]}"
    return [trace]
