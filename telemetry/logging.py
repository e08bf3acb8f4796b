"""The log format of all processes: one line per record, on stderr.

`telemetry.record_limit` bounds their length and number.
Log messages contain ids, names, sizes and codes, never a prompt, an answer or a key.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Sequence
from types import TracebackType
from typing import TextIO

import orjson

from config.settings import Settings
from telemetry.record_limit import RecordLimit
from telemetry.request_ids import AddIds, ids_of
from telemetry.text import one_line

QUIET_LIBRARIES = ("aiohttp", "amqp", "kombu", "redis")
"""Libraries whose records below `warning` are dropped."""

MAX_TRACE_CHARS = 16_000


class TextFormatter(logging.Formatter):
    """`12:00:00.123 INFO    scheduler  message`, with the package: the first part of the logger's name.

    The ids of the request follow the message: `request_id=req_... tenant=acme`. A line break in a message is
    written as its escape: a text of a client that is in it cannot begin a line.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, followed by the traceback if there is one."""
        head = text_head(record.created, record.levelname, record.name.partition(".")[0])
        ids = "".join(f" {name}={value}" for name, value in ids_of(record).items())
        return "\n".join((f"{head} {one_line(record.getMessage())}{ids}", *_trace(self, record)))


class JsonFormatter(logging.Formatter):
    """One JSON object per line: time (Unix seconds), level, room, logger, message and, if any, ids and trace.

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
            **ids_of(record),
        }
        trace = _trace(self, record)
        return orjson.dumps(line | ({"trace": trace[0]} if trace else {})).decode()


def configure_logging(settings: Settings, stream: TextIO | None = None) -> None:
    """Write all records to stderr (or `stream`) in the configured format. A later call replaces it.

    Warnings of Python and exceptions that end the process or a thread are records, too.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.addFilter(AddIds())
    handler.addFilter(RecordLimit())
    handler.setFormatter(JsonFormatter() if settings.log_format == "json" else TextFormatter())
    logging.basicConfig(level=settings.log_level.upper(), handlers=[handler], force=True)
    for name in QUIET_LIBRARIES:
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.captureWarnings(True)
    sys.excepthook = _log_exception
    threading.excepthook = _log_exception_of_thread


def write_refusal(problems: Sequence[str], log_format: str, stream: TextIO | None = None) -> None:
    """Write why a process does not start, before its log is configured.

    In the format `json` each problem is a record, as all that the process writes; else it is a line.
    """
    output = stream or sys.stderr
    formatter = JsonFormatter()
    for problem in problems:
        record = logging.LogRecord("stoker", logging.CRITICAL, "", 0, problem, None, None)
        print(formatter.format(record) if log_format == "json" else problem, file=output, flush=True)


def text_head(at: float, level: str, package: str) -> str:
    """The beginning of a line in the text format; `at` is in Unix seconds."""
    clock = time.strftime("%H:%M:%S", time.localtime(at))
    return f"{clock}.{int(at * 1000) % 1000:03d} {level:<7} {package:<10}"


def _log_exception(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
    else:
        logging.getLogger("stoker").critical("the process ends", exc_info=(kind, error, trace))


def _log_exception_of_thread(arguments: threading.ExceptHookArgs) -> None:
    error = arguments.exc_value
    if error is not None and not isinstance(error, SystemExit):
        name = arguments.thread.name if arguments.thread is not None else "unknown"
        logging.getLogger("stoker").error("the thread %s has ended", name, exc_info=error)


def _trace(formatter: logging.Formatter, record: logging.LogRecord) -> list[str]:
    if not record.exc_info:
        return []
    trace = formatter.formatException(record.exc_info)
    if len(trace) > MAX_TRACE_CHARS:  # the end names the error, which may quote what a client sent
        half = MAX_TRACE_CHARS // 2
        trace = f"{trace[:half]}\n... ({len(trace)} characters)\n{trace[-half:]}"
    return [trace]
