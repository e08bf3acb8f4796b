"""Flower, the task monitor, set up for many short tasks: `python -m stoker.flower --address=... --port=...`.

A request is three events here. With uvloop a batch of events wakes Flower's main thread once, not once for
each, and with rarer garbage collections less time goes into looking at tasks that stay.
"""

from __future__ import annotations

import asyncio
import logging
import sys

import uvloop
from celery.__main__ import main as celery

from config.load import load_settings
from telemetry.gc_tuning import tune_gc
from telemetry.logging import configure_logging

MAX_TASKS = 10_000
"""The tasks that Flower remembers. With its default of 100,000 each event moves a list of 400,000 places,
which costs more than all the rest, and the process grows to half a gibibyte."""


def set_up_logging() -> None:
    """Log as all other processes do; `--logging=none` keeps Tornado from adding its own handler."""
    configure_logging(load_settings())
    logging.getLogger("flower.command").addFilter(_is_short)


def _is_short(record: logging.LogRecord) -> bool:
    """Whether a record of Flower's start is one line: it lists all Celery tasks."""
    return "\n" not in record.getMessage()


def main() -> None:
    """Run Flower in this process with further arguments from the command line. Does not return."""
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    tune_gc()
    set_up_logging()
    options = ("--logging=none", f"--max-tasks={MAX_TASKS}")
    sys.argv = ["celery", "-A", "tasks.app", "flower", *options, *sys.argv[1:]]
    celery()


if __name__ == "__main__":
    main()
