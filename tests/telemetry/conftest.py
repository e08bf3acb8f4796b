"""A stream to log to, instead of stderr."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator

import pytest


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """For `configure_logging`, whose handler is removed after the test."""
    root = logging.getLogger()
    before = root.handlers[:]
    yield io.StringIO()
    root.handlers[:] = before
