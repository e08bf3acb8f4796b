"""A client that repeats a faulty request cannot fill a log."""

from __future__ import annotations

import io
import logging

import pytest

from config.settings import Settings
from telemetry.logging import MAX_TRACE_CHARS, configure_logging
from telemetry.record_limit import MAX_MESSAGE_CHARS, RECORDS_OF_A_KIND, WINDOW_S, RecordLimit


class Log:
    """A logger with the limit, a clock of its own, and the lines that were written."""

    def __init__(self) -> None:
        self.now = 0.0
        self.stream = io.StringIO()
        self.logger = logging.Logger("api")
        handler = logging.StreamHandler(self.stream)
        handler.addFilter(RecordLimit(lambda: self.now))
        self.logger.addHandler(handler)

    def warn(self, text: str) -> None:
        self.logger.warning("refused: %s", text)

    @property
    def lines(self) -> list[str]:
        return self.stream.getvalue().splitlines()


def test_repeated_warnings_are_counted_and_not_written() -> None:
    log = Log()
    for number in range(1300):
        log.warn(f"{number}")
    assert log.lines[:3] == ["refused: 0", "refused: 1", "refused: 2"]
    assert len(log.lines) == RECORDS_OF_A_KIND
    assert log.lines[-1] == "refused: 19 (the next ones within 10 s are counted, not written)"
    log.logger.warning("another kind")
    assert log.lines[-1] == "another kind"
    log.now += WINDOW_S
    log.warn("later")
    log.warn("and later")
    assert log.lines[-2:] == ["refused: later (1280 more like this were not written)", "refused: and later"]


def test_records_below_a_warning_are_all_written() -> None:
    log = Log()
    log.logger.setLevel(logging.INFO)
    for _ in range(100):
        log.logger.info("loaded")
    assert len(log.lines) == 100


def test_text_of_a_client_is_cut(stream: io.StringIO) -> None:
    configure_logging(Settings(), stream)
    sent = "x" * 8000
    logging.getLogger("api").warning("refused: %s at %d", sent, 3)
    logging.getLogger("api").warning(f"refused: {sent}")
    logging.getLogger("api").warning("refused: %r", [sent])
    first, *others = stream.getvalue().splitlines()
    assert first.endswith(f"refused: {'x' * 200}... (8000 characters) at 3")
    assert all(len(line) < MAX_MESSAGE_CHARS + 100 for line in others)
    try:
        raise ValueError(sent * 10)
    except ValueError:
        logging.getLogger("api").exception("failed")
    trace = stream.getvalue().partition("failed\n")[2]
    assert trace.startswith("Traceback")
    assert len(trace) < MAX_TRACE_CHARS + 100


def test_a_record_whose_arguments_do_not_fit_stops_nothing(
    stream: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging, "raiseExceptions", False)
    configure_logging(Settings(), stream)
    logging.getLogger("api").warning("%d %d", *["x"])
    logging.getLogger("api").warning("next")
    assert "next" in stream.getvalue()
