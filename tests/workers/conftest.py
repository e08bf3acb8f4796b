"""An event loop of a worker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from workers.io_loop import IoLoop


@pytest.fixture
def io() -> Iterator[IoLoop]:
    """A running loop, which is stopped after the test."""
    made = IoLoop()
    made.start()
    yield made
    made.stop()
