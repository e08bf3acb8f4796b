"""The format of a log line."""

from __future__ import annotations

import json
import logging

import pytest

from config.settings import Settings
from telemetry.logging import configure_logging


def test_a_text_line_has_time_level_package_and_message(stream):
    configure_logging(Settings(), stream)
    logging.getLogger("scheduler.reap").info("closed %d", 3)

    clock, level, package, *message = stream.getvalue().split()
    assert clock.count(":") == 2
    assert (level, package, message) == ("INFO", "scheduler", ["closed", "3"])


@pytest.mark.rule("runner/env/LOG_FORMAT")
def test_a_json_line_is_one_object_with_the_traceback(stream):
    configure_logging(Settings(log_format="json"), stream)
    try:
        {}["x\ny"]
    except KeyError:
        logging.getLogger("workers.executor").exception("lost")

    line = json.loads(stream.getvalue())
    assert (line["level"], line["room"], line["message"]) == ("error", "workers", "lost")
    assert "KeyError" in line["trace"]


@pytest.mark.rule("runner/env/LOG_LEVEL")
def test_lines_below_the_level_are_not_written(stream):
    configure_logging(Settings(log_level="warning"), stream)
    logging.getLogger("api").info("hidden")

    assert stream.getvalue() == ""
