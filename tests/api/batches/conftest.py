"""A batch for the tests of its parts."""

from __future__ import annotations

from pathlib import Path

import pytest

from config.settings import Settings
from tests.support.batch_bench import Bench


@pytest.fixture
def bench(tmp_path: Path, shared_settings: Settings) -> Bench:
    return Bench(tmp_path, shared_settings)
