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

from telemetry.gc_tuning import tune_gc
from telemetry.record_limit import RecordLimit

MAX_TASKS = 10_000
"""The tasks that Flower remembers. With its default of 100,000 each event moves a list of 400,000 places,
which costs more than all the rest, and the process grows to half a gibibyte."""


WEB_LOGGERS = ("tornado.access", "tornado.application", "tornado.general")


def limit_logs() -> None:
    """Bound what requests write into the log: Tornado logs each refused one with what its client sent."""
    for name in WEB_LOGGERS:
        logging.getLogger(name).addFilter(RecordLimit())


def main() -> None:
    """Run Flower in this process with further arguments from the command line. Does not return."""
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    tune_gc()
    limit_logs()
    sys.argv = ["celery", "-A", "tasks.app", "flower", f"--max-tasks={MAX_TASKS}", *sys.argv[1:]]
    celery()


if __name__ == "__main__":
    main()
