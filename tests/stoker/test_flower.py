"""Flower's own settings."""

from __future__ import annotations

import logging

import pytest

from stoker.flower import set_up_logging
from telemetry.record_limit import RECORDS_OF_A_KIND

WEB_LOGGERS = ("tornado.access", "tornado.application", "tornado.general")


@pytest.fixture
def restored_logging():
    root = logging.getLogger()
    before = (root.handlers[:], root.level)
    yield
    root.handlers[:], root.level = before


@pytest.mark.usefixtures("restored_logging")
@pytest.mark.parametrize("name", WEB_LOGGERS)
def test_the_log_of_refused_requests_is_bounded(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logging()
    for _ in range(500):
        logging.getLogger(name).warning("401 GET %s", "/" + "x" * 8000)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == RECORDS_OF_A_KIND
    assert max(map(len, lines)) < 400
