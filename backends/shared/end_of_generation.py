"""Passes the outcome of a generation to its sink; an error of the sink stays with its own generation."""

from __future__ import annotations

import logging

from backends.base import Finish, GenerationError, Sink
from engines.engine_process.errors import EngineError

log = logging.getLogger(__name__)


def finish(id: str, sink: Sink, outcome: Finish) -> None:
    """Call `sink.finish`; what it raises is logged."""
    try:
        sink.finish(outcome)
    except Exception:
        log.exception("the end of %s could not be processed", id)


def fail(id: str, sink: Sink, error: Exception) -> None:
    """Call `sink.fail`; what it raises is logged.

    An `error` that is no `EngineError`, such as one that the sink has raised, is logged and becomes a
    `GenerationError` (engine_error).
    """
    if not isinstance(error, EngineError):
        log.error("%s failed with an unexpected error", id, exc_info=error)
        error = GenerationError("engine_error", "the engine failed")
    try:
        sink.fail(error)
    except Exception:
        log.exception("the failure of %s could not be processed", id)
