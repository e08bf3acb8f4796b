"""Skips tests of what a backend or a model does not have. A test run on a GPU allows these skips alone."""

from __future__ import annotations

from typing import NoReturn

import pytest

NOT_APPLICABLE = "not applicable: "


def not_applicable(reason: str) -> NoReturn:
    """Skip the test: the backend does not have what it tests, on any machine."""
    pytest.skip(NOT_APPLICABLE + reason)
