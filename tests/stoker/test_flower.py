"""Flower's own settings."""

from __future__ import annotations

import logging

import pytest

from stoker.flower import WEB_LOGGERS, limit_logs
from telemetry.record_limit import RECORDS_OF_A_KIND


@pytest.mark.parametrize("name", WEB_LOGGERS)
def test_the_log_of_refused_requests_is_bounded(name: str, caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger(name)
    before = logger.filters[:]
    limit_logs()
    try:
        for _ in range(500):
            logger.warning("401 GET %s", "/" + "x" * 8000)
    finally:
        logger.filters[:] = before
    assert len(caplog.messages) == RECORDS_OF_A_KIND
    assert max(map(len, caplog.messages)) < 400
